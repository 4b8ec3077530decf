#!/bin/sh
# The same source built in two folders of different names gives the same program, byte for byte, debug information included, and the same
# bill of materials. What is compared is a plain ./configure: developers' builds keep the paths of their folders, for debuggers.
# The way from the build folder to the source is the same in both, as it is for who follows README.
# usage: check-reproducible.sh     make check-reproducible; a minute on two cores
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap '[ -n "${KEEP:-}" ] || rm -rf "$work"' EXIT
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-1700000000}"

# built FOLDER NAME: a copy of the source is built there
built() {
	mkdir -p "$work/$1"
	tar -cf - --exclude=./build --exclude=./.git --exclude=./config.status --exclude=./Makefile --exclude='*.o' --exclude='*.a' --exclude=./utfeed . |
		tar -xf - -C "$work/$1"
	(cd "$work/$1" && ./bootstrap generate && mkdir -p build && cd build && ../configure && make -j2 utfeed sbom) >"$work/log" 2>&1 || {
		tail -n 20 "$work/log"
		exit 1
	}
	cp "$work/$1/build/utfeed" "$work/utfeed.$2"
	cp "$work/$1/build/utfeed.spdx.json" "$work/spdx.$2"
}
built one first
built another/folder/with/a/longer/name second
sha256sum "$work/utfeed.first" "$work/utfeed.second" | cut -c 1-64
sha256sum "$work/spdx.first" "$work/spdx.second" | cut -c 1-64
failed=0
cmp "$work/utfeed.first" "$work/utfeed.second" || failed=1
cmp "$work/spdx.first" "$work/spdx.second" || failed=$((failed + 1))
echo "check-reproducible: $((2 - failed)) passed, $failed failed"
[ "$failed" = 0 ]
