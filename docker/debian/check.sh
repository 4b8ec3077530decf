#!/bin/sh
# The Debian package from its source to its purge, in chroots of releases that debootstrap makes: built there, seen by lintian (errors fail),
# installed, run as its user with the demonstration's feeds, upgraded with a changed configuration kept, purged; what the purge leaves
# behind is compared with what was there before. Needs root, debootstrap, python3 and apt's mirror. Bases are made once, in FOLDER.
# There is no systemd in a chroot: the unit is judged by systemd-analyze where the host has it.
# usage: check.sh TARBALL FOLDER [bookworm|trixie...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
tarball=$(realpath "$1")
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
passed=0
failed=0
origin=
server=
bad() { echo "check: $release: $*"; failed=$((failed + 1)); }
good() { passed=$((passed + 1)); }
# holds WORDS COMMAND...: the command succeeds
holds() {
	words=$1
	shift
	if "$@" >>"$log" 2>&1; then good; else bad "$words"; fi
}
ended() {
	# What this script started, and nothing else
	for process in $server $origin; do kill "$process" 2>/dev/null && wait "$process" || :; done
	server= origin=
}
trap ended EXIT

# enter ROOT COMMAND...: this process becomes the command, with a /proc of its own that goes with it
enter() {
	into=$1
	shift
	exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root \
		unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$into" "$@"
}
inside() { (enter "$@"); }
install_in() { inside "$1" apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-confold "$2"; }

base() {
	[ ! -f "$folder/$release.tar" ] || return 0
	rm -rf "$folder/$release"
	debootstrap --variant=minbase "$release" "$folder/$release" "$mirror"
	tar -cf "$folder/$release.tmp" -C "$folder/$release" . && mv "$folder/$release.tmp" "$folder/$release.tar"
}
# fresh NAME: a new chroot of the release
fresh() {
	rm -rf "${folder:?}/$1"
	mkdir "$folder/$1"
	tar -xf "$folder/$release.tar" -C "$folder/$1"
	printf '#!/bin/sh\nexit 101\n' >"$folder/$1/usr/sbin/policy-rc.d"
	chmod 755 "$folder/$1/usr/sbin/policy-rc.d"
	cp /etc/resolv.conf "$folder/$1/etc/resolv.conf"
	inside "$folder/$1" apt-get update
}

# The build's own folder in the chroot has the sources that a build needs and nothing of this machine. Who asks whether it was built
# takes -e away (sh), so it says so itself
built() {
	fresh "$release-build"
	building=$folder/$release-build
	mkdir -p "$building/src" "$building/out"
	cp "$tarball" "$building/src/"
	cp -R "$here" "$building/src/debian"
	inside "$building" apt-get install -y --no-install-recommends dpkg-dev xz-utils lintian
	inside "$building" sh -c 'mkdir /tmp/needs && cp -R /src/debian /tmp/needs/debian && apt-get build-dep -y --no-install-recommends /tmp/needs'
	inside "$building" env DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-nocheck}" \
		sh /src/debian/build.sh "/src/$(basename "$tarball")" /out ${DEB_BUILD_ARGUMENTS:--F} || return 1
	rm -rf "$folder/$release-packages"
	cp -R "$building/out" "$folder/$release-packages"
}
# The -dev package, beside the compiler that built it, builds its examples.
developed() {
	inside "$building" sh -ec 'apt-get install -y --no-install-recommends /out/libutfeed0_*.deb /out/libutfeed-dev_*.deb
		examples=/usr/share/doc/libutfeed-dev/examples
		flags=$(pkg-config --cflags --libs libutfeed)
		cc -o /tmp/push $examples/example.c $flags
		c++ -o /tmp/pull $examples/example.cpp $flags
		for program in /tmp/push /tmp/pull; do
			printf "<rss><a>\317\360\350\342\345\362</a></rss>" | $program | grep "<a>Привет</a>"
		done
		test -f /usr/share/man/man3/libutfeed.3.gz'
}
# Every file that the configuration names is installed.
named() { inside "$root" sh -ec 'for path in $(grep -o "/usr/share/[a-z./-]*[a-z]" /etc/utfeed/utfeed.conf); do test -f "$path"; done'; }
linted() { inside "$building" sh -c 'lintian --allow-root --fail-on error /out/*.changes'; }

paths() {
	find "$1" -xdev \( -path "$1/proc" -o -path "$1/var/cache/apt" -o -path "$1/var/lib/apt" -o -path "$1/var/log/apt" -o -path "$1/tmp" \) -prune -o -print |
		sed "s|^$1||" | LC_ALL=C sort
}
same_but() { diff "$folder/$release.before" "$folder/$release.after" | grep '^[<>]' | grep -vE "$1" >"$folder/$release.left" || :; [ ! -s "$folder/$release.left" ]; }

