#!/bin/sh
# Every test, from the builds up: gcc (unit tests; of the tests end to end those that no sanitizer may disturb, and some once more over
# HTTP/2). LTO=1 makes gcc's build the one that users have: it is then optimised at link time. Then clang with ASan+UBSan (the unit tests
# again and every test end to end, made of the distribution), ThreadSanitizer, memory refused under ASan, random schedules. Then conformance
# corpus, texts, harm, faults and field, a short run of the benchmarks, coverage.
# Three lanes run at once: what waits, or takes one processor, leaves the other to them; what a lane has not begun, another that is done takes.
# Logs: build/log; one line a step here, and behind one that failed what failed, each with the command that repeats it; the last line is the
# total. Exit status 0 only if all passed. A signal ends the lanes and all that they run; a lane that anything else ends is a failure.
cd "$(dirname "$0")/.." || exit 1
source=$(pwd)
logs=$source/build/log
shared=$(cd "${UTFEED_SHARED:-../shared}" 2>/dev/null && pwd)
step_limit=1800
# Functions and lines are what a report names; variables are an eighth of what compiling costs. -O1 is what the sanitizers' authors advise, for
# core, which reads every byte. It costs two and a half times as much to compile as it does without, and the rest, tests too, runs too little to
# win that back
lines="-O1 -g1"
plain="-O0 -g1"
# Each build of a sanitizer links a hundred programs of megabytes
linker=
! command -v ld.lld >/dev/null || linker=-fuse-ld=lld
# utfeed starts thousands of times under AddressSanitizer: each start costs a tenth less without relocations and unused functions. gcc's build is
# relocated, as users have it
fixed="-no-pie -Wl,--gc-sections"

