#!/bin/sh
# Runs a kit of ../shared whose cases are programs: faults3 (faults that utfeed had once), field (what the web does to feeds). A case that
# asks for something else than utfeed promises is named here with what counts: it is skipped as long as it fails, and a failure once it
# passes. usage: kit.sh KIT UTFEED SHARED-FOLDER
told=--times apart=
[ "$1" != field ] || told=--why apart='
reload-gets-through-once     reload-floor is 5 minutes in the gateway, not 10 seconds
errors-no-cache-is-a-reload  the same holds for a stored error'
"$3/$1/run" --utfeed "$2" $told | awk -v kit="$1" -v apart="$apart" '
BEGIN {
	for (n_apart = split(apart, line, "\n"); n_apart; n_apart--)
		if (match(line[n_apart], "  +"))
			why[substr(line[n_apart], 1, RSTART - 1)] = substr(line[n_apart], RSTART + RLENGTH)
}
/ passed, [0-9]+ failed$/ { next }
/^FAIL / && $2 in why { print "SKIP " $2 ": " why[$2]; n["SKIP"]++; next }
/^PASS / && $2 in why { print "FAIL " $2 ": passes, though " why[$2]; n["FAIL"]++; next }
{ print }
/^(PASS|FAIL|SKIP) / { n[$1]++ }
END { printf "%s: %d passed, %d failed, %d skipped\n", kit, n["PASS"], n["FAIL"], n["SKIP"]; exit n["FAIL"] || !n["PASS"] }'
