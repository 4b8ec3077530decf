#!/bin/sh
# Every option of conf/*.def is used by proxy/, tested outside test_conf*.c, and in the sample and the manuals as the tables say;
# README's table of options gives the defaults that these tables give.
# usage: check-options.sh [--update]: writes the generated parts of conf/utfeed.conf.sample, utfeed.1 and utfeed.conf.5 first
build=$(pwd)
cd "${UTFEED_SRCDIR:-$(dirname "$0")/..}" || exit 1
docs=${UTFEED_CONF_DOCS:-$build/tests/conf_docs}
sample=conf/utfeed.conf.sample
begin='.\" options: from conf/*.def by tests/check-options.sh --update'
end='.\" end of options'
faults=0
update=${1:-}
bad() { echo "check-options: $*"; faults=$((faults + 1)); }

# The tables may have changed since the program was made that prints them
if [ -z "${UTFEED_CONF_DOCS:-}" ] && { [ ! -x "$docs" ] || [ -n "$(find conf tests/conf_docs.c -newer "$docs" -name '*.[cdh]*' -print -quit)" ]; }; then
	MAKEFLAGS='' make -s -C "$build" tests/conf_docs >&2 || { echo "check-options: cannot make tests/conf_docs in $build, which has to be a build folder"; exit 1; }
fi
names=$("$docs" names) || { echo "check-options: cannot run $docs"; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# same FILE: it is what was made of the tables, in $work/made
same() {
	[ "$update" != --update ] || cp "$work/made" "$1" || exit 1
	cmp -s "$work/made" "$1" || bad "$1: not what the tables say; run tests/check-options.sh --update"
}
# By the environment: -v would take the backslash
same_part() {
	"$docs" "$2" >"$work/options"
	begin=$begin end=$end options=$work/options awk '
		$0 == ENVIRON["end"] { inside = 0; found++ }
		!inside { print }
		$0 == ENVIRON["begin"] { inside = 1; found++; while ((getline line < ENVIRON["options"]) > 0) print line }
		END { exit found != 2 }' "$1" >"$work/made" || { bad "$1: lacks the two comment lines around the options"; return; }
	same "$1"
}
"$docs" sample >"$work/made"
same "$sample"
same_part conf/utfeed.1 flags
same_part conf/utfeed.conf.5 options

# README: "| option | default | ..." under its heading
"$docs" defaults >"$work/defaults"
awk -v defaults="$work/defaults" '
	function bad(text) { print "check-options: README: " text; faults++ }
	BEGIN {
		while ((getline line < defaults) > 0) {
			name = line
			sub(/ .*/, "", name)
			sub(/^[^ ]* ?/, "", line)
			if (name != "[route]") value[name] = line
		}
	}
	/^\| / { split($0, column, / *\| */); heading = heading == "" ? column[2] : heading }
	!/^\|/ { heading = "" }
	/^\| / && heading == "option" && column[2] != "option" {
		if (!(column[2] in value)) bad(column[2] " is no option")
		else if (value[column[2]] != column[3]) bad(column[2] ": default " value[column[2]] ", not " column[3])
		rows++
	}
	END {
		if (rows < 10) bad("has no table of ten options")
		exit faults > 0
	}' README || faults=$((faults + 1))
[ "$(wc -l <README)" -le 150 ] || bad "README: longer than 150 lines; what is not for the first hour belongs into a manual"

count=0
while read -r name member; do
	count=$((count + 1))
	variable=UTFEED_$(echo "$name" | tr 'a-z-' 'A-Z_')
	grep -Eqr --include='*.[ch]' -e "(->|\.)$member\b" proxy || bad "$name: proxy/ does not use $member"
	grep -Eqr --include='test_*.py' --include='conftest.py' --include='test_*.c' --exclude='test_conf*.c' \
		-e "--$name\b|(^|[^a-z-])$name ?=|\b$variable\b|(->|\.)$member\b|\b$member ?=" tests || bad "$name: no test names it"
done <<END
$names
END
echo "check-options: $count options: $((2 * count + 5 - faults)) passed, $faults failed"
[ "$faults" -eq 0 ]