# built FOLDER TARGET CONFIGURE-ARGUMENTS...: goes there and builds, of the source that "of" names; results of a run before are not this one's
built() {
	folder=$source/build/$1
	target=$2
	shift 2
	mkdir -p "$folder"
	cd "$folder" || return 1
	[ -f Makefile ] || "${of:-../..}/configure" --enable-developer "$@" || return 1
	rm -f tests/*.log tests/*.trs tests/*/*.log tests/*/*.trs tests/*/*/*.log tests/*/*/*.trs
	make -j2 "$target"
}

# of_archives COMPILER: linker flags with which it takes archives instead of shared libraries, of those that need no further library.
# A start is then cheaper: by a fifth under AddressSanitizer, by half without it
of_archives() {
	archives=$source/build/archives-$1
	mkdir -p "$archives"
	for library in event_core ssl crypto cares nghttp2 z deflate zstd expat lmdb crypt argon2 seccomp; do
		archive=$("$1" -print-file-name="lib$library.a")
		[ ! -f "$archive" ] || ln -sf "$archive" "$archives"
	done
	echo "$linker $fixed -L$archives"
}

sanitized() {
	built sanitizers libutfeed.a CC=clang CFLAGS="$lines" LDFLAGS="$linker $fixed" --enable-sanitizers=address,undefined --enable-schedules &&
		make -j2 CFLAGS="$plain" LDFLAGS="$(of_archives clang)"
}

# The tests are linked of plain code. They themselves are compiled with less care than what they test
compiled() {
	built gcc all CFLAGS="-O2 -g1" "$@" && quickened && make -j2 check UTFEED_LTO_CFLAGS= CFLAGS="$lines" LDFLAGS="$linker"
}

# The scores start the command tens of thousands of times: gcc's objects linked once more, so that it starts in half the time
quickened() {
	mkdir -p "$source/build/quick" && mv utfeed utfeed.users && make utfeed UTFEED_LTO_CFLAGS=-fno-lto LDFLAGS="$(of_archives gcc)" &&
		mv utfeed "$source/build/quick" && mv utfeed.users utfeed
}

units() {
	make -C "$source/build/$1" -j2 check CFLAGS="$plain" PLANTED= BESIDE=
}

# The distribution, unpacked and not to be written to
distribution() {
	mkdir -p "$source/build/dist"
	cd "$source/build/dist" || return 1
	[ -f Makefile ] || ../../configure || return 1
	[ ! -d tree ] || chmod -R u+w tree
	rm -rf tree utfeed-*
	make -s dist XZ_OPT=-0 && xz -dc utfeed-*.tar.xz | tar -xf - && rm utfeed-*.tar.xz && mv utfeed-* tree && chmod -R a-w tree
}

# What a package's maintainer does with a build of the distribution, which in the end leaves nothing behind
cleaned() {
	cd "$source/build/$1" || return 1
	into=$(pwd)/installed
	make -s install DESTDIR="$into" && make -s installcheck uninstall DESTDIR="$into" &&
		make -s distuninstallcheck distuninstallcheck_dir="$into" &&
		make -s dist XZ_OPT=-0 && rm utfeed-*.tar.xz && make -s distcleancheck
}

# The tests' bytecode is made once for all builds of a source. What the corpus is expected to become is asked of gcc's build, where it is there
# already: its own run holds its proxy to that as well
end_to_end() {
	if [ -x "$source/build/quick/utfeed" ]; then
		export UTFEED_NORMALISE="$source/build/quick/utfeed"
	fi
	export PYTHONPYCACHEPREFIX="$source/build/pycache"
	cd "$source/build/$1" && shift || return 1
	PYTEST_JOBS=${PYTEST_JOBS:-4} make check-e2e "$@"
}

# Of gcc's build: what a sanitizer hides (memory, system calls, what is inside), and what meets threads, processes and the kernel.
# All end-to-end tests run in the sanitizers' build; those that skip there name it, and run here: tests/e2e/of_users.py
of_users() {
	end_to_end gcc PYTEST_ARGUMENTS="-p of_users"
}

# Files about what responses are made of and how they go out, once more over HTTP/2. tests/README has the whole suite
over_http2() {
	python=$(sed -n 's/^PYTHON = //p' "$source/build/gcc/Makefile")
	"$python" -c 'import hpack' 2>/dev/null || { echo "1 skipped: no python3-hpack"; return 0; }
	UTFEED_TEST_HTTP2=both end_to_end gcc \
		PYTEST_ARGUMENTS="test_cache.py test_gzip.py test_headers.py test_purge.py test_types.py" &&
		UTFEED_TEST_HTTP2=1 end_to_end gcc \
		PYTEST_ARGUMENTS="test_access_log.py test_basic.py test_broken.py test_cache.py test_charset.py test_client_auth.py test_counters.py test_faults.py test_good_client.py test_gzip.py test_gzip_form.py test_gzip_passes.py test_headers.py test_memory.py test_pool.py test_purge.py test_ranges.py test_redirects.py test_refused.py test_relay.py test_reload.py test_security.py test_transport.py test_trust_cache.py test_trust_http.py"
}

# What two workers share (cache, stores, objects in the making, certificates) under ThreadSanitizer: of the unit tests those that have threads
threads() {
	tests=$(cd "$source" && grep -lE 'pthread_create|store_lmdb|store_redis|leaves_|access_sink' tests/unit/*/test_*.c | sed 's/\.c$//')
	# shellcheck disable=SC2086
	built threads libutfeed.a CC=clang CFLAGS="$lines" LDFLAGS="$linker" --enable-sanitizers=thread --enable-schedules &&
		make -j2 CFLAGS="$plain" all $tests &&
		make -j2 check-TESTS TESTS="$(echo $tests)" check_PROGRAMS= &&
		UTFEED_SERVE_ARGS="--workers 2" end_to_end threads \
			PYTEST_ARGUMENTS="test_workers.py test_tls_system.py test_cache.py test_gzip_form.py test_broken.py test_poisoning.py test_process.py test_reload.py::test_who_is_served"
}

# The builds of the sanitizers, with threads that sleep where they meet; for hours: make check-schedules SCHEDULE_SECONDS=7200 in one
schedules() {
	make -C "$source/build/$1" -s check-schedules SCHEDULE_SECONDS=30
}

# Four instances upon one Redis server, to which things happen, in network namespaces; make fleet has the cluster, the Sentinels and hours
fleets() {
	[ "$(id -u)" = 0 ] && command -v redis-server >/dev/null || { echo "1 skipped: needs root and redis-server"; return 0; }
	make -C "$source/build/gcc" -s fleet FLEET_ARGUMENTS="--seconds 24 --answers 12000 --mode single"
}

# Memory refused needs the sanitizer as a library: what is preloaded can stand before that one
refusals() {
	cd "$source/build/sanitizers" || return 1
	library=$(clang -print-file-name=libclang_rt.asan-x86_64.so)
	[ "$library" != libclang_rt.asan-x86_64.so ] || library=$(clang -print-file-name=libclang_rt.asan.so)
	rm -f utfeed
	make utfeed LDFLAGS="$linker -shared-libasan -Wl,-rpath,$(dirname "$library")" && (PYTEST_ARGUMENTS=test_memory.py end_to_end sanitizers)
	result=$?
	rm -f "$source/build/sanitizers/utfeed"
	return $result
}

