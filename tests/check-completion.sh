#!/bin/sh
# Completion as conf/completion.sh makes it: the file of each shell names every option of the tables, a shell that is installed takes its
# file, and bash and fish complete what the rows say.
# usage: check-completion.sh, in the build folder
folder=conf/completions
docs=${UTFEED_CONF_DOCS:-tests/conf_docs}
passed=0
failed=0
skipped=0
bad() { echo "check-completion: $*"; failed=$((failed + 1)); }
good() { passed=$((passed + 1)); }
has() { command -v "$1" >/dev/null 2>&1; }

options=$("$docs" defaults | sed '/^\[route\]/d; s/ .*//')
[ -n "$options" ] || { echo "check-completion: cannot run $docs: make check builds it"; exit 1; }

# named FILE PATTERN-BEFORE PATTERN-BEHIND: every option stands there as the shell writes a flag
named() {
	for option in $options; do
		if grep -qE -e "$2$option$3" "$1"; then good; else bad "$1: lacks $option"; fi
	done
}
named $folder/utfeed '[" ]--' '[" ]'
named $folder/_utfeed "'[*]--" '(=|\[)'
named $folder/utfeed.fish ' -l ' ' '

taken() {
	if ! has "$1"; then skipped=$((skipped + 1)); echo "check-completion: no $1 here"
	elif "$1" -n "$2"; then good
	else bad "$1 does not take $2"; fi
}
taken bash $folder/utfeed
taken zsh $folder/_utfeed
taken fish $folder/utfeed.fish

# What bash offers behind the words of a line, split as its readline does: = is a word
complete_in_bash() {
	bash -c '
		complete() { :; }
		compopt() { :; }
		. "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_utfeed
		printf "%s\n" "${COMPREPLY[@]}"' bash "$PWD/$folder/utfeed" "$@"
}
complete_in_fish() { fish --no-config -c 'source $argv[1]; complete -C "$argv[2..]"' "$PWD/$folder/utfeed.fish" "$@" | cut -f 1; }

# offers WANTED WORD...: among what is offered behind the words; a - before WANTED: not among it
offers() {
	wanted=${1#-}
	unwanted=$([ "$wanted" = "$1" ] || echo yes)
	shift
	for shell in bash fish; do
		has $shell || continue
		if "complete_in_$shell" "$@" | grep -qx -e "$wanted"; then found=; else found=yes; fi
		if [ "$found" = "$unwanted" ]; then good; else bad "$shell: $*: $wanted is $([ "$unwanted" ] || echo "not ")offered"; fi
	done
}
offers serve utfeed se
offers -serve utfeed ch
offers --gateway utfeed serve --gat
offers -policy utfeed serve --gateway o
offers --sniff-bytes utfeed serve --sn
offers --policy utfeed serve --gateway off --po
offers rome-lenient utfeed serve --policy ro
offers -auto utfeed serve --policy ro
offers entities utfeed serve --repair e
offers off utfeed serve --access-log ''
offers auto utfeed serve --workers ''
offers --explain utfeed check --e
offers us-ascii utfeed normalise --to us
offers --listen utfeed serve --li
offers config.status utfeed check config.st
offers config.status utfeed serve --tls-ca-file config.st
offers -config.status utfeed serve --via config.st
if has bash; then
	if complete_in_bash utfeed serve --policy = ro | grep -qx rome-lenient; then good; else bad "bash: --policy=ro: rome-lenient is not offered"; fi
	if complete_in_bash utfeed -c file --po | grep -qx -e --policy; then good; else bad "bash: without serve --policy is not offered"; fi
fi
echo "check-completion: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
