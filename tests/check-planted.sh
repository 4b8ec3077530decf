#!/bin/sh
# That check-layers.sh can fail: in a copy of the tree each of these faults is planted by itself, and has to be told by its words.
cd "${UTFEED_SRCDIR:-$(dirname "$0")/..}" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/tests"
cp -R core conf proxy "$work/" && cp tests/include.am "$work/tests/" || exit 1
passed=0
failed=0

# planted WORDS FILE LINE: the line stands at the end of the file
planted() {
	[ ! -e "$work/$2" ] || cp "$work/$2" "$work/kept"
	printf '%s\n' "$3" >>"$work/$2"
	if said=$(sh tests/check-layers.sh "$work") || ! printf '%s\n' "$said" | grep -qF "$1"; then
		echo "check-planted: not told: $2: $3"
		failed=$((failed + 1))
	else
		passed=$((passed + 1))
	fi
	if [ -e "$work/kept" ]; then mv "$work/kept" "$work/$2"; else rm "$work/$2"; fi
}

sh tests/check-layers.sh "$work" >/dev/null || { echo "check-planted: the copy as it is has faults"; failed=1; }
planted 'stands below proxy/base' proxy/base/text.c '#include "proxy/client/client.h"'
planted 'stands below core/text' core/text/utf8.c '#include "core/normalise/normalise.h"'
planted 'lies in a higher part' core/text/utf8.h '#include "conf/conf.h"'
planted 'is no file' proxy/net/conn.c '#include "loop.h"'
planted 'core/ is pure' core/repair/repair.c '#include <sys/socket.h>'
planted 'belongs to one file' proxy/cache/cache.c '#include <zlib.h>'
planted 'belongs to one file' proxy/cache/cache.c '#include <openssl/ssl.h>'
planted 'belongs to core/evidence/detector.c' core/policy/policy.c '#include <uchardet/uchardet.h>'
planted 'stands in no folder' proxy/loose.c '/* Owns nothing. */'
planted 'is not listed' proxy/http/unlisted.c '/* Owns nothing. */'
planted 'headers include each other' proxy/base/slice.h '#include "proxy/base/text.h"'
echo "check-planted: $passed passed, $failed failed"
[ "$failed" = 0 ]
