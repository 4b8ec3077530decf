#!/bin/sh
# Runs one test program for make check: a fuzz target replays its seeds, anything else runs as it is.
program=$1
name=$(basename "$program")
case $name in
fuzz_*) exec "$program" -runs=0 "${UTFEED_SRCDIR:?}/tests/fuzz/corpus/${name#fuzz_}" ;;
esac
exec "$@"
