#!/bin/sh
# Every make target, verb and switch that a paper names is there, and every target works. Without a mode, which is a part of make check, it
# only looks whether they are there. run runs a short form of each target in this build folder, place the same in a copy of the source that
# is built in place. TARGETS: these alone. A target that needs an absent program or right is skipped. TARGETS_LONG=1: also the targets that
# have no short form.
# usage: check-targets.sh [run|place]     in a build folder; make check-targets does run and place: half an hour
build=$(pwd)
source=$(cd "${UTFEED_SRCDIR:-$(dirname "$0")/..}" && pwd) || exit 1
papers="README tests/README docker/README docker/packages tests/bench/README core/README .github/CONTRIBUTING"
passed=0
failed=0
skipped=0
switches=$(mktemp) || exit 1
trap 'rm -f "$switches"' EXIT

# said PATTERN: what the papers say of that pattern, each once
said() { (cd "$source" && cat $papers) | grep -oE "$1" | sort -u; }
named() { said '(^ *|[$`(:,&] *)make [a-z][a-z0-9_/-]*' | sed 's/.*make //' | sort -u; }

good() { passed=$((passed + 1)); }
bad() {
	failed=$((failed + 1))
	echo "check-targets: $*"
}

# NAME, short or long, what it needs (a program; root; -: nothing), and what is run in the build folder
rows() {
	cat <<'END'
check	short	-	make -s check check_LIBRARIES= check_PROGRAMS="tests/conf_docs tests/fuzz/fuzz_url" TESTS="tests/check-options.sh tests/fuzz/fuzz_url" check_LIBRARIES=tests/fuzz/libstandalone.a
check-library	short	-	make -s check-library CFLAGS="-O0 -g0" CPPFLAGS=-Wno-cpp
check-image	short	root	READY_MS=10000 make -s check-image
check-reproducible	long	-	make -s check-reproducible
check-ports	long	musl-gcc	make -s check-ports
check-e2e	short	-	PYTEST_JOBS=2 UTFEED_SERVE_ARGS='--workers 2' make -s check-e2e PYTEST_ARGUMENTS='test_basic.py -k no_route_is_404'
check-flakes	short	-	make -s check-flakes check_PROGRAMS=tests/fuzz/fuzz_url FLAKES_SECONDS=2 FLAKES_ARGUMENTS='--runs 2 --busy 1 fuzz_url'
check-oracle	short	-	make -s check-oracle ORACLE_SECONDS=2 ORACLE_ANSWERS=200 ORACLE_SEED=1 ORACLE_STORES=memory ORACLE_WORKERS=1
check-schedules	short	-	make -s check-schedules SCHEDULE_SECONDS=1
check-pages	short	chromium	make -s check-pages PAGES_PICTURES=targets/pictures/new
check-targets	short	-	sh "$UTFEED_SRCDIR/tests/check-targets.sh"
syscalls	short	strace	make -s syscalls PYTEST_ARGUMENTS='test_basic.py -k no_route_is_404'
attack	short	-	make -s attack ATTACK_ARGUMENTS='--quick --no-times --list'
readers	short	curl	make -s readers READERS=curl
steady	short	-	make -s steady STEADY_ARGUMENTS='--publishers 5 --readers 2 --hours 1'
scale	short	redis-server	make -s scale SCALE_ARGUMENTS='--feeds 10k --polls 1m --hours 6' SCALE_REAL_ARGUMENTS='--seconds 5 --feeds 100'
fleet	short	root	make -s fleet FLEET_ARGUMENTS='--seconds 8 --seed 1 --mode single'
fuzz	short	clang	make -s fuzz FUZZ_SECONDS=1 FUZZ_TARGETS=tests/fuzz/fuzz_url
coverage	short	gcovr	COVERAGE=short make -s coverage UNIT_TESTS=tests/unit/conf/test_url FUZZ_TARGETS=tests/fuzz/fuzz_url PYTEST_ARGUMENTS='test_basic.py -k no_route_is_404'
bench	long	-	BENCH_QUICK=1 make -s bench BENCH=micro BENCH_ROUNDS=1
bench-readme	long	-	make -n bench-readme
install	short	-	make -s install DESTDIR="$PWD/targets/root" && make -s uninstall DESTDIR="$PWD/targets/root"
install-libutfeed	long	-	make -s install-libutfeed DESTDIR="$PWD/targets/root"
dist	short	-	make -s dist XZ_OPT=-0
sbom	short	dpkg-query	make -s sbom
deb	long	dpkg-buildpackage	make -s deb
END
}

