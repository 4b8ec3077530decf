#!/bin/sh
# The demonstration: an origin with mislabelled feeds, utfeed in front of it, left running.
# usage: run.sh BUILD-FOLDER [stop]     What was started is noted in BUILD-FOLDER/demo.pids; only that is ever ended.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
pids=$build/demo.pids
first_port=${UTFEED_DEMO_PORT:-8080}
export no_proxy=127.0.0.1        # all of it is on this machine

# A process is told from a later one with the same number by its start time; a zombie has ended
started_at() { sed -n 's/.*) \([^Z]\)/\1/p' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

stop_started() {
	[ -f "$pids" ] || return 0
	while read -r name pid start; do
		[ "$(started_at "$pid")" = "$start" ] || continue
		echo "demo: ending $name of before (process $pid)"
		kill "$pid"
		waited=0
		while [ "$(started_at "$pid")" = "$start" ] && [ "$waited" -lt 100 ]; do
			sleep 0.1
			waited=$((waited + 1))
		done
		[ "$(started_at "$pid")" != "$start" ] || { echo "demo: process $pid does not end" >&2; exit 1; }
	done <"$pids"
	rm -f "$pids"
}

# start NAME READY-PATTERN COMMAND...: waits for the line that says it is ready
start() {
	name=$1
	pattern=$2
	shift 2
	log=$build/demo-$name.log
	: >"$log"
	setsid nohup "$@" >>"$log" 2>&1 </dev/null &
	pid=$!
	echo "$name $pid $(started_at "$pid")" >>"$pids"
	waited=0
	until grep -q "$pattern" "$log"; do
		if [ "$waited" -ge 100 ] || ! kill -0 "$pid" 2>/dev/null; then
			echo "demo: $name did not start:" >&2
			cat "$log" >&2
			exit 1
		fi
		sleep 0.1
		waited=$((waited + 1))
	done
}

free_port() {
	python3 -c '
import socket, sys
for port in range(int(sys.argv[1]), int(sys.argv[1]) + 100):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        print(port)
        break
else:
    sys.exit("no free port")' "$1"
}

stop_started
[ "${2:-}" != stop ] || exit 0

start origin 'ready on' python3 "$here/origin.py" --listen 127.0.0.1:0
origin=http://$(sed -n 's/^origin ready on //p' "$build/demo-origin.log")
port=$(free_port "$first_port")
start utfeed 'ready on' "$build/utfeed" serve --listen "127.0.0.1:$port" --route "/=$origin"
proxy=http://127.0.0.1:$port

echo "demo: origin $origin, utfeed $proxy"
sample=$build/demo-russian.xml
curl -s -o "$sample" "$origin/russian.xml"
status=0
python3 -B "$here/show.py" "$origin" "$proxy" || status=1
cat <<TEXT

utfeed is left running, with its access log in $build/demo-utfeed.log. Try:
  curl -i $proxy/russian.xml
  curl -i $proxy/japanese.xml
A page that is no feed passes untouched; another policy decides otherwise; every policy's verdict on a file:
  curl -i $proxy/page.html
  curl -i -H 'X-Encoding-Policy: rome-strict' $proxy/bulgarian.xml
  $build/utfeed check -t 'application/rss+xml; charset=iso-8859-1' $sample
To end it:
  ./bootstrap stop
TEXT
exit "$status"
