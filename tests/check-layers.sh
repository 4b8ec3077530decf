#!/bin/sh
# Includes go upward in the tables of core/README and proxy/README only: a folder may include itself and those above it, proxy/ all of
# conf/ and core/, conf/ all of core/. Every source stands in a folder of its table and in an include.am; headers make no circle.
# No other file than those in home[] names a member of a private struct.
# usage: check-layers.sh [ROOT]
cd "${1:-${UTFEED_SRCDIR:-$(dirname "$0")/..}}" || exit 1
exec awk '
BEGIN {
	tops["core"] = 1
	tops["conf"] = 2
	tops["proxy"] = 3
	for (top in tops) {
		read_table(top)
		read_list(top)
	}
	read_list("tests")
	# One file at most includes each of these; what ends in / is a folder
	split("iconv.h llhttp.h ares.h zlib.h isa-l/ libdeflate.h expat.h brotli/decode.h zstd.h lmdb.h idn2.h libpsl.h openssl/ nghttp2/ hiredis/ crypt.h argon2.h", names, " ")
	for (i in names) once[names[i]] = 1
	named["iconv.h"] = "core/decode/decoder_iconv.c"
	home["answer"] = "^proxy/answer/"
	home["lookup"] = "^proxy/answer/lookup"
	# What a pure library has no use for
	impure = "^(event2/|event\\.h|sys/socket\\.h|netinet/|arpa/|netdb\\.h|fcntl\\.h|unistd\\.h|sys/stat\\.h|time\\.h|sys/time\\.h|poll\\.h|sys/epoll\\.h|syslog\\.h|signal\\.h|zlib\\.h|isa-l/|libdeflate\\.h|llhttp\\.h|ares\\.h)"
	while (("find core conf proxy -name \"*.[ch]\" -o -name \"*.def\" | LC_ALL=C sort" | getline file) > 0) read_source(file)
	cycles()
	if (!files) bad("no source files found")
	printf "check-layers: %d files, %d includes, %d %s\n", files, includes, faults, faults == 1 ? "fault" : "faults"
	exit faults ? 1 : 0
}
function bad(text) { print "check-layers: " text; faults++ }
# Rows of the table of folders, which begin their lines: | name | sentence |
function read_table(top,    file, line, cells) {
	file = top "/README"
	while ((getline line < file) > 0)
		if (line ~ /^\|/ && split(line, cells, /[ \t]*\|[ \t]*/) >= 4 && cells[2] ~ /^[a-z_]+$/ && cells[2] != "folder") rank[top "/" cells[2]] = ++ranks[top]
	close(file)
}
function read_list(top,    line) {
	while ((getline line < (top "/include.am")) > 0) lists = lists " " line
	lists = lists " "
}
function top_of(file) { sub(/\/.*/, "", file); return file }
function folder_of(file) { sub(/\/[^\/]*$/, "", file); return file }
function read_source(file,    line, text, number) {
	files++
	if (index(lists, " " file " ") == 0) bad(file ": is not listed in an include.am")
	if (ranks[top_of(file)] && !(folder_of(file) in rank)) { bad(file ": stands in no folder of " top_of(file) "/README"); return }
	for (text in home) named_in[text] = "[.>]" text
	while ((getline line < file) > 0) {
		number++
		if (rank[folder_of(file)] >= rank["proxy/answer"] && file ~ /^proxy/) members(file, number, line)
		if (line !~ /^[ \t]*#[ \t]*include[ \t]*["<]/) continue
		includes++
		text = line
		sub(/^[ \t]*#[ \t]*include[ \t]*/, "", text)
		if (text ~ /^</) system_header(file, number, substr(text, 2, index(text, ">") - 2))
		else own_header(file, number, substr(text, 2, index(substr(text, 2), "\"") - 1))
	}
	close(file)
}
# Members of what is named like a private struct, or was declared as one in this file
function members(file, number, line,    private, rest) {
	for (private in home) {
		if (file ~ home[private]) continue
		if (match(line, "struct " private " \\*?[a-z_]+")) {
			rest = substr(line, RSTART, RLENGTH)
			sub(/.*[ *]/, "", rest)
			named_in[private] = named_in[private] "|(^|[^a-z_.>])" rest
		}
		if (line ~ "(" named_in[private] ")(\\.|->)[a-z_]") bad(file ":" number ": names a member of struct " private)
	}
}
function system_header(file, number, name,    key) {
	if (file ~ /^core\// && name ~ impure) bad(file ":" number ": core/ is pure, <" name "> is not for it")
	key = name
	if (!(key in once)) { sub(/\/.*/, "/", key); if (!(key in once)) return }
	if (key in named && file != named[key]) bad(file ":" number ": <" name "> belongs to " named[key])
	else if (key in owner && owner[key] != file) bad(file ":" number ": <" name "> belongs to one file, and " owner[key] " has it")
	owner[key] = file
}
function own_header(file, number, target,    from, to) {
	if ((getline from < target) < 0) { bad(file ":" number ": \"" target "\" is no file; write its path from the top folder"); return }
	close(target)
	if (!(top_of(target) in tops)) { bad(file ":" number ": \"" target "\" is outside core, conf and proxy"); return }
	if (tops[top_of(target)] > tops[top_of(file)]) bad(file ":" number ": \"" target "\" lies in a higher part")
	from = folder_of(file)
	to = folder_of(target)
	if (top_of(file) == top_of(target) && rank[to] > rank[from]) bad(file ":" number ": \"" target "\" stands below " from " in " top_of(file) "/README")
	if (file ~ /\.h$/ && target ~ /\.h$/) edges = edges " " file " " target "\n"
}
function cycles(    line, command, text) {
	if (edges == "") return
	command = "tsort 2>&1 >/dev/null <<END\n" edges "END\n"
	while ((command | getline line) > 0) text = text " " line
	close(command)
	if (text != "") bad("headers include each other:" text)
}
'
