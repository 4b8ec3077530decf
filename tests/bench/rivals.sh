#!/bin/sh
# rivals.sh SOURCE FOLDER: builds bench_decoder's rivals that this machine has the libraries of; prints the path of each.
# ICU: libicu-dev. encoding_rs: librust-encoding-rs-dev (its source) and rustc. What is missing is named on standard error.
set -eu
source=$1 folder=$2
mkdir -p "$folder"

if pkg-config --exists icu-uc 2>/dev/null; then
	# shellcheck disable=SC2046
	${CC:-cc} -O2 -shared -fPIC -o "$folder/icu.so" "$source/rival_icu.c" $(pkg-config --cflags --libs icu-uc)
	printf '%s\n' "$folder/icu.so"
else
	echo "no ICU (libicu-dev)" >&2
fi

# The newest of a crate's folders in Debian's registry
crate() { find "${CRATES:-/usr/share/cargo/registry}" -maxdepth 1 -name "$1-[0-9]*" 2>/dev/null | sort -V | tail -n 1; }
rust() { rustc -O -C target-cpu=native --cap-lints allow -L "$folder" --out-dir "$folder" "$@"; }

encoding_rs=$(crate encoding_rs) cfg_if=$(crate cfg-if)
if rustc --version >/dev/null 2>&1 && [ -n "$encoding_rs" ] && [ -n "$cfg_if" ]; then
	[ -e "$folder/libencoding_rs.rlib" ] || {
		rust --edition 2018 --crate-type rlib --crate-name cfg_if "$cfg_if/src/lib.rs"
		rust --edition 2018 --crate-type rlib --crate-name encoding_rs --extern "cfg_if=$folder/libcfg_if.rlib" "$encoding_rs/src/lib.rs"
	}
	rust --edition 2021 --crate-type cdylib --crate-name rival_encoding_rs --extern "encoding_rs=$folder/libencoding_rs.rlib" "$source/rival_encoding_rs.rs"
	printf '%s\n' "$folder/librival_encoding_rs.so"
else
	echo "no encoding_rs (librust-encoding-rs-dev and rustc)" >&2
fi
