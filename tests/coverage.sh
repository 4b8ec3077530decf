#!/bin/sh
# How much of core/ and proxy/ the whole suite runs: unit tests, fuzz seeds and end-to-end tests, in a build of its own. The last lines
# are `lines: N %` and `branches: N %`; below the bars it fails, and where a file of which much does not run has no reason in
# tests/uncovered. What needs instructions that this processor lacks is left out. Which lines: coverage/report.txt below the build folder.
# COVERAGE=unit: core/ alone, by the unit tests and seeds that include any of it and are linked with nothing else.
# COVERAGE=short: without bars, so that it can be tried with few tests (tests/check-targets.sh).
# usage: coverage.sh SOURCE-FOLDER BUILD-FOLDER TEST...
set -eu
mkdir -p "$2/coverage"
build=$(cd "$2/coverage" && pwd)
source=$(sh "$1/tests/clean-source.sh" "$1" "$build")
shared=${UTFEED_SHARED:-$(cd "$1" && pwd)/../shared}
shift 2
others= flags=-O0
case ${COVERAGE:-} in
unit)
	line_bar=98 branch_bar=92 file_bar=0 folders="--filter $source/core/" program= others="libproxy.a libconf.a libllhttp.a"
	# What counts for one thread alone counts several times as fast, and core has no others
	flags="-O0 -fprofile-update=single"
	# Of two threads that count at once one is lost, and the count may be negative
	export UTFEED_ONE_THREAD=1
	# Tests and seeds of core's folders, and others that include what is in core/
	for test in "$@"; do
		shift
		folder=${test%/*}
		if [ -d "$source/core/${folder##*/}" ] || grep -q '"core/' "$source/$test.c"; then set -- "$@" "$test"; fi
	done
	;;
short) line_bar=0 branch_bar=0 file_bar=0 folders="--filter $source/core/ --filter $source/proxy/" program=utfeed ;;
*) line_bar=92 branch_bar=80 file_bar=92 folders="--filter $source/core/ --filter $source/proxy/" program=utfeed ;;
esac
cd "$build"
[ -f Makefile ] || "$source/configure" CFLAGS="$flags" --enable-coverage >configure.log 2>&1 || { tail -n 5 configure.log; exit 1; }
find . -name '*.gcda' -delete
rm -f "$@"
# Empty, and not for make to make: nothing of them is compiled
old=
for archive in $others; do
	ar cr "$archive"
	old="$old -o $archive"
done
# shellcheck disable=SC2086
make -s -k -j2 $old $program "$@" >check.log 2>&1 || grep -E '[Ee]rror:' check.log || tail -n 30 check.log
# A test that fails, or does not compile, is make check's to report; the lines of the others ran all the same
export UTFEED_SRCDIR="$source" UTFEED_SHARED="$shared"
for test in "$@"; do
	[ ! -x "$test" ] || sh "$source/tests/run-test.sh" "./$test" >>check.log 2>&1 || echo "coverage: $test failed, see $build/check.log"
done
[ "${COVERAGE:-}" = unit ] || PYTEST_JOBS=${PYTEST_JOBS:-3} make -s check-e2e >e2e.log 2>&1 ||
	echo "coverage: end-to-end tests failed, see $build/e2e.log"

status=0
# shellcheck disable=SC2086
gcovr --root "$source" $folders --gcov-ignore-parse-errors --txt report.txt --csv files.csv --print-summary \
	--fail-under-line "$line_bar" --fail-under-branch "$branch_bar" . >summary.txt 2>gcovr.log || status=$?
cat report.txt
[ "$status" = 0 ] || { cat gcovr.log; echo "coverage: below $line_bar % of lines or $branch_bar % of branches"; }
# tests/uncovered: FILE, blanks, why what does not run there does not
awk -F, -v bar="$file_bar" -v reasons="$source/tests/uncovered" '
	BEGIN { while ((getline line < reasons) > 0) if (line !~ /^#/) { file = line; sub(/[ \t].*/, "", file); sub(/^[^ \t]*[ \t]+/, "", line); why[file] = line } }
	NR > 1 && $2 > $3 && ($1 in why) { printf "not run: %s, %d of %d lines: %s\n", $1, $2 - $3, $2, why[$1] }
	NR > 1 && $3 * 100 < $2 * bar && !($1 in why) { print "coverage: " $1 ": " $3 " of " $2 " lines, and no reason in tests/uncovered"; faults++ }
	END { exit faults > 0 }' files.csv || status=1
awk -F '[: %]+' '/^(lines|branches):/ { print $1 ": " $2 " %" }' summary.txt
exit "$status"
