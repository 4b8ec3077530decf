#!/bin/sh
# Looks at the admin listener's pages in a browser: check.js over the demonstration's feeds. make check-pages, or
# usage: run.sh BUILD-FOLDER [FOLDER-FOR-PICTURES]
# Needs chromium, node and npm (./bootstrap deps pages); npm fetches what package-lock.json says into BUILD-FOLDER/pages. Where they are not,
# nothing is checked, and it says so.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
[ -z "${2:-}" ] || mkdir -p "$2"
pictures=${2:+$(cd "$2" && pwd)}
for tool in chromium node npm python3 curl; do
	command -v $tool >/dev/null 2>&1 || { echo "check-pages: 0 passed, 0 failed, 1 skipped: no $tool"; exit 0; }
done
mkdir -p "$build/pages"
cp "$here/package.json" "$here/package-lock.json" "$here/check.js" "$build/pages/"
cd "$build/pages"
[ -d node_modules ] || npm ci --no-audit --no-fund >npm.log 2>&1 || { echo "check-pages: 0 passed, 0 failed, 1 skipped: npm ci, see $build/pages/npm.log"; exit 0; }

running=
trap 'for pid in $running; do kill "$pid" 2>/dev/null || :; done; wait' EXIT
# until WORDS FILE: waits for a line of that pattern, and prints what its group matched
until_says() {
	for _ in $(seq 100); do
		said=$(sed -n "s/.*$1.*/\\1/p" "$2" | head -n 1)
		[ -z "$said" ] || { echo "$said"; return; }
		sleep 0.1
	done
	cat "$2" >&2
	return 1
}
python3 "$here/../demo/origin.py" >origin.log 2>&1 &
running="$running $!"
origin=$(until_says 'ready on [^ ]*:\([0-9]*\)' origin.log)
# With a server for it the first page shows the fleet, too
shared=
if command -v redis-server >/dev/null 2>&1; then
	redis-server --port 0 --unixsocket "$build/pages/redis" --save '' >redis.log 2>&1 &
	running="$running $!"
	shared="--cache-redis $build/pages/redis"
	"$build/utfeed" serve --listen 127.0.0.1:0 $shared >access-other.log 2>utfeed-other.log &
	running="$running $!"
fi
"$build/utfeed" serve --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 $shared --route "/=http://127.0.0.1:$origin" >access.log 2>utfeed.log &
running="$running $!"
port=$(until_says 'ready on 127\.0\.0\.1:\([0-9]*\)' utfeed.log)
admin=$(until_says 'admin listener on 127\.0\.0\.1:\([0-9]*\)' utfeed.log)
curl -s -o /dev/null "http://127.0.0.1:$port/russian.xml?feed[1-5000]"
curl -s -o /dev/null "http://127.0.0.1:$port/nothing.xml?[1-10]"
curl -s -o purged.txt -X PURGE "http://127.0.0.1:$port/russian.xml"
curl -s -o russian.xml "http://127.0.0.1:$origin/russian.xml"
node check.js "http://127.0.0.1:$admin" "$build/pages/russian.xml" ${pictures:+"$pictures"}
