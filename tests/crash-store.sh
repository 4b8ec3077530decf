#!/bin/sh
# Kills a writer of an LMDB store at random moments and reopens it each time. usage: crash-store.sh CRASH_STORE [TIMES]
set -eu
program=$1
times=${2:-50}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
i=0
while [ $i -lt "$times" ]; do
	i=$((i + 1))
	"$program" write "$folder/store" $i &
	writer=$!
	sleep 0.$(($(od -An -N2 -tu2 /dev/urandom) % 4))$((i % 10))
	kill -9 $writer
	wait $writer 2>/dev/null || :
	[ -e "$folder/store/data.mdb" ] || continue
	"$program" read "$folder/store" >"$folder/out" || [ $i = 1 ] || { cat "$folder/out"; echo "failed after kill $i"; exit 1; }
done
cat "$folder/out"
echo "$times kills: the store opened every time, every body whole"
