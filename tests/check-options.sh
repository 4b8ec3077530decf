#!/bin/sh
# Every option of conf/*.def is used by proxy/, tested outside test_conf.c, and in the sample and the manual as the tables say;
# the README's tables of options and of failures say what these tables say.
# usage: check-options.sh [--update]: writes the generated parts of conf/utfeed.conf.sample and conf/utfeed.1 first
build=$(pwd)
cd "${UTFEED_SRCDIR:-$(dirname "$0")/..}" || exit 1
docs=${UTFEED_CONF_DOCS:-$build/tests/conf_docs}
sample=conf/utfeed.conf.sample
manual=conf/utfeed.1
begin='.\" options: from conf/*.def by tests/check-options.sh --update'
end='.\" end of options'
faults=0
bad() { echo "check-options: $*"; faults=$((faults + 1)); }

names=$("$docs" names) || { echo "check-options: cannot run $docs: make check builds it"; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$docs" sample >"$work/sample"
"$docs" manual >"$work/options"
# By the environment: -v would take the backslash
begin=$begin end=$end options=$work/options awk '
	$0 == ENVIRON["end"] { inside = 0; found++ }
	!inside { print }
	$0 == ENVIRON["begin"] { inside = 1; found++; while ((getline line < ENVIRON["options"]) > 0) print line }
	END { exit found != 2 }' "$manual" >"$work/manual" || bad "$manual: lacks the two comment lines around the options"
if [ "${1:-}" = --update ]; then
	cp "$work/sample" "$sample" && cp "$work/manual" "$manual" || exit 1
fi
cmp -s "$work/sample" "$sample" || bad "$sample: not what the tables say; run tests/check-options.sh --update"
cmp -s "$work/manual" "$manual" || bad "$manual: not what the tables say; run tests/check-options.sh --update"

# The README: "| option, ... | default, ... |" under its heading, a list of what routes may set, and "| error | status |"
"$docs" defaults >"$work/defaults"
awk -v defaults="$work/defaults" '
	function bad(text) { print "check-options: README: " text; faults++ }
	BEGIN {
		while ((getline line < defaults) > 0) {
			name = line
			sub(/ .*/, "", name)
			sub(/^[^ ]* ?/, "", line)
			if (name == "[route]") route[line] = 1
			else value[name] = line
		}
	}
	/^\| / { split($0, column, / *\| */); heading = heading == "" ? column[2] : heading }
	!/^\|/ { heading = "" }
	/^\| / && heading == "option" && column[2] != "option" {
		names = split(column[2], name_of, /, /)
		values = split(column[3], value_of, /, /)
		for (i = 1; i <= names; i++) {
			wanted = values == names ? value_of[i] : column[3]
			if (!(name_of[i] in value)) bad(name_of[i] " is no option")
			else if (value[name_of[i]] != wanted) bad(name_of[i] ": default " value[name_of[i]] ", not " wanted)
			rows++
		}
	}
	/^A route may set: /, /^$/ { text = text " " $0 }
	END {
		gsub(/[,.]/, " ", text)
		for (name in route) if (index(text " ", " " name " ") == 0) bad("says nothing of the route option " name)
		if (rows < 10) bad("has no table of options")
		exit faults > 0
	}' README || faults=$((faults + 1))
sed -n 's/^FAILURE(\([A-Z_]*\), *"\([a-z_]*\)", *\([0-9]*\),.*/\1 \2 \3/p' proxy/proxy_status.def >"$work/failures"
while read -r id token status; do
	! grep -qw -e "PROXY_ERROR_$id" -e "error=$token" proxy/*.c || grep -q "^| $token | $status |" README ||
		bad "README: lacks a row for $token, $status"
done <"$work/failures"

count=0
while read -r name member; do
	count=$((count + 1))
	variable=UTFEED_$(echo "$name" | tr 'a-z-' 'A-Z_')
	grep -Eqr --include='*.[ch]' -e "(->|\.)$member\b" proxy || bad "$name: proxy/ does not use $member"
	grep -Eqr --include='test_*.py' --include='conftest.py' --include='test_*.c' --exclude=test_conf.c \
		-e "--$name\b|(^|[^a-z-])$name ?=|\b$variable\b|(->|\.)$member\b|\b$member ?=" tests || bad "$name: no test names it"
done <<END
$names
END
echo "check-options: $count options: $((2 * count + 4 - faults)) passed, $faults failed"
[ "$faults" -eq 0 ]
