#!/bin/sh
# Includes go downward only (DESIGN.md section 4). A new file of proxy/ gets its layer in the table below, or this fails.
cd "${UTFEED_SRCDIR:-$(dirname "$0")/..}" || exit 1
exec awk '
BEGIN {
	# Layers of proxy/, by file name without suffix; * at the end stands for any rest
	layer_row(20, "owner slice sf_dict http_date log descriptors loop gather splice pages stats clock json text hash eviction url_mask")
	layer_row(21, "listener conn* tls_* dns* eyeballs http_msg http_parse headers max_forwards freshness cache_control storable conditional content_range vary cache_status head_text proxy_status etag destination redirect target requester served_host proxy_protocol wellformed codec* stage stage_*")
	layer_row(22, "audience access sender sender_gzip object object_* entry entry_pack stage_normalise response_head feed_hints store* cache gzip_form tunnel")
	layer_row(23, "resolve* guard special_addresses origin parent parent_tunnel pool polite settings fetch*")
	layer_row(24, "client* request answer answer_* lead lead_* invalidate purge upstream access admin greeting")
	layer_row(25, "listener worker server main cmd cmd_* check_report")
	layer_row(20, "backlog budget memory_limit")
	layer_row(21, "crowd")
	# One file at most includes each of these
	split("iconv.h llhttp.h ares.h zlib.h expat.h brotli/decode.h zstd.h lmdb.h idn2.h", names, " ")
	for (i in names) once[names[i]] = 1
	folder_once["uchardet"] = folder_once["openssl"] = folder_once["hiredis"] = 1
	named["iconv.h"] = "core/decoder_iconv.c"
	named["uchardet"] = "core/detector.c"
	# What a pure library has no use for
	impure = "^(event2/|event\\.h|sys/socket\\.h|netinet/|arpa/|netdb\\.h|fcntl\\.h|unistd\\.h|sys/stat\\.h|time\\.h|sys/time\\.h|poll\\.h|sys/epoll\\.h|syslog\\.h|signal\\.h|zlib\\.h|llhttp\\.h|ares\\.h)"
	# Pairs that never meet
	apart["client fetch"] = apart["fetch client"] = 1
	while (("ls core/*.[ch] core/*.def conf/*.[ch] conf/*.def proxy/*.[ch] proxy/*.def 2>/dev/null" | getline file) > 0) read(file)
	cycles()
	if (!files) bad("no source files found")
	printf "check-layers: %d files, %d includes, %d %s\n", files, includes, faults, faults == 1 ? "fault" : "faults"
	exit faults ? 1 : 0
}
function bad(text) { print "check-layers: " text; faults++ }
function layer_row(layer, list,    parts, i) { split(list, parts, " "); for (i in parts) layers[parts[i]] = layer }
function stem(file) { sub(/.*\//, "", file); sub(/\.[^.]*$/, "", file); return file }
function part_of(file) { file = stem(file); sub(/_.*/, "", file); return file }
function layer_of(file,    name, pattern, prefix, best) {
	if (file ~ /^core\//) return 1
	if (file ~ /^conf\//) return 10
	name = stem(file)
	if (name in layers) return layers[name]
	best = ""
	for (pattern in layers) {
		if (pattern !~ /\*$/) continue
		prefix = substr(pattern, 1, length(pattern) - 1)
		if (index(name, prefix) == 1 && length(prefix) > length(best)) best = prefix
	}
	return best == "" ? 0 : layers[best "*"]
}
function listed(file,    folder, line) {
	folder = file
	sub(/\/.*/, "", folder)
	if (!(folder in lists)) {
		lists[folder] = " "
		while ((getline line < (folder "/include.am")) > 0) lists[folder] = lists[folder] line " "
	}
	return lists[folder]
}
function read(file,    line, text, number, mine) {
	files++
	if (index(listed(file), " " file " ") == 0) bad(file ": not listed in its folder\047s include.am")
	mine = layer_of(file)
	if (!mine) { bad(file ": has no layer; give it one in tests/check-layers.sh"); return }
	while ((getline line < file) > 0) {
		number++
		if (line !~ /^[ \t]*#[ \t]*include[ \t]*["<]/) continue
		includes++
		text = line
		sub(/^[ \t]*#[ \t]*include[ \t]*/, "", text)
		if (text ~ /^</) system_header(file, number, substr(text, 2, index(text, ">") - 2))
		else own_header(file, number, mine, substr(text, 2, index(substr(text, 2), "\"") - 1))
	}
	close(file)
}
function system_header(file, number, name,    key) {
	if (file ~ /^core\// && name ~ impure) bad(file ":" number ": core/ is pure, <" name "> is not for it")
	key = name
	if (!(key in once)) { sub(/\/.*/, "", key); if (!(key in folder_once)) return }
	if (key in named && file != named[key]) bad(file ":" number ": <" name "> belongs to " named[key])
	else if (key in owner && owner[key] != file) bad(file ":" number ": <" name "> belongs to one file, and " owner[key] " has it")
	owner[key] = file
}
function own_header(file, number, mine, name,    folder, target, theirs, from, to) {
	folder = file
	sub(/\/.*/, "", folder)
	target = name
	sub(/^\.\.\//, "", target)
	if (target !~ /\//) target = folder "/" target
	if (target !~ /^(core|conf|proxy)\//) { bad(file ":" number ": \"" name "\" is outside core, conf and proxy"); return }
	theirs = layer_of(target)
	if (!theirs) { bad(file ":" number ": \"" name "\" has no layer"); return }
	if (theirs > mine) bad(file ":" number ": \"" name "\" lies above (" theirs " > " mine ")")
	from = part_of(file)
	to = part_of(target)
	if ((from " " to) in apart) bad(file ":" number ": " from " and " to " meet at object only")
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
