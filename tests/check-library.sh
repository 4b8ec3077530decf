#!/bin/sh
# libutfeed as programs outside see it: installed below a folder of its own, it shows the names of utfeed.h and no other, has its SONAME,
# and the examples, built by what pkg-config says, read a feed with the shared and with the static library: C, C++, Python, the manual's.
# usage: check-library.sh BUILD-FOLDER     make check-library; the build folder must be configured
build=$(cd "$1" && pwd)
source=${UTFEED_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
bad() { echo "check-library: $*"; failed=$((failed + 1)); }
good() { passed=$((passed + 1)); }
holds() {
	words=$1
	shift
	if "$@"; then good; else bad "$words"; fi
}

make -C "$build" -s install-libutfeed DESTDIR="$work/root" prefix=/opt >"$work/log" 2>&1 || { cat "$work/log"; bad "not installed"; echo "1 failed"; exit 1; }
library=$work/root/opt/lib
header=$work/root/opt/include/utfeed.h

declared() { sed -n 's/^UTFEED_API [^(]*[ *]\(utfeed_[a-z_]*\)(.*/\1/p' "$header" | LC_ALL=C sort; }
of_shared() { nm -D --defined-only "$library/libutfeed.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort; }
of_static() { nm -g --defined-only "$library/libutfeed.a" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort; }
holds "the header declares nothing" test -n "$(declared)"
holds "the shared library shows other names than utfeed.h: $(of_shared | tr '\n' ' ')" test "$(of_shared)" = "$(declared)"
holds "the static library shows other names than utfeed.h" test "$(of_static)" = "$(declared)"
holds "no SONAME libutfeed.so.0" sh -c 'objdump -p "$0" | grep -q "SONAME *libutfeed\.so\.0$"' "$library/libutfeed.so"
holds "the header does not stand alone" sh -c 'echo "#include <utfeed.h>" | ${CC:-cc} -std=c99 -Wall -Wextra -Werror -pedantic -I"$0" -fsyntax-only -x c -' "${header%/*}"
for name in $(declared); do
	holds "libutfeed(3) lacks $name" grep -q "^\.Fn $name " "$work/root/opt/share/man/man3/libutfeed.3"
done

export PKG_CONFIG_PATH="$library/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$work/root"
flags=$(pkg-config --cflags --libs libutfeed) || bad "pkg-config does not know libutfeed"
documents=$work/root/opt/share/doc/utfeed
example=$documents/example.c
holds "example.c has more than thirty lines" test "$(wc -l <"$example")" -le 30
holds "example.py has more than twenty lines" test "$(wc -l <"$documents/example.py")" -le 20
# shellcheck disable=SC2086
holds "the example does not build" ${CC:-cc} -Wall -Wextra -Werror -o "$work/shared" "$example" $flags
holds "the example does not build with the static library" ${CC:-cc} -Wall -Wextra -Werror -I"${header%/*}" -o "$work/static" "$example" "$library/libutfeed.a"
# A program's own names do not meet core's
printf 'int decoder_new(void);\nint decoder_new(void) { return 1; }\n' >"$work/own.c"
holds "a name of core's meets the program's" ${CC:-cc} -I"${header%/*}" -o "$work/own" "$example" "$work/own.c" "$library/libutfeed.a"
# C++ reads the header as C's, and example.c as its own
programs="shared static own"
cxx=
for each in ${CXX:-c++ clang++}; do
	[ -n "$cxx" ] || ! command -v "$each" >/dev/null 2>&1 || cxx=$each
done
if [ -n "$cxx" ]; then
	programs="$programs c++ example.cpp"
	# shellcheck disable=SC2086
	holds "example.c is no C++" "$cxx" -Wall -Wextra -Werror -o "$work/c++" -x c++ "$example" -x none $flags
	# shellcheck disable=SC2086
	holds "example.cpp does not build" "$cxx" -std=c++11 -Wall -Wextra -Werror -pedantic -o "$work/example.cpp" "$documents/example.cpp" $flags
else
	echo "check-library: no C++ compiler here"
fi
if command -v python3 >/dev/null 2>&1; then
	programs="$programs python"
	printf '#!/bin/sh\nexec python3 -B "%s" "$@"\n' "$documents/example.py" >"$work/python"
	chmod 755 "$work/python"
else
	echo "check-library: no python3 here"
fi

printf '<?xml version="1.0" encoding="windows-1251"?><rss>\317\360\350\342\345\362</rss>' >"$work/feed"
printf '<?xml version="1.0" encoding="UTF-8"?><rss>Привет</rss>' >"$work/wanted"
export LD_LIBRARY_PATH="$library"
for program in $programs; do
	"$work/$program" <"$work/feed" >"$work/out" 2>"$work/rule"
	holds "$program: not read: $(cat "$work/out")" cmp -s "$work/out" "$work/wanted"
	holds "$program: rule $(cat "$work/rule")" grep -q '^auto:.*charset=windows-1251' "$work/rule"
	"$work/$program" 'text/html' <"$work/feed" >"$work/out" 2>"$work/rule"
	holds "$program: its argument is no Content-Type: $(cat "$work/rule")" test -s "$work/rule"
done
# The program in the manual, as it is shown
sed -n '/^\.Bd -literal/,/^\.Ed/{/^\.[BE]d/d; s/\\e/\\/g; p;}' "$work/root/opt/share/man/man3/libutfeed.3" >"$work/manual.c"
# shellcheck disable=SC2086
holds "the program of libutfeed(3) does not build" ${CC:-cc} -Wall -Wextra -Werror -o "$work/manual" "$work/manual.c" $flags
holds "the program of libutfeed(3): $("$work/manual" 2>&1)" test "$("$work/manual" 2>/dev/null)" = "<rss><title>Привет</title></rss>"
make -C "$build" -s uninstall-libutfeed DESTDIR="$work/root" prefix=/opt >/dev/null
holds "left behind: $(find "$work/root" ! -type d)" test -z "$(find "$work/root" ! -type d)"
echo "check-library: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
