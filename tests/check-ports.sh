#!/bin/sh
# Core and its unit tests on other systems than the builds of ./bootstrap check: arm64 by a cross compiler and qemu-user, musl by musl-gcc.
# Neither has CUnit here: ports/ has what the tests use of it. What is absent is said, and skipped (docker/packages, section pack).
# usage: check-ports.sh [FOLDER] [arm64|musl...]     make check-ports; what is built is kept in FOLDER (default: ports)
source=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-ports}
[ $# = 0 ] || shift
[ $# != 0 ] || set -- arm64 musl
passed=0
failed=0
skipped=0
has() { command -v "$1" >/dev/null 2>&1; }
absent() { echo "check-ports: $port: skipped: $*"; skipped=$((skipped + 1)); }

# glibc's converters come with the libc6 of that machine, which apt fetches without installing it
arm64_libc() {
	[ ! -d "$work/root/usr/lib/aarch64-linux-gnu/gconv" ] || return 0
	has apt-get && has dpkg-deb || return 1
	mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/root" || return 1
	apt="apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::lists=$work/apt/lists -o Dir::State::status=/dev/null
		-o Dir::Cache=$work/apt/cache -o Debug::NoLocking=1 -o APT::Sandbox::User=root"
	(cd "$work/apt" && $apt update && $apt download libc6) >"$work/apt.log" 2>&1 || return 1
	dpkg-deb -x "$work"/apt/libc6_*.deb "$work/root"
}
arm64() {
	has aarch64-linux-gnu-gcc || { absent "no aarch64-linux-gnu-gcc"; return; }
	has qemu-aarch64 || { absent "no qemu-aarch64 (qemu-user)"; return; }
	arm64_libc || { absent "libc6 of arm64 is not to be had from apt, see $work/apt.log"; return; }
	tested "aarch64-linux-gnu-gcc" "qemu-aarch64 -L $work/root" ""
}
# musl's iconv lacks the converters of most charsets (they are printed): what asks for them cannot pass, and a proxy built so would not be
# ready. That all of core compiles there, and what needs no converter runs, is shown
musl() {
	has musl-gcc || { absent "no musl-gcc (musl-tools)"; return; }
	tested musl-gcc "" "decode/test_charset decode/test_decoder decode/test_decoder_basic decode/test_decoder_table decode/test_whatwg
		evidence/test_detector evidence/test_nodes evidence/test_xmldecl normalise/test_mixed normalise/test_normalise normalise/test_normalise_window
		policy/test_policy
		policy/test_policy_auto policy/test_policy_explain"
}

# tested COMPILER RUNNER TESTS-TO-LEAVE-OUT
tested() {
	flags="-std=gnu11 -O1 -g1 -Wall -Wextra -Werror -D_GNU_SOURCE= -DPACKAGE_VERSION=\"ports\" -I$source -I$source/tests/ports"
	echo "check-ports: $port: compiling"
	# shellcheck disable=SC2086
	(cd "$source" && find core -name '*.c' && ls tests/unit/text/*.c tests/unit/decode/*.c tests/unit/evidence/*.c tests/unit/policy/*.c \
		tests/unit/repair/*.c tests/unit/normalise/*.c tests/unit/library/*.c && ls tests/ports/*.c) >"$work/sources"
	compiler=$1 flags=$flags source=$source work=$work xargs -P 2 -n 1 sh -c '
		mkdir -p "$work/$(dirname "$1")" && $compiler $flags -c -o "$work/${1%.c}.o" "$source/$1"' sh <"$work/sources" >"$work/compile.log" 2>&1 || {
		echo "check-ports: $port: does not compile: $work/compile.log"
		failed=$((failed + 1))
		return
	}
	core=$(sed -n "s|^\(core/.*\)\.c$|$work/\1.o|p" "$work/sources")
	# shellcheck disable=SC2086
	$1 -o "$work/converters" "$work/tests/ports/converters.o" $core -lpthread && $2 "$work/converters"
	for test in $(sed -n 's|^tests/unit/\(.*/test_.*\)\.c$|\1|p' "$work/sources"); do
		case " $(echo $3) " in *" $test "*) skipped=$((skipped + 1)); continue ;; esac
		# shellcheck disable=SC2086
		$1 -o "$work/$(basename "$test")" "$work/tests/unit/$test.o" "$work/tests/ports/unit.o" $core -lpthread &&
			UTFEED_SRCDIR=$source timeout 900 $2 "$work/$(basename "$test")" >"$work/$(basename "$test").log" 2>&1
		status=$?
		tail -n 1 "$work/$(basename "$test").log"
		if [ $status = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "check-ports: $port: $test fails ($status): $work/$(basename "$test").log"; fi
	done
}

for port in "$@"; do
	mkdir -p "$folder/$port" && work=$(cd "$folder/$port" && pwd) || exit 1
	"$port"
done
echo "check-ports: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