case ${1:-} in
sanitized | compiled | units | distribution | cleaned | end_to_end | of_users | over_http2 | fleets | threads | schedules | refusals) "$@"; exit ;;
esac

rm -rf "$logs"
mkdir -p "$logs"
export TSAN_OPTIONS="suppressions=$source/tests/libc.tsan"
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1
export PYTHONDONTWRITEBYTECODE=1
[ -z "$shared" ] || export UTFEED_SHARED="$shared"

# The tests a log counted, as "passed failed skipped": unit programs, pytest and the scripts all print "N passed, N failed"
counted() {
	cat "$@" 2>/dev/null | awk '
		!/[0-9] (passed|failed|skipped|errors? in [0-9])/ { next }
		{ for (i = 2; i <= NF; i++) { word = $i; gsub(/[^a-z]/, "", word); if ($(i - 1) ~ /^[0-9]+$/) n[word] += $(i - 1) } }
		END { print n["passed"] + 0, n["failed"] + n["error"] + n["errors"] + 0, n["skipped"] + 0 }'
}

# Seconds of the processor that the children of this lane took so far, of times(1) written to a file
processor() {
	awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, part, /[ms]/); sum += 60 * part[1] + part[2] } printf "%d", sum }' "$1"
}

# timeout(1) makes a process group of its command, and passes a signal on to all of it
limited() {
	timeout -k 20 "$step_limit" "$@" </dev/null &
	echo $! >"$logs/$lane.running"
	wait $!
	limited_status=$?
	rm -f "$logs/$lane.running"
	return $limited_status
}

# The failures that a log and make's logs of its tests tell, each with what repeats it; last what repeats the step
failures() {
	grep -hE '^(FAIL|ERROR|FAILED)|[Ee]rror:|below|: FAIL' "$log" | head -n 15
	sed -n 's/^FAIL: //p' "$log" | sort -u | while read -r test; do
		told=$source/build/$name/${test%.sh}.log
		[ ! -f "$told" ] || grep -hE '^FAIL|^  |rror' "$told" | head -n 15
		[ ! -f "$source/build/$name/Makefile" ] || echo "again: make -C build/$name check-TESTS TESTS=$test"
	done
	grep -hE '^ *again: ' "$log" | head -n 15
	echo "again: $step_command"
}

