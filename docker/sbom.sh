#!/bin/sh
# The bill of materials of a built utfeed, as SPDX 2.3 in JSON on standard output: the program with its hash, the packages of the libraries
# that it loads (from dpkg; where there is no dpkg, from pkg-config what configure asked for), and llhttp where it was compiled in.
# The same program on the same system has the same bill, with SOURCE_DATE_EPOCH also by the byte.
# usage: sbom.sh UTFEED-BINARY VERSION LLHTTP-SOURCE [MODULE...]     LLHTTP-SOURCE: its file, or nothing; modules: names for pkg-config
set -eu
export LC_ALL=C
binary=$1
version=$2
llhttp=$3
shift 3
hash=$(sha256sum "$binary" | cut -c 1-64)
created=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)
distribution=$(. /etc/os-release 2>/dev/null && echo "${ID:-linux} ${VERSION_CODENAME:-}" || echo linux)

# The packages that files are of, one a line. dpkg names a file as it was unpacked: below /lib or below /usr/lib
owners_of() {
	for file in "$@"; do
		real=$(realpath "$file")
		printf '%s\n' "$file" "/usr$file" "${file#/usr}" "$real" "/usr$real" "${real#/usr}"
	done | sort -u | xargs dpkg-query -S 2>/dev/null | sed 's/: .*//' | sort -u
}
libraries() { ldd "$binary" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p'; }

# Rows: name, version, architecture, how it is linked
# as_linked HOW PACKAGE...: without a package there is nothing to say
as_linked() {
	how=$1
	shift
	[ $# = 0 ] || dpkg-query -W -f "\${Package} \${Version} \${Architecture} $how\n" "$@"
}
# shellcheck disable=SC2046
from_dpkg() {
	as_linked DYNAMIC_LINK $(owners_of $(libraries))
	[ -n "$llhttp" ] || return 0
	owner=$(owners_of "$llhttp")
	if [ -n "$owner" ]; then as_linked STATIC_LINK "$owner"; else echo "llhttp NOASSERTION - STATIC_LINK"; fi
}
from_pkg_config() {
	for module in "$@"; do
		! found=$(pkg-config --modversion "$module" 2>/dev/null) || echo "$module $found - DYNAMIC_LINK"
	done
	[ -z "$llhttp" ] || echo "llhttp NOASSERTION - STATIC_LINK"
}

{ if command -v dpkg-query >/dev/null 2>&1; then from_dpkg; else from_pkg_config "$@"; fi; } | sort -u |
	awk -v version="$version" -v hash="$hash" -v created="$created" -v distribution="$distribution" '
	function id(name) { gsub(/[^A-Za-z0-9.-]/, "-", name); return "SPDXRef-Package-" name }
	function escaped(text) { gsub(/\+/, "%2B", text); gsub(/:/, "%3A", text); return text }
	function package(name, version, more) {
		printf "%s\n    {\n      \"SPDXID\": \"%s\",\n      \"name\": \"%s\",\n      \"versionInfo\": \"%s\",\n", separator, id(name), name, version
		printf "      \"downloadLocation\": \"NOASSERTION\",\n      \"filesAnalyzed\": false,\n%s", more
		printf "      \"licenseConcluded\": \"NOASSERTION\",\n      \"copyrightText\": \"NOASSERTION\"\n    }"
		separator = ","
	}
	function relation(from, how, to) {
		printf "%s\n    { \"spdxElementId\": \"%s\", \"relationshipType\": \"%s\", \"relatedSpdxElement\": \"%s\" }", separator, from, how, to
		separator = ","
	}
	{ count++; name[count] = $1; number[count] = $2; machine[count] = $3; how[count] = $4 }
	END {
		if (!count) { print "sbom: no package found" >"/dev/stderr"; exit 1 }
		split(distribution, system_is, " ")
		print "{\n  \"spdxVersion\": \"SPDX-2.3\",\n  \"dataLicense\": \"CC0-1.0\",\n  \"SPDXID\": \"SPDXRef-DOCUMENT\","
		printf "  \"name\": \"utfeed-%s\",\n  \"documentNamespace\": \"https://utfeed.invalid/spdx/utfeed-%s-%s\",\n", version, version, hash
		printf "  \"creationInfo\": {\n    \"created\": \"%s\",\n    \"creators\": [\"Tool: utfeed-sbom-%s\"]\n  },\n", created, version
		printf "  \"packages\": ["
		package("utfeed", version, "      \"primaryPackagePurpose\": \"APPLICATION\",\n      \"licenseDeclared\": \"NONE\",\n" \
			"      \"checksums\": [{ \"algorithm\": \"SHA256\", \"checksumValue\": \"" hash "\" }],\n")
		for (i = 1; i <= count; i++) {
			locator = machine[i] == "-" ? "pkg:generic/" name[i] "@" escaped(number[i]) : "pkg:deb/" system_is[1] "/" name[i] "@" escaped(number[i]) \
				"?arch=" machine[i] (system_is[2] == "" ? "" : "&distro=" system_is[2])
			package(name[i], number[i], "      \"primaryPackagePurpose\": \"LIBRARY\",\n      \"licenseDeclared\": \"NOASSERTION\",\n" \
				"      \"externalRefs\": [{ \"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\", \"referenceLocator\": \"" locator "\" }],\n")
		}
		printf "\n  ],\n  \"relationships\": ["
		separator = ""
		relation("SPDXRef-DOCUMENT", "DESCRIBES", id("utfeed"))
		for (i = 1; i <= count; i++) relation(id("utfeed"), how[i], id(name[i]))
		print "\n  ]\n}"
	}'
