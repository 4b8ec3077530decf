#!/bin/sh
# Completion for a shell, made of what utfeed says of itself: its commands, the usage of each, and the options of `serve --help`, which come
# from the option tables. No name of an option stands here.
# usage: completion.sh UTFEED-BINARY bash|zsh|fish
set -eu
export LC_ALL=C
# A builder's own options are nobody else's
unset $(env | sed -n 's/^\(UTFEED_[A-Z0-9_]*\)=.*/\1/p')
binary=$1
shell=$2
tab=$(printf '\t')

commands() { "$binary" --help | sed -n "s/^  \([a-z][a-z-]*\)  *\(.*\)/\1$tab\2/p"; }
policies() { "$binary" policies | awk '{ printf "%s ", $1 }'; }
charsets() { "$binary" charsets | awk '{ printf "%s ", $1 }'; }
# The error of a wrong value names the right ones
repairs() { { "$binary" serve --check-config --repair '?' 2>&1 || :; } | sed -n 's/.*allowed: //; s/, each.*//; s/,//gp'; }

# Rows of --help: command, flag, placeholder of its value, prose to its first full stop or semicolon
serve_flags() {
	"$binary" serve --help | awk '
		function row() { if (flag != "") { sub(/[.;] .*/, "", prose); sub(/\.$/, "", prose); printf "serve\t%s\t%s\t%s\n", flag, value, prose } flag = prose = value = "" }
		/^options of one route/ { exit }
		/^  (-[a-z],|    ) --/ {
			row()
			letter = $1 ~ /,$/ ? substr($1, 1, 2) : ""
			if (letter != "") $1 = ""
			$0 = $0
			flag = $1
			value = $2 ~ /^[A-Z]+$/ ? $2 : ""
			for (i = value == "" ? 2 : 3; i <= NF; i++) prose = prose (prose == "" ? "" : " ") $i
			kept = prose
			short = value
			row()
			if (letter != "") { flag = letter; value = short; prose = kept; row() }
			next
		}
		/^  --/ { row(); flag = $1; value = $0; sub(/^ *[^ ]* */, "", value); next }
		/^      / && flag != "" { sub(/^ */, ""); prose = prose (prose == "" ? "" : " ") $0; next }
		END { row() }'
}

# The same of a usage line: [--json] [-t TYPE] [--no-repair | --repair REPAIRS]
usage_flags() {
	{ "$binary" "$1" --help 2>/dev/null || :; } | tr '\n' ' ' | awk -v command="$1" '
		{
			sub(/^[Uu]sage: */, "")
			gsub(/[][]/, "\n")
			gsub(/ \| /, "\n")
			count = split($0, parts, "\n")
			for (i = 1; i <= count; i++)
				if (split(parts[i], words, " ") && words[1] ~ /^--?[a-z]/) printf "%s\t%s\t%s\t\n", command, words[1], words[2]
		}'
}

flags() {
	commands | while IFS=$tab read -r command summary; do
		if [ "$command" = serve ]; then serve_flags; else usage_flags "$command"; fi
	done
}

# As flags(), with what a value may be in a fifth column: words, "(file)", "(any)", or nothing where the flag takes none
valued() {
	flags | awk -F "$tab" -v policies="$(policies)" -v charsets="$(charsets)" -v repairs="$(repairs)" '
		function words(value,    count, i, parts, list) {
			if (value == "POLICY") return policies
			if (value == "LABEL") return charsets
			if (value == "REPAIRS") return repairs
			count = split(value, parts, "|")
			for (i = 1; i <= count; i++) if (parts[i] ~ /^[a-z0-9-]+$/) list = list parts[i] " "
			return list
		}
		{
			list = words($3)
			if ($3 == "FILE" || $3 == "FOLDER" || $3 == "PATH") list = "(file)"
			if ($3 != "" && list == "") list = "(any)"
			sub(/ $/, "", list)
			printf "%s\t%s\t%s\t%s\t%s\n", $1, $2, $3, $4, list
		}'
}

