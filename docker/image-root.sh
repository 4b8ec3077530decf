#!/bin/sh
# Fills ROOT, the file system of the final image: the binary, the libraries it loads, and glibc's converters for the
# encodings of core/decode/charsets.def. usage: image-root.sh UTFEED-BINARY CHARSETS.DEF ROOT
set -eu
binary=$1
charsets=$2
root=$3
modules=$(dirname "$(find /usr/lib -name gconv-modules -type f | head -n 1)")

with_libraries() {
	for file in "$@"; do
		cp -L --parents "$file" "$root"
		ldd "$file" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p' | while read -r library; do
			[ -e "$root$library" ] || cp -L --parents "$library" "$root"
		done
	done
}

# The converter files behind the names: gconv-modules says "alias NAME// NAME//" and "module FROM// TO// FILE COST"
converters() {
	sed -n 's/^CHARSET(.*, "\([^"]*\)")$/\1/p' "$charsets" | awk '
		FNR == NR { wanted[toupper($1) "//"] = 1; next }
		$1 == "alias" { alias[$2] = $3 }
		$1 == "module" && $3 == "INTERNAL" { file[$2] = $4 }
		END {
			for (name in wanted) {
				real = name in alias ? alias[name] : name
				if (real in file) print file[real] ".so"
				else if (real !~ /^(UTF-8|UTF-16|ANSI_X3.4-1968|ISO-10646)/) { print "no converter for " name >"/dev/stderr"; missing++ }
			}
			exit missing > 0
		}' - "$modules"/gconv-modules "$modules"/gconv-modules.d/*.conf | sort -u
}

mkdir -p "$root/usr/bin" "$root/etc"
# For --cache-lmdb: a volume mounted here is its user's
install -d -o 65532 -g 65532 -m 700 "$root/var/cache/utfeed"
install -m 755 "$binary" "$root/usr/bin/utfeed"
ldd "$binary" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p' | xargs -I{} cp -L --parents {} "$root"
list=$(converters)
for converter in $list; do
	with_libraries "$modules/$converter"
done
cp --parents "$modules"/gconv-modules "$modules"/gconv-modules.d/*.conf "$root"
[ ! -f "$modules/gconv-modules.cache" ] || cp --parents "$modules/gconv-modules.cache" "$root"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
# Whom to trust for https: OpenSSL's default file
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$root$(openssl version -d | sed 's/OPENSSLDIR: "\(.*\)"/\1/')/cert.pem"
# Every library and every converter is there
chroot "$root" /usr/bin/utfeed charsets >/dev/null
