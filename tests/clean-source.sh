#!/bin/sh
# A source folder in which configure can be run for a build elsewhere. configure refuses that where the source is configured in place, and
# make would take the objects there for those of the other build. Prints the folder: SOURCE itself, or a copy of it in FOLDER/source.
# usage: clean-source.sh SOURCE FOLDER
set -eu
source=$(cd "$1" && pwd)
[ -f "$source/config.status" ] || { echo "$source"; exit 0; }
mkdir -p "$2"
folder=$(cd "$2" && pwd)
new=$folder/source.new
rm -rf "$new"
mkdir "$new"
# Programs that were built beside their sources have no suffix
(cd "$source" && find ./tests -type f -perm -u+x ! -name '*.*') >"$folder/programs"
# What a build leaves, and what make clean removes; tar keeps times, so that a copy made again is compiled no more than is new
tar -C "$source" -cf - --exclude=./build --exclude=./.git --exclude=.deps --exclude=.dirstamp --exclude='*.o' --exclude='*.a' --exclude='*.log' \
	--exclude='*.trs' --exclude=./config.status --exclude=./Makefile --exclude=./utfeed --exclude=./fuzzing --exclude=./coverage \
	--exclude=./bench --exclude=./readers --exclude=./steady --exclude=./whatwg --exclude=./pycache --exclude=./pages --exclude=./library --exclude=./ports \
	--exclude=./flakes --exclude=./deb --exclude=./targets --exclude-from="$folder/programs" . | tar -xf - -C "$new"
rm -rf "$folder/source"
mv "$new" "$folder/source"
echo "$folder/source"