bash_script() {
	cat <<'END'
# bash completion for utfeed(1), made by conf/completion.sh
_utfeed()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words=
	COMPREPLY=()
	# --flag=value arrives as three words
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	[[ $command != -* ]] || command=serve
END
	commands | awk -F "$tab" '{ list = list " " $1 }
		END { printf "\tif ((COMP_CWORD == 1)); then\n\t\tCOMPREPLY=($(compgen -W \"%s --help --version -c\" -- \"$cur\"))\n\t\treturn\n\tfi\n", substr(list, 2) }'
	printf '\tcase "$command $prev" in\n'
	valued | awk -F "$tab" '
		$5 != "" { if (!($5 in cases)) order[++count] = $5; cases[$5] = cases[$5] (cases[$5] == "" ? "" : " | ") "\"" $1 " " $2 "\"" }
		{ if (!($1 in own)) commands[++known] = $1; own[$1] = own[$1] " " $2 }
		END {
			for (i = 1; i <= count; i++) {
				printf "\t%s)\n", cases[order[i]]
				if (order[i] == "(file)") print "\t\tcompopt -o filenames\n\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n\t\treturn ;;"
				else if (order[i] == "(any)") print "\t\treturn ;;"
				else printf "\t\tCOMPREPLY=($(compgen -W \"%s\" -- \"$cur\"))\n\t\treturn ;;\n", order[i]
			}
			print "\tesac\n\tcase $command in"
			for (i = 1; i <= known; i++) printf "\t%s) words=\"%s\" ;;\n", commands[i], substr(own[commands[i]], 2)
			print "\tesac"
		}'
	cat <<'END'
	if [[ $cur == -* || $command == serve ]]; then
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
	elif [[ -n $words ]]; then
		compopt -o filenames
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
complete -F _utfeed utfeed
END
}

# What stands in quotes: of zsh within brackets or a column, of fish
quoting='
	function quoted(text) { gsub(/\47/, "\47\\\\\47\47", text); return text }
	function plain(text) { gsub(/\\|\[|\]|:/, "\\\\&", text); return quoted(text) }'

zsh_script() {
	cat <<'END'
#compdef utfeed
# zsh completion for utfeed(1), made by conf/completion.sh
_utfeed() {
	local state
	local -a commands
	commands=(
END
	commands | awk -F "$tab" "$quoting"'{ printf "\t\t\47%s:%s\47\n", $1, quoted($2) }'
	cat <<'END'
	)
	_arguments -C '1: :->command' '*:: :->rest'
	if [[ $state == command ]]; then
		_describe -t commands command commands
		return
	fi
	case $words[1] in
END
	valued | awk -F "$tab" "$quoting"'
		$1 != command { if (command != "") print "\t\t\t\47*:file:_files\47 ;;"; command = $1; printf "\t(%s)\n\t\t_arguments -S \\\n", command }
		{
			value = $5 == "" ? "" : $5 == "(file)" ? ":" plain($3) ":_files" : $5 == "(any)" ? ":" plain($3) ": " : ":" plain($3) ":(" $5 ")"
			printf "\t\t\t\47*%s%s%s\47 \\\n", $2 (value != "" && $2 ~ /^--/ ? "=" : ""), $4 == "" ? "" : "[" plain($4) "]", value
		}
		END { print "\t\t\t\47*:file:_files\47 ;;" }'
	printf '\tesac\n}\n_utfeed "$@"\n'
}

fish_script() {
	echo '# fish completion for utfeed(1), made by conf/completion.sh'
	echo 'complete -c utfeed -f'
	commands | awk -F "$tab" "$quoting"'{ printf "complete -c utfeed -n __fish_use_subcommand -a %s -d \47%s\47\n", $1, quoted($2) }'
	valued | awk -F "$tab" "$quoting"'
		!seen[$1]++ && $1 != "serve" { printf "complete -c utfeed -n \47__fish_seen_subcommand_from %s\47 -F\n", $1 }
		{
			name = $2 ~ /^--/ ? "-l " substr($2, 3) : "-s " substr($2, 2)
			value = $5 == "" ? "" : $5 == "(file)" ? " -r -F" : $5 == "(any)" ? " -x" : " -x -a \47" $5 "\47"
			printf "complete -c utfeed -n \47__fish_seen_subcommand_from %s\47 %s%s%s\n", $1, name, value, $4 == "" ? "" : " -d \47" quoted($4) "\47"
		}'
}

case $shell in
bash | zsh | fish) "${shell}_script" ;;
*) sed -n '4s/^# *//p' "$0" >&2; exit 2 ;;
esac
