#!/bin/sh
# Runs the faults of ../shared/faults3, each of which utfeed had once. usage: faults.sh UTFEED SHARED-FOLDER
"$2/faults3/run" --utfeed "$1" --times | awk '
/ passed, [0-9]+ failed$/ { next }
{ print }
/^(PASS|FAIL|SKIP) / { n[$1]++ }
END { printf "faults: %d passed, %d failed, %d skipped\n", n["PASS"], n["FAIL"], n["SKIP"]; exit n["FAIL"] || !n["PASS"] }'
