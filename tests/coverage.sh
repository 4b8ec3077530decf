#!/bin/sh
# Line coverage of core/ by the unit tests and the fuzz seeds, in a build of its own; fails below the bar.
# usage: coverage.sh SOURCE-FOLDER BUILD-FOLDER TEST...
set -eu
bar=95
source=$(cd "$1" && pwd)
build=$2/coverage
shift 2
mkdir -p "$build"
cd "$build"
[ -f Makefile ] || "$source/configure" CFLAGS='-O0 -g' --enable-coverage >configure.log 2>&1 || { tail -n 5 configure.log; exit 1; }
find . -name '*.gcda' -delete
rm -f "$@"
make -s -k -j2 "$@" >check.log 2>&1 || grep -E '[Ee]rror:' check.log || tail -n 30 check.log
# A test that fails, or does not compile, is make check's to report; the lines of the others ran all the same
export UTFEED_SRCDIR="$source" UTFEED_SHARED="${UTFEED_SHARED:-$source/../shared}"
for test in "$@"; do
	[ ! -x "$test" ] || sh "$source/tests/run-test.sh" "./$test" >>check.log 2>&1 || echo "coverage: $test failed, see $build/check.log"
done
gcovr --root "$source" --filter "$source/core/" --print-summary --gcov-ignore-parse-errors --fail-under-line "$bar" . >report.txt 2>&1 || status=$?
cat report.txt
[ "${status:-0}" = 0 ] || echo "coverage of core/ is below $bar % of lines"
exit "${status:-0}"
