#!/bin/sh
# test_whatwg beside encoding_rs, browsers' implementation of the Encoding Standard, string by string: where rustc and the source of encoding_rs
# are (librust-encoding-rs-dev; or CRATES=FOLDER with encoding_rs-VERSION and cfg-if-VERSION). Nobody needs them for anything else, and rustc is
# large: CI does without, and goes by the digests that this has proved.
# usage: check-whatwg.sh [--record], in the build folder; --record writes the digests anew if no string is read otherwise
tests=$(cd "$(dirname "$0")" && pwd)
crate=$(find "${CRATES:-/usr/share/cargo/registry}" -maxdepth 1 -name 'encoding_rs-[0-9]*' 2>/dev/null | sort -V | tail -n 1)
# rustup puts a rustc into PATH that may have no compiler behind it
if [ -z "$crate" ] || ! rustc --version >/dev/null 2>&1; then
	echo "check-whatwg: no encoding_rs to compare with (librust-encoding-rs-dev and rustc); the digests stand for it"
	exit 77
fi
if [ ! -x tests/unit/decode/test_whatwg ]; then
	echo "check-whatwg: no test_whatwg in this build"
	exit 77
fi
version=${crate##*-}
folder=whatwg/$version
mkdir -p "$folder"
library=$(sh "$tests/bench/rivals.sh" "$tests/bench" "$folder" 2>"$folder/log" | grep encoding_rs)
if [ -z "$library" ]; then
	tail -n 30 "$folder/log"
	echo "check-whatwg: 0 passed, 1 failed"
	exit 1
fi
# GB 18030-2022 came with 0.8.35
if [ "$(printf '%s\n' "$version" 0.8.35 | sort -V | head -n 1)" != 0.8.35 ]; then
	echo "check-whatwg: encoding_rs $version has not GB 18030-2022 yet: without gbk and gb18030"
	export UTFEED_WHATWG_WITHOUT="gbk gb18030"
fi
UTFEED_WHATWG_PEER=$library tests/unit/decode/test_whatwg "beside encoding_rs" || exit 1
echo "check-whatwg: as encoding_rs $version"
[ "${1:-}" = --record ] || exit 0
[ -z "${UTFEED_WHATWG_WITHOUT:-}" ] || { echo "check-whatwg: nothing recorded, since two encodings were not compared"; exit 1; }
UTFEED_WHATWG_RECORD=$folder/rows tests/unit/decode/test_whatwg digests || exit 1
{
	echo "/* WHATWG(name, sort, digest): what test_whatwg's strings become, for each encoding of the Encoding Standard but replacement."
	echo " * Written by tests/check-whatwg.sh --record when no string was read otherwise than by encoding_rs $version; it reads gbk and gb18030 as"
	echo " * the standard has since October 2024 (GB 18030-2022). */"
	cat "$folder/rows"
} >"$tests/unit/decode/whatwg.def"