# As the unit runs it: its user, no capabilities, the file in place; a port of its own, and the demonstration behind it
served() {
	python3 -B "$top/tests/demo/origin.py" >"$folder/origin.log" &
	origin=$!
	within 'ready on' "$folder/origin.log"
	address=$(sed -n 's/^origin ready on //p' "$folder/origin.log")
	inside "$root" install -d -o utfeed -g utfeed -m 700 /var/cache/utfeed
	: >"$folder/server.log"
	enter "$root" setpriv --reuid=utfeed --regid=utfeed --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs \
		utfeed serve -c /etc/utfeed/utfeed.conf --listen 127.0.0.1:0 --cache-lmdb /var/cache/utfeed --route "/=http://$address" >"$folder/server.log" 2>&1 &
	server=$!
	within 'ready on' "$folder/server.log" || { cat "$folder/server.log"; return 1; }
	python3 -B "$top/tests/demo/show.py" "http://$address" "http://$(sed -n 's/.*ready on //p' "$folder/server.log")"
	runs_as=$(stat -c %u "/proc/$server")
	ended
	[ "$runs_as" = "$(inside "$root" id -u utfeed)" ]
}
within() {
	for _ in $(seq 100); do
		! grep -q "$1" "$2" || return 0
		sleep 0.1
	done
	return 1
}

# The same package under the next revision, with a comment more in its configuration
next_revision() {
	rm -rf "$folder/next"
	dpkg-deb -R "$1" "$folder/next"
	sed -i 's/^\(Version: .*-\)[0-9]*$/\19/' "$folder/next/DEBIAN/control"
	echo '# of a newer package' >>"$folder/next/etc/utfeed/utfeed.conf"
	dpkg-deb --root-owner-group -b "$folder/next" "$2"
}
# What docker/packages says that an installed utfeed needs, the package depends on or recommends: of each row the first that the release has.
# A build without a library that is there works as well, more slowly
needs_all() {
	named=" $(dpkg-deb -f "$package" Depends Recommends | sed 's/^[A-Za-z]*://; s/([^)]*)//g' | tr -s ',|\n' ' ') "
	for row in $(awk '$1 == "run" { print $2 }' "$top/docker/packages"); do
		for each in $(echo "$row" | tr '|' ' '); do
			inside "$root" apt-cache show "$each" 2>&1 | grep -q '^Package: ' || continue
			case $named in *" $each "*) continue 2 ;; esac
			echo "no $each in$named"
			return 1
		done
	done
}
purged() { inside "$root" dpkg --purge utfeed; }
without_config() { inside "$root" sh -c 'utfeed serve -c /etc/utfeed/utfeed.conf --check-config'; }

check() {
	release=$1
	log=$folder/$release.log
	: >"$log"
	(base && built) >>"$log" 2>&1 </dev/null || { bad "not built; see $log"; return; }
	building=$folder/$release-build
	good
	holds "lintian finds errors" linted
	holds "libutfeed-dev does not build its examples" developed
	package=$(ls "$folder/$release-packages"/utfeed_*.deb)
	root=$folder/$release-root
	fresh "$release-root" >>"$log" 2>&1
	inside "$root" apt-get satisfy -y --no-install-recommends "$(dpkg-deb -f "$package" Depends)" >>"$log" 2>&1 || bad "no dependencies"
	holds "built without a library that the release has" needs_all
	paths "$root" >"$folder/$release.before"
	cp "$package" "$root/tmp/utfeed.deb"
	next_revision "$package" "$root/tmp/next.deb" >>"$log"
	holds "not installed" install_in "$root" /tmp/utfeed.deb
	holds "its user is not there" inside "$root" id utfeed
	holds "its configuration is wrong" without_config
	holds "its configuration names a file that is not there" named
	holds "every converter is there" inside "$root" utfeed charsets
	holds "the demonstration fails" served
	holds "debsums" inside "$root" sh -c 'cd / && md5sum -c --quiet /var/lib/dpkg/info/utfeed.md5sums'
	echo '# changed by the operator' >>"$root/etc/utfeed/utfeed.conf"
	holds "not upgraded" install_in "$root" /tmp/next.deb
	holds "the upgrade took the operator's configuration" grep -q '^# changed by the operator' "$root/etc/utfeed/utfeed.conf"
	holds "the upgrade does not run" served
	install -d "$root/var/log/utfeed"
	echo line >"$root/var/log/utfeed/access.log"
	holds "not removed" inside "$root" dpkg --remove utfeed
	holds "removing took the configuration" test -f "$root/etc/utfeed/utfeed.conf"
	holds "not purged" purged
	paths "$root" >"$folder/$release.after"
	# Policy keeps the user: /etc/passwd and its like are in both lists, with what the change of them leaves
	if same_but ' /etc/(passwd|group|shadow|gshadow|subuid|subgid)-$| /etc/\.pwd\.lock$'; then good; else bad "left behind: $(cat "$folder/$release.left")"; fi
	rm -rf "$root" "$building" "$folder/next"
}

[ "$(id -u)" = 0 ] || { echo "check: chroots need root"; exit 1; }
command -v debootstrap >/dev/null || { echo "check: no debootstrap here"; exit 1; }
release=host
if command -v systemd-analyze >/dev/null; then
	log=$folder/unit.log
	: >"$log"
	holds "the unit is exposed by more than 1.5; see $log" systemd-analyze security --offline=true --threshold=15 "$here/utfeed.service"
else
	echo "check: no systemd-analyze here: the unit was not judged"
fi
[ $# -gt 0 ] || set -- bookworm trixie
for each in "$@"; do check "$each"; done
echo "check: $passed passed, $failed failed, logs in $folder"
[ "$failed" = 0 ]
