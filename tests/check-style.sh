#!/bin/sh
# The dialect of core, conf and proxy as far as a line tells it (.clang-format has the rest): tabs of eight, at most 120 columns and
# 500 lines a file, where blanks and braces stand. A name means one thing: a profile and a breakpoint tell static functions apart, from
# extern ones too, a tag of a struct belongs to one file, and a one-letter pointer is of the type that LETTERS in proxy/README gives it.
# The functions that proxy/README names exist.
# The rows of a .def may be longer: scripts read one a line.
# usage: check-style.sh [ROOT]
cd "${1:-${UTFEED_SRCDIR:-$(dirname "$0")/..}}" || exit 1
find core conf proxy -name '*.[ch]' -o -name '*.def' | LC_ALL=C sort | LC_ALL=C.UTF-8 xargs awk '
BEGIN {
	columns = 120
	lines = 500
	# folders whose letters are not given types yet
	unlettered = "^$"
	while ((getline line <"proxy/README") > 0) {
		if (line ~ /^[A-Z ]+$/) in_letters = line == "LETTERS"
		if (in_letters && split(line, cells, / *\| */) == 4 && length(cells[2]) == 1) letters[cells[2]] = cells[3]
		while (match(line, /[a-z0-9]+_[a-z_0-9]+\(\)/)) {
			told[substr(line, RSTART, RLENGTH - 2)] = 1
			line = substr(line, RSTART + RLENGTH)
		}
	}
}
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
function own(name, is_static) {
	if ((name in where) && where[name] != FILENAME && (is_static || statics[name])) bad("static " name "() is also one of " where[name])
	where[name] = FILENAME
	statics[name] = is_static || statics[name]
}
# a and b are also the two of a comparison
function letters_of(code,    pair, type, letter) {
	pair = code ~ /\*a[,)= ]/ && code ~ /\*b[,)= ;]/
	while (match(code, /struct [a-z_0-9]+ \*(const )?[a-z][^a-z_0-9A-Z]/)) {
		type = substr(code, RSTART + 7, RLENGTH - 7)
		letter = substr(type, length(type) - 1, 1)
		sub(/ .*/, "", type)
		code = substr(code, RSTART + RLENGTH - 1)
		if (letters[letter] != type && !(pair && letter ~ /[ab]/)) bad("the letter " letter " is a pointer to " type ", see LETTERS in proxy/README")
	}
}
FNR == 1 { files++; commented = 0; empty = 1 }
{
	if (FNR == lines + 1 && FILENAME !~ /\.def$/) bad("has more than " lines " lines")
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
	if (code ~ /^[A-Za-z_].*\)$/ || (code ~ /^    .*\)$/ && open != "")) {
		head = code ~ /^ / ? open code : code
		open = ""
		gsub(/__attribute__\(\([^)]*(\([^)]*\))?[^)]*\)\) ?/, "", head)
		if (FILENAME ~ /\.c$/ && head ~ /^[a-z]/ && match(head, /[a-z_0-9]+\(/)) own(substr(head, RSTART, RLENGTH - 1), head ~ /^static /)
	} else if (code ~ /^[A-Za-z_][^=;{]*\(/ && code ~ /,$/) {
		open = code
	} else if (open != "" && code ~ /^    .*,$/) {
		open = open code
	} else {
		open = ""
	}
	if (match(code, /^\t*((static|const|typedef) )*(struct|union|enum) [a-z_0-9]+ \{/) || match(code, /^(LIST|TAILQ|STAILQ|SLIST)_HEAD\([a-z_0-9]+,/)) {
		tag = substr(code, RSTART, RLENGTH)
		gsub(/^.*(struct|union|enum) |^.*\(| \{$|,$/, "", tag)
		if ((tag in tags) && tags[tag] != FILENAME) bad("the tag " tag " is also one of " tags[tag])
		tags[tag] = FILENAME
	}
	if (FILENAME ~ /^proxy\// && FILENAME !~ unlettered) letters_of(code)
	if (code != "") last = code
}
END {
	if (!files) bad("no source files found")
	for (name in told)
		if (!(name in where)) { print "check-style: proxy/README: " name "() is no function"; faults++ }
	printf "check-style: %d files, %d %s\n", files, faults, faults == 1 ? "fault" : "faults"
	exit faults ? 1 : 0
}'
