#!/bin/sh
# The program itself, as this build made it (a plain ./configure: optimised at link time, as users get it), in want of memory: no C++
# library throws in it (trust 24), and whatever limit of memory it runs under, it says so or is right.
# usage: check-binary.sh, in the build folder
binary=./utfeed
passed=0
failed=0
bad() { echo "check-binary: $*"; failed=$((failed + 1)); }
good() { passed=$((passed + 1)); }

if ! libraries=$(ldd "$binary" 2>/dev/null); then
	echo "check-binary: no ldd here"
	exit 77
fi
if echo "$libraries" | grep -q 'libstdc++\|libc++'; then bad "trust 24: a C++ library is part of the program"; else good; fi

# A sanitizer reserves more addresses than any limit leaves
if nm "$binary" 2>/dev/null | grep -q '__[at]san_init'; then
	echo "check-binary: $passed passed, $failed failed; a sanitizer's build: not run under limits"
	[ "$failed" -eq 0 ]
	exit
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
ulimit -c 0
# Nothing but the detector can tell: windows-1251
printf '<rss><title>' >"$work/feed"
for n in 1 2 3 4 5 6 7 8; do printf '\317\360\350\342\345\362, \354\350\360! \337 \367\350\362\340\376 \355\356\342\356\361\362\350. ' >>"$work/feed"; done
printf '</title></rss>' >>"$work/feed"
"$binary" normalise "$work/feed" >"$work/right" || { bad "cannot normalise"; exit 1; }

limit=4000
while ! (ulimit -v $limit; exec "$binary" --version) >/dev/null 2>&1; do
	limit=$((limit + 500))
	[ $limit -lt 1000000 ] || { bad "does not start under any limit"; exit 1; }
done
end=$((limit + 8000))
whole=0
while [ $limit -lt $end ]; do
	(ulimit -v $limit; exec "$binary" normalise "$work/feed") >"$work/out" 2>"$work/err"
	status=$?
	if [ $status -ge 128 ]; then bad "trust 24: ended by signal $((status - 128)) with $limit KiB"
	elif [ $status -eq 0 ] && ! cmp -s "$work/out" "$work/right"; then bad "trust 24: other text with $limit KiB"
	elif [ $status -ne 0 ] && [ ! -s "$work/err" ]; then bad "trust 24: says nothing with $limit KiB"
	else good; fi
	[ $status -ne 0 ] || whole=$((whole + 1))
	limit=$((limit + 100))
done
[ $whole -gt 0 ] || bad "no limit left enough: nothing was tried"
echo "check-binary: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
