#!/bin/sh
# Builds the Debian package of a distribution tarball: unpacks it, copies this folder into place as debian/ and runs dpkg-buildpackage.
# Packages that the build needs are not installed here; dpkg-buildpackage names them.
# usage: build.sh TARBALL FOLDER [DPKG-BUILDPACKAGE-ARGUMENT...]     packages are left in FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tarball=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
shift 2
command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null || { echo "build.sh: no dpkg-buildpackage or debhelper here" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=$(basename "$tarball" .tar.xz)
version=${name#utfeed-}
packaged=$(sed -n '1s/.*(\(.*\)-[^-]*).*/\1/p' "$here/changelog")
[ "$packaged" = "$version" ] || { echo "build.sh: docker/debian/changelog is of $packaged, the tarball of $version" >&2; exit 1; }
cp "$tarball" "$work/utfeed_$version.orig.tar.xz"
tar -xf "$tarball" -C "$work"
cp -R "$here" "$work/$name/debian"
rm "$work/$name/debian/build.sh" "$work/$name/debian/check.sh"
(cd "$work/$name" && dpkg-buildpackage -us -uc "${@:--b}")
find "$work" -maxdepth 1 -type f -exec cp {} "$out/" \;
