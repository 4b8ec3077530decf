#!/bin/sh
# Runs the feeds of ../shared/harm, whose labels are right, and compares each row with its bar. usage: harm.sh UTFEED SHARED-FOLDER
# A row without a bar must be 100 %. A missing row is a failure.
"$2/harm/score" --utfeed "$1" --show 3 | awk '
BEGIN {
	bar["right-latin-both"] = bar["right-latin-decl"] = 99.5
	bar["right-latin-names-both"] = 99.5
	bar["right-latin-names-decl"] = 99
	bar["right-specific-both"] = 99.5
	bar["right-specific-decl"] = 99
	bar["decl-over-server-default five"] = bar["decl-over-server-default short"] = 99
	bar["decl-over-server-default signs"] = 97
	bar["utf8-stray-both"] = bar["utf8-stray-decl"] = bar["utf8-stray-header"] = 99.5
	for (items = split("1 item,3 items,10 items,40 items", cut, ","); items > 0; items--)
		bar["utf8-cut " cut[items]] = 99.5
	bar["utf8-mixed-thin both"] = bar["utf8-mixed-thin decl"] = 98
	bar["utf8-mixed-thin none"] = 96
	bar["undeclared-small Yiddish"] = bar["undeclared-small all but Yiddish"] = 95
	bar["types-kept bodies"] = bar["types-kept legacy"] = bar["types-kept utf-8"] = 100
	bar["declarations text"] = 100
	bar["declarations well-formed"] = 95
	bar["idempotent"] = 100
}
{ print }
/^[^ ].*%$/ {
	row = $0
	sub(/ +[0-9]+\/[0-9]+ .*/, "", row)
	seen[row]
	match($0, /[0-9]+\/[0-9]+ /)
	split(substr($0, RSTART, RLENGTH), counts, "/")
	if (counts[2] > 0 && 100 * counts[1] >= (row in bar ? bar[row] : 100) * counts[2]) passed++
	else { failed++; print "  below its bar: " row }
}
END {
	for (row in bar)
		if (!(row in seen)) { failed++; print "  below its bar, for it is missing: " row }
	printf "harm: %d passed, %d failed\n", passed, failed
	exit failed || !passed
}'
