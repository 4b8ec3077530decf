#!/bin/sh
# Which modules a unit test of their own covers, which that of others does, and which have none: the last part of tests/README.
# usage: check-covers.sh [--update]
# A module is a .c below core/, conf/ or proxy/. Its own test has its folder and name; that of others includes its header, or is the test
# of what the module is a part of (conf_file.c of conf.c).
export LC_ALL=C
cd "${UTFEED_SRCDIR:-$(dirname "$0")/..}" || exit 1
title='MODULES AND THEIR UNIT TESTS (sh tests/check-covers.sh --update writes this part)'

part_of_tested() {
	whole=$2
	while [ "$whole" != "${whole%_*}" ]; do
		whole=${whole%_*}
		[ ! -f "tests/unit/$1/test_$whole.c" ] || return 0
	done
	return 1
}

covers() {
	includes=$(grep -ho '#include "[a-z_/]*\.h"' tests/unit/*/*.c tests/fault/*.c tests/fuzz/*.c | sort -u | sed 's/.*"\(.*\)\.h"/\1/')
	for file in core/*/*.c conf/*.c proxy/*/*.c; do
		module=${file%.c}
		folder=${module%/*}
		name=${module##*/}
		if [ -f "tests/unit/${folder#*/}/test_$name.c" ]; then
			kind=1
		elif echo "$includes" | grep -qx "$module" || part_of_tested "${folder#*/}" "$name"; then
			kind=2
		else
			kind=3
		fi
		echo "$folder $kind $name"
	done | awk '
		BEGIN { split("a test of its own|in the test of another|by what uses them, and end to end", words, "|") }
		function out(text) { if (length(line) + length(text) > 118) { print line; line = "    " } line = line text }
		function finish() { if (line != "") print line; line = "" }
		{ list[$1, $2] = list[$1, $2] " " $3; if (!seen[$1]++) folders[++n] = $1 }
		END {
			for (i = 1; i <= n; i++) {
				print " " folders[i]
				for (kind = 1; kind <= 3; kind++) {
					if (!(count = split(list[folders[i], kind], names, " "))) continue
					line = "  " words[kind] ":"
					for (j = 1; j <= count; j++) out(" " names[j])
					finish()
				}
			}
		}'
}

written() { sed -n "/^MODULES AND/,\$p" tests/README; }
now=$(echo "$title"; covers)
if [ "${1:-}" = --update ]; then
	rest=$(sed '/^MODULES AND/,$d' tests/README)
	printf '%s\n\n%s\n' "$rest" "$now" >tests/README
fi
[ "$(written)" = "$now" ] || { echo "check-covers: tests/README is not what the tests are: sh tests/check-covers.sh --update"; echo "0 passed, 1 failed"; exit 1; }
echo "check-covers: 1 passed, 0 failed"
