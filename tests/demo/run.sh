#!/bin/sh
# The demonstration: a publisher of mislabelled feeds and utfeed in front of it, both left running. README's commands are for it.
# usage: run.sh BUILD-FOLDER [stop]     What was started is noted in BUILD-FOLDER/demo.pids; only that is ever ended.
# UTFEED_DEMO_PORT, UTFEED_DEMO_ORIGIN_PORT, UTFEED_DEMO_ADMIN_PORT: where to look for free ports, from 8080, 8100 and 9180 on
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shown=$1
pids=$build/demo.pids
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

origin_port=$(free_port "${UTFEED_DEMO_ORIGIN_PORT:-8100}")
start origin 'ready on' python3 "$here/origin.py" --listen "127.0.0.1:$origin_port"
port=$(free_port "${UTFEED_DEMO_PORT:-8080}")
admin_port=$(free_port "${UTFEED_DEMO_ADMIN_PORT:-9180}")
# Clients may name the publisher as they name others, although its address is a private one
echo "127.0.0.1 feeds.example" >"$build/demo-hosts"
start utfeed 'ready on' "$build/utfeed" serve --listen "127.0.0.1:$port" --admin-listen "127.0.0.1:$admin_port" \
	--route "/demo/=http://127.0.0.1:$origin_port/" --hosts-file "$build/demo-hosts" --allow "feeds.example:$origin_port,127.0.0.1:$origin_port"
origin=http://127.0.0.1:$origin_port
proxy=http://127.0.0.1:$port

echo "demo: origin $origin, utfeed $proxy"
status=0
python3 -B "$here/show.py" "$origin" "$proxy/demo" || status=1
cat <<TEXT

Both are left running. The publisher's own feed, and the same through utfeed:
  curl -i $origin/russian.xml
  curl -i $proxy/demo/russian.xml
The same for any feed, by its URL behind the slash (utfeed's page: $proxy/) or by the proxy setting:
  curl -i $proxy/http://feeds.example:$origin_port/russian.xml
  curl -i -x $proxy http://feeds.example:$origin_port/russian.xml
A page that is not a feed passes untouched. Another policy decides otherwise:
  curl -i $proxy/demo/page.html
  curl -i -H 'X-Encoding-Policy: rome-strict' $proxy/demo/bulgarian.xml
What is wrong with a feed, and what each policy says of it:
  $shown/utfeed check --explain $origin/russian.xml
The access log is $shown/demo-utfeed.log. To end both:
  ./bootstrap stop
What utfeed knows of these feeds, and a form that checks a feed, for your browser:
  http://127.0.0.1:$admin_port/
TEXT
exit "$status"