has() {
	case $1 in
	-) return 0 ;;
	root) [ "$(id -u)" = 0 ] ;;
	*) command -v "$1" >/dev/null 2>&1 ;;
	esac
}

run_row() {
	case " ${TARGETS:-$1} " in *" $1 "*) ;; *) return ;; esac
	if [ "$2" = long ] && [ -z "${TARGETS_LONG:-}" ] || ! has "$3"; then
		skipped=$((skipped + 1))
		return
	fi
	if MAKEFLAGS='' UTFEED_SRCDIR=$source sh -c "$4" >"targets/$1.log" 2>&1 </dev/null; then
		good
	elif grep -q 'Error 77' "targets/$1.log"; then
		skipped=$((skipped + 1))
	else
		bad "FAIL $1: $4"
		tail -n 10 "targets/$1.log" | sed 's/^/  /'
	fi
}

run_rows() {
	mkdir -p targets || exit 1
	rows >targets/rows
	while IFS='	' read -r name length needs command; do
		run_row "$name" "$length" "$needs" "$command"
	done <targets/rows
}

# A copy of the source, as bootstrap leaves it, configured and made where it stands
built_in_place() {
	mkdir -p "$build/targets/place" && cd "$build/targets/place" || exit 1
	(cd "$source" && tar -cf - --exclude=./build --exclude=./.git --exclude=./targets .) | tar -xf - || exit 1
	find . -name '*.o' -delete
	[ ! -f config.status ] || make -s distclean >/dev/null 2>&1
	./configure CFLAGS=-O0 >configure.log 2>&1 && MAKEFLAGS='' make -s -j2 >make.log 2>&1 || { tail -n 5 configure.log make.log; exit 1; }
	export UTFEED_SHARED="${UTFEED_SHARED:-$source/../shared}"
	source=$(pwd)
}

case ${1:-} in
run) run_rows ;;
place) built_in_place && run_rows ;;
*)
	for name in $(named); do
		if [ "$name" != "${name#tests/}" ]; then    # a program of tests, by its source
			if [ -f "$source/$name.c" ]; then good; else bad "a paper names make $name, and there is no $name.c"; fi
		elif ! grep -qE "^([^#:=]* )?$name( [^:=]*)?:" "$build/Makefile"; then
			bad "a paper names make $name, and there is no such target"
		elif ! rows | grep -q "^$name	"; then
			bad "make $name has no short form in tests/check-targets.sh"
		else
			good
		fi
	done
	for verb in $(said '(^ *|[$`(&] ?)[.]/bootstrap [a-z]+' | sed 's/.* //'); do
		if grep -qE "^$verb\\)" "$source/bootstrap"; then good; else bad "a paper names ./bootstrap $verb, and there is no such verb"; fi
	done
	for section in $(said '[.]/bootstrap deps [a-z]+' | sed 's/.* //'); do
		if grep -q "^$section	" "$source/docker/packages"; then good; else bad "docker/packages has no section $section"; fi
	done
	said '[a-z-]+[.]sh --[a-z]+' >"$switches"
	while read -r script switch; do
		if grep -q -e "$switch" "$source/tests/$script"; then good; else bad "a paper names $script $switch, and there is none"; fi
	done <"$switches"
	;;
esac
echo "check-targets: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
