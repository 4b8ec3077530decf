#!/bin/sh
# Runs the conformance corpus and holds every part to its bar. usage: score.sh UTFEED SHARED-FOLDER
"$2/corpus/score" --utfeed "$1" | awk '
{ print }
/%$/ {
	part = $0
	sub(/ +[0-9]+\/[0-9]+.*/, "", part)
	percent = $NF + 0
	split($(NF - 1), counts, "/")
	exact = counts[1] == counts[2]
	if (part == "recovery auto" ? percent >= 99.0 : exact) passed++
	else { failed++; print "  below its bar: " part }
}
END { printf "score: %d passed, %d failed\n", passed, failed; exit failed || !passed }'
