#!/bin/sh
# The root file system of the image as docker/image-root.sh makes it, run as the image runs: read-only, as 65532, without capabilities,
# with the variables and the command of docker/Dockerfile, and with a network of its own, in which the demonstration's origin is the
# other side. It is under 30 MB, is ready in under 100 ms (READY_MS), and every feed comes right. Needs root.
# usage: check-image.sh BUILD-FOLDER     make check-image
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$here/..
if [ -z "${CHECK_IMAGE_INSIDE:-}" ]; then
	build=$(cd "$1" && pwd)
	[ "$(id -u)" = 0 ] || { echo "check-image: skipped: needs root"; exit 77; }
	unshare --mount --net true 2>/dev/null || { echo "check-image: skipped: no namespaces here"; exit 77; }
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	strip -o "$work/utfeed" "$build/utfeed"
	sh "$top/docker/image-root.sh" "$work/utfeed" "$top/core/decode/charsets.def" "$work/root"
	CHECK_IMAGE_INSIDE=yes unshare --mount --net --pid --fork --kill-child sh "$0" "$work"
	exit
fi

# In namespaces of its own: what is started and mounted here goes with them
work=$1
passed=0
failed=0
bad() { echo "check-image: $*"; failed=$((failed + 1)); }
good() { passed=$((passed + 1)); }
holds() {
	words=$1
	shift
	if "$@"; then good; else bad "$words"; fi
}
python3 - <<'END'
import fcntl
import socket
import struct
# SIOCSIFFLAGS: lo is up
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 0x1))
END
mount -t proc proc /proc
mkdir "$work/cache"
chown 65532:65532 "$work/cache"
mount --bind "$work/root" "$work/root"
mount -o remount,bind,ro "$work/root"
# The volume
mount --bind "$work/cache" "$work/root/var/cache/utfeed"

# NAME=VALUE... of the image's ENV lines, its words of CMD
environment=$(awk '/^ENV / { inside = 1; sub(/^ENV /, "") } inside { more = sub(/\\$/, ""); print; inside = more }' "$top/docker/Dockerfile")
command=$(sed -n 's/^CMD \["\(.*\)"\]$/\1/p' "$top/docker/Dockerfile" | sed 's/", "/ /g')
holds "the Dockerfile has no ENV" test -n "$environment"
holds "the Dockerfile's CMD is not serve alone" test "$command" = serve

# As `docker run --read-only --cap-drop ALL utfeed ARGUMENT...`, in the background: its log is $work/log
started() {
	: >"$work/log"
	# shellcheck disable=SC2086
	env -i PATH="$PATH" $environment setpriv --no-new-privs chroot --userspec=65532:65532 --groups=65532 "$work/root" /usr/bin/utfeed "$@" >"$work/log" 2>&1 &
	utfeed=$!
	for _ in $(seq 1000); do
		! grep -q 'ready on' "$work/log" || return 0
		kill -0 "$utfeed" 2>/dev/null || break
		sleep 0.005
	done
	cat "$work/log"
	return 1
}
ended() { kill -TERM "$utfeed" && wait "$utfeed"; }
status_is() { grep -q "^$1:[[:space:]]*$2" "/proc/$utfeed/status"; }
read_only() { ! touch "$work/root/etc/new" 2>/dev/null; }
# On a busy machine the time says nothing
ready_ms=${READY_MS:-100}
milliseconds() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }
# From the start of the process to its line, the best of five
ready_in() {
	best=
	for _ in 1 2 3 4 5; do
		began=$(milliseconds)
		started serve || return 1
		took=$(($(milliseconds) - began))
		[ -n "$best" ] && [ "$best" -le "$took" ] || best=$took
		ended || return 1
	done
	[ "$best" -lt "$ready_ms" ]
}

bytes=$(du -s -B1 "$work/root" | cut -f1)
holds "the image has $bytes bytes" test "$bytes" -lt 30000000
holds "the root can be written" read_only

python3 -B "$top/tests/demo/origin.py" --listen 127.0.0.1:8100 >"$work/origin" 2>&1 &
for _ in $(seq 200); do
	! grep -q 'ready on' "$work/origin" || break
	sleep 0.05
done
# shellcheck disable=SC2086
holds "not started" started $command --route /=http://127.0.0.1:8100
holds "it is not 65532" status_is Uid 65532
holds "it has capabilities" status_is CapEff 0000000000000000
holds "the demonstration fails" python3 -B "$top/tests/demo/show.py" http://127.0.0.1:8100 http://127.0.0.1:8080
# A published port is reached from another address than loopback: of this namespace, one of lo's own
ip address add 100.64.0.9/32 dev lo 2>/dev/null && holds "not reached at 100.64.0.9" \
	curl -sf --interface 100.64.0.9 -o "$work/reached" http://100.64.0.9:8080/russian.xml
if env -i PATH="$PATH" chroot "$work/root" /usr/bin/utfeed --help | grep -q '^  healthcheck '; then
	# shellcheck disable=SC2086
	holds "healthcheck fails" env -i PATH="$PATH" $environment chroot --userspec=65532:65532 "$work/root" /usr/bin/utfeed healthcheck
else
	echo "check-image: this utfeed has no healthcheck"
fi
holds "SIGTERM does not end it with status 0" ended
holds "not started with a volume" started serve --route /=http://127.0.0.1:8100 --cache-lmdb /var/cache/utfeed
holds "nothing is stored in the volume" test -n "$(ls "$work/cache")"
holds "SIGTERM does not end it with status 0" ended
holds "not ready in $ready_ms ms" ready_in
echo "check-image: $bytes bytes, ready in ${best:-?} ms"
echo "check-image: $passed passed, $failed failed"
[ "$failed" = 0 ]