# step NAME COMMAND...: runs it, prints one line, notes its counts; a failure nobody counted counts as one
step() {
	name=$1
	shift
	log=$logs/$name.log
	echo "$name" >"$logs/$lane.step"
	step_began=$(date +%s)
	times >"$logs/$name.times"
	step_processor=$(processor "$logs/$name.times")
	step_command=$*
	limited "$@" >"$log" 2>&1
	status=$?
	times >"$logs/$name.times"
	step_processor=$(($(processor "$logs/$name.times") - step_processor))
	rm -f "$logs/$name.times"
	# shellcheck disable=SC2046
	set -- $(counted "$log" "$source/build/$name"/tests/*/*/*.log "$source/build/$name"/tests/*/*.log "$source/build/$name"/tests/*.log)
	passed=$1
	failed=$2
	skipped=$3
	[ "$status" = 0 ] || [ "$failed" != 0 ] || failed=1
	[ "$status" = 0 ] && [ "$failed" = 0 ] && verdict=ok || verdict=FAILED
	[ "$((passed + failed))" != 0 ] || passed=1
	echo "$passed $failed $skipped" >"$logs/$name.count"
	printf 'check: %-14s %-6s %5d passed, %d failed, %d skipped  (%d s, processor %d s)\n' "$name" "$verdict" "$passed" "$failed" "$skipped" \
		"$(($(date +%s) - step_began))" "$step_processor"
	[ "$verdict" = ok ] || { echo "  log: $log"; failures | sed 's/^/  /'; }
	[ "$verdict" = ok ]
}

# The first lane that asks for it has it
taken() { ! mkdir "$logs/$1.taken" 2>/dev/null; }

# Whether that step is done
done_with() { [ -f "$logs/$1.count" ]; }

lane_one() {
	# shellcheck disable=SC2086
	step gcc sh "$0" compiled CC=gcc ${LTO:+--enable-lto}
	[ ! -x build/gcc/utfeed ] || step gcc-e2e sh "$0" of_users
	rest
}

# Of the distribution: that has to be built anyway
lane_two() {
	step dist sh "$0" distribution
	step sanitizers-build env of="$source/build/dist/tree" sh "$0" sanitized
	# The longest of all steps: more processes get a larger share of the machine
	[ ! -x build/sanitizers/utfeed ] || step sanitizers-e2e env PYTEST_JOBS=6 sh "$0" end_to_end sanitizers
	[ ! -x build/sanitizers/utfeed ] || step schedules-asan sh "$0" schedules sanitizers
	last_of_sanitizers
	rest
}

lane_three() {
	step threads sh "$0" threads
	[ ! -x build/threads/utfeed ] || step schedules-tsan sh "$0" schedules threads
	rest
}

# One links the program anew, the other removes all: once nobody needs this build, neither a test of it nor who wants to repeat a failure
last_of_sanitizers() {
	done_with sanitizers && done_with schedules-asan && ! taken last_of_sanitizers || return 0
	step refusals sh "$0" refusals
	! cat "$logs"/sanitizers*.count "$logs/schedules-asan.count" "$logs/refusals.count" | awk '$2 > 0 { exit 1 }' ||
		step distcheck sh "$0" cleaned sanitizers
}

# A lane that is done takes of these what is not taken and can run
rest() {
	if done_with sanitizers-build && [ -x build/sanitizers/utfeed ] && ! taken sanitizers; then
		step sanitizers sh "$0" units sanitizers
		last_of_sanitizers
	fi
	! done_with gcc || [ ! -x build/gcc/utfeed ] || taken http2-e2e || step http2-e2e sh "$0" over_http2
	! done_with gcc || [ ! -x build/gcc/utfeed ] || taken fleet || step fleet sh "$0" fleets
	shared_data harm sh tests/harm.sh
	[ ! -f build/gcc/Makefile ] || taken coverage || step coverage env COVERAGE=unit make -C build/gcc -s coverage
	shared_data faults3 sh tests/kit.sh faults3
	shared_data field sh tests/kit.sh field
	shared_data corpus sh tests/score.sh
	# Right labels and UTF-8 under wrong ones are what the unit test of identity makes, too
	shared_data texts env TEXTS_PARTS="undeclared mixed sample-gap double broken wellformed no-feed" sh tests/texts.sh
	# Not optimised: what is asked is which names it has, and whether the example runs
	[ ! -f build/gcc/Makefile ] || taken library || step library make -C build/gcc -s check-library CC=gcc CFLAGS="-O0 -g0" CPPFLAGS=-Wno-cpp
	! done_with gcc || [ ! -x build/gcc/utfeed ] || taken bench || step bench env BENCH_QUICK=1 make -C build/gcc -s bench
}

# shared_data FOLDER COMMAND...: with gcc's utfeed that starts soon and the data of ../shared, where they are
shared_data() {
	done_with gcc && [ -x build/gcc/utfeed ] && ! taken "$1" || return 0
	if [ -z "$shared" ] || [ ! -d "$shared/$1" ]; then
		printf 'check: %-14s skipped: no ../shared/%s here\n' "$1" "$1"
		return 0
	fi
	data=$1
	shift
	step "$data" "$@" build/quick/utfeed "$shared"
}

# What a lane runs ends with it
ended() {
	[ ! -f "$logs/$lane.running" ] || kill -TERM "$(cat "$logs/$lane.running")" 2>/dev/null
	wait
	exit 1
}

run_lane() {
	lane=$1
	trap ended TERM HUP
	"$lane"
	exit 0
}

interrupted() {
	trap '' INT TERM HUP
	# shellcheck disable=SC2086
	kill -TERM $processes 2>/dev/null
	wait
	echo "check: interrupted, logs in build/log"
	exit 130
}

# A lane that something ended has left its step behind
lost() {
	echo "check: $1         FAILED: ended with status $2 in the step $(cat "$logs/$1.step")"
	echo "0 1 0" >"$logs/$1.count"
	[ ! -f "$logs/$1.running" ] || kill -TERM "$(cat "$logs/$1.running")" 2>/dev/null
}

began=$(date +%s)
lanes="lane_one lane_two lane_three"
processes=
trap interrupted INT TERM HUP
for lane in $lanes; do
	run_lane "$lane" &
	processes="$processes $!"
done
# shellcheck disable=SC2086
set -- $processes
for lane in $lanes; do
	wait "$1" || lost "$lane" $?
	shift
done
cat "$logs"/*.count | awk -v seconds="$(($(date +%s) - began))" '
	{ passed += $1; failed += $2; skipped += $3 }
	END { printf "check: %d s, logs in build/log\n%d passed, %d failed, %d skipped\n", seconds, passed, failed, skipped; exit failed > 0 }'
