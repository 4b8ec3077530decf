#!/bin/sh
# Fuzzes every target with libFuzzer, ASan and UBSan, in a clang build of its own below the build folder. Edges are those of the whole
# program, what the target has no use for among them.
# usage: run.sh SOURCE-FOLDER BUILD-FOLDER SECONDS TARGET...
set -eu
mkdir -p "$2/fuzzing/findings"
build=$(cd "$2/fuzzing" && pwd)
source=$(sh "$1/tests/clean-source.sh" "$1" "$build")
seconds=$3
shift 3
cd "$build"
[ -f Makefile ] || "$source/configure" CC=clang --enable-fuzzers --enable-sanitizers=address,undefined >configure.log 2>&1 || {
	tail -n 5 configure.log
	exit 1
}
make -s -j2 "$@"
status=0
for target in "$@"; do
	name=${target##*/fuzz_}
	mkdir -p "grown/$name"
	dictionary="$source/tests/fuzz/$name.dict"
	[ -f "$dictionary" ] && words=-dict=$dictionary || words=
	# Seeds are read only; what the fuzzer finds interesting grows below the build folder
	if "./$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="findings/$name-" -print_final_stats=1 \
		$words "grown/$name" "$source/tests/fuzz/corpus/$name" >"fuzz-$name.log" 2>&1; then
		verdict="no finding"
	else
		verdict="FINDING, see $build/fuzz-$name.log"
		status=1
	fi
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "fuzz-$name.log")
	edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "fuzz-$name.log" | tail -n 1)
	all=$(sed -n 's/^INFO: Loaded [0-9]* modules *(\([0-9]*\) inline.*/\1/p' "fuzz-$name.log" | head -n 1)
	echo "fuzz_$name: ${runs:-0} runs in $seconds s, ${edges:-0} of ${all:-0} edges, $verdict"
done
exit $status
