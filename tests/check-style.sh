#!/bin/sh
# The dialect of core, conf and proxy as far as a line tells it (.clang-format has the rest): tabs of eight, at most 120 columns, where
# blanks and braces stand, and no two static functions of one name, so that a profile and a breakpoint tell them apart.
# The rows of a .def may be longer: scripts read one a line.
# usage: check-style.sh [ROOT]
cd "${1:-${UTFEED_SRCDIR:-$(dirname "$0")/..}}" || exit 1
find core conf proxy -name '*.[ch]' -o -name '*.def' | LC_ALL=C sort | LC_ALL=C.UTF-8 xargs awk '
BEGIN { columns = 120 }
function bad(text) { print "check-style: " FILENAME ":" FNR ": " text; faults++ }
function width(line,    text) {
	text = line
	while (match(text, /\t/)) text = substr(text, 1, RSTART - 1) substr("        ", 1, 8 - (RSTART - 1) % 8) substr(text, RSTART + 1)
	return length(text)
}
# The line without what stands in quotes and comments
function code_of(line) {
	gsub(/\\./, "", line)
	gsub(/"[^"]*"/, "\"\"", line)
	gsub(/\47[^\47]*\47/, "0", line)
	if (commented) {
		if (!sub(/^.*\*\//, "", line)) return ""
		commented = 0
	}
	gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", line)
	if (sub(/\/\*.*$/, "", line)) commented = 1
	return line
}
FNR == 1 { files++; commented = 0; empty = 1 }
{
	row = FILENAME ~ /\.def$/ && /^[A-Z_0-9]+\(/
	if (!row && width($0) > columns) bad("has " width($0) " columns, at most " columns)
	if (/[ \t\r]$/) bad("ends in a blank")
	if (/^\t* +\t/) bad("a tab behind blanks")
	if (/^$/ && empty) bad("an empty line too many")
	empty = /^$/
	in_comment = commented
	code = code_of($0)
	if (!in_comment && code ~ /^        /) bad("indented by blanks")
	if (code ~ /\/\//) bad("a comment of //")
	if (code ~ /(^|[^A-Za-z0-9_])(if|for|while|switch|return)\(/) bad("no blank between keyword and parenthesis")
	if (code ~ /\)\{/ && code !~ /\([A-Za-z_0-9 *]+(\[[^]]*\])?\)\{/) bad("no blank before a brace")
	if (code ~ /^[a-z].*\) \{$/ && code !~ /=/) bad("the brace of a function stands on a line of its own")
	if (code ~ /^\t+\{$/ && last ~ /\)$/ && last ~ /^\t+(if|for|while|switch) /) bad("the brace of a statement stands behind it")
	if (code ~ /^\t*else( |$)/ && last ~ /^\t*\}$/) bad("else stands behind its brace")
	if (code ~ /^static .*\)$/ || (code ~ /^    .*\)$/ && open != "")) {
		head = open code
		open = ""
		if (match(head, /[a-z_0-9]+\(/)) {
			sub(/__attribute__\(\([^)]*(\([^)]*\))?[^)]*\)\) /, "", head)
			match(head, /[a-z_0-9]+\(/)
			name = substr(head, RSTART, RLENGTH - 1)
			if (FILENAME ~ /\.c$/ && (name in where) && where[name] != FILENAME) bad("static " name "() is also one of " where[name])
			if (FILENAME ~ /\.c$/) where[name] = FILENAME
		}
	} else if (code ~ /^static [^=;{]*\(/ && code ~ /,$/) {
		open = code
	} else if (open != "" && code ~ /^    .*,$/) {
		open = open code
	} else {
		open = ""
	}
	if (code != "") last = code
}
END {
	if (!files) bad("no source files found")
	printf "check-style: %d files, %d %s\n", files, faults, faults == 1 ? "fault" : "faults"
	exit faults ? 1 : 0
}'
