#!/bin/sh
# The manuals say what the tables of core/ and proxy/ say: a row that is added to a table or deleted from it fails here.
# Between two comment lines of a manual, .\" table: NAME and .\" end of table, stands either text that is generated from the table
# (written by --update), or a list written by hand whose items, .It Li NAME, are held against the table's names.
# usage: check-manuals.sh [--update]
cd "${UTFEED_SRCDIR:-$(dirname "$0")/..}" || exit 1
export LC_ALL=C
manuals="$(sed -n 's/^dist_man_MANS += *//p' conf/include.am) core/library/libutfeed.3"
passed=0
failed=0
bad() { echo "check-manuals: $*"; failed=$((failed + 1)); }
good() { passed=$((passed + 1)); }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# The one file of that name, in whatever folder it lives
file_of() { find core conf proxy -name "$1" -type f | sort | head -n 1; }

# Rows of a .def as "MACRO<tab>argument<tab>argument...", texts without their quotes
cat >"$work/rows.awk" <<'AWK'
function put(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); out = out "\t" text }
function row(line,    i, c, quoted, text, depth) {
	out = substr(line, 1, index(line, "(") - 1)
	text = ""
	for (i = index(line, "(") + 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		if (quoted && c == "\\") { i++; text = text substr(line, i, 1) }
		else if (c == "\"") quoted = !quoted
		else if (!quoted && c == ",") { put(text); text = "" }
		else if (!quoted && c == ")" && !depth) { put(text); print out; return 1 }
		else { text = text c; if (!quoted) depth += c == "(" ? 1 : c == ")" ? -1 : 0 }
	}
	return 0
}
held != "" { held = held " " $0; if (row(held)) held = ""; next }
/^[A-Z][A-Z0-9]*\(/ { if (!row($0)) held = $0 }
AWK
rows() { awk -f "$work/rows.awk" "$1"; }

# Running text as mandoc -Tlint wants it: short lines, each sentence on its own
cat >"$work/text.awk" <<'AWK'
function say(text,    words, n, i, line) {
	n = split(text, words, " ")
	for (i = 1; i <= n; i++) {
		if (line != "" && length(line) + length(words[i]) > 76) { print line; line = "" }
		line = line == "" ? (words[i] ~ /^[.']/ ? "\\&" : "") words[i] : line " " words[i]
		if (words[i] ~ /[^.][.?]$/ && i < n) { print line; line = "" }
	}
	if (line != "") print line
}
# A list too long for a sentence, and a table of two columns, as they stand: behind four blanks
function wrapped(first, indent, text, most,    words, n, i, line) {
	n = split(text, words, " ")
	line = first
	for (i = 1; i <= n; i++) {
		if (length(line) + length(words[i]) >= most && line != first) { print line; line = indent words[i] }
		else line = line (line == first ? "" : " ") words[i]
	}
	print line
}
function listed(text) { print ".Bd -unfilled -compact"; wrapped("    ", "    ", text, 66); print ".Ed" }
function columns(name, text) { wrapped(sprintf("    %-17s ", name), sprintf("%22s", ""), text, 78) }
function sentence(text) { say(toupper(substr(text, 1, 1)) substr(text, 2) (text ~ /[.]$/ ? "" : ".")) }
BEGIN { FS = "\t" }
AWK
generate() { awk "$(cat "$work/text.awk")
$1"; }

make_stats() { rows "$1" | generate '{ print ".It Li " ($1 == "ROUTE" ? "route.NAME." : "") $3 ($1 == "HISTOGRAM" ? " (histogram)" : ""); sentence($4) }'; }
make_failures() { rows "$1" | generate '{ print ".It Li " $3 " , " $4; sentence($5) }'; }
make_labels() {
	{ rows "$(file_of charsets.def)"; rows "$1"; } | generate '
		$1 == "CHARSET" { name[++n] = $3; id[n] = $2 }
		$1 == "LABEL" || $1 == "LITERAL" { of[$3] = of[$3] (of[$3] == "" ? "" : ", ") $2 }
		$1 == "ASCII" { of["WINDOWS_1252"] = of["WINDOWS_1252"] (of["WINDOWS_1252"] == "" ? "" : ", ") $2 }
		BEGIN { print ".Bd -unfilled" }
		END { for (i = 1; i <= n; i++) columns(name[i], of[id[i]]); print ".Ed" }'
}
# Codes that mean something else than iconv says: * under labels of the narrower set alone, + by iconv's age
make_codes() {
	{ rows "$(file_of charsets.def)"; rows "$1"; } | generate '
		function points(text,    n, part, i, out) {
			if (text !~ /^uu/) return "U+00" toupper(substr(text, 3))
			n = split(substr(text, 2), part, "u")
			for (i = 2; i <= n; i++) out = out (i > 2 ? " " : "") "U+" part[i]
			return out
		}
		$1 == "CHARSET" { name[$2] = $3; next }
		{
			if (!($2 in of)) order[++n] = $2
			of[$2] = of[$2] (of[$2] == "" ? "" : ", ") substr($3, 3) ($1 == "LITERAL" ? "*" : $1 == "PINNED" ? "+" : "") " " points($4)
		}
		BEGIN { print ".Bd -unfilled" }
		END { for (i = 1; i <= n; i++) columns(name[order[i]], of[order[i]]); print ".Ed" }'
}
# All names and their numbers, as one item for each letter
make_entities() {
	rows "$1" | generate '
		{ n[$4 != 0]++ }
		END { say("knows " n[0] + n[1] " names: those that HTML\047s standard has in its section 13.5 with a semicolon, except XML\047s own five. " n[1] " of them mean two characters.") }'
}
make_namespaces() { rows "$1" | generate 'BEGIN { print ".Bd -unfilled" } { columns($2, $3) } END { print ".Ed" }'; }
make_enclosures() {
	rows "$1" | generate '{ print ".It"; say($1 == "TEXT" ? "the text of " $3 " in " $2 : $3 " of " $2 ($4 == "NULL" ? "" : " whose rel is " $4)) }'
}
make_containers() { rows "$1" | generate '$2 != last { all = all (all == "" ? "" : ", ") $2; last = $2 } END { listed(all) }'; }
# One item for each purpose
make_calls() {
	rows "$1" | generate '
		$1 == "ABSENT" { absent = absent (absent == "" ? "" : ", ") $2; next }
		!($3 in of) { order[++n] = $3 }
		{ of[$3] = of[$3] (of[$3] == "" ? "" : ", ") $2; if ($1 == "LIMITED") limits[$3] = limits[$3] (limits[$3] == "" ? "" : "; ") $2 " " $4 }
		END {
			for (i = 1; i <= n; i++) {
				print ".It " toupper(substr(order[i], 1, 1)) substr(order[i], 2)
				say(of[order[i]] ".")
				if (order[i] in limits) sentence("Only: " limits[order[i]])
			}
			print ".It Answered as by a kernel that has no such call"
			say(absent ".")
		}'
}
make_addresses() {
	rows "$1" | generate '
		function block(first, last,    i, at, run, best, start, text) {
			for (i = first; i <= last; i++) { sub(/^0x/, "", $i); run = $i == "0" ? run + 1 : 0; if (run > best) { best = run; start = i - run + 1 } }
			for (i = first; i <= last; i++) {
				if (best > 1 && i == start) { text = text "::"; i += best - 1 }
				else text = text (text == "" || text ~ /:$/ ? "" : ":") $i
			}
			return text
		}
		$1 == "V4" { print ".It Li " $2 "." $3 "." $4 "." $5 "/" $6; sentence($7) }
		$1 == "V6" { print ".It Li " block(2, 9) "/" $10; sentence($11 == "NULL" ? "NAT64: open, and the IPv4 address inside decides" : $11) }'
}
# Each field in two lists: what requests do with it, what responses do
make_headers() {
	rows "$1" | generate '
		BEGIN {
			n = split("SEND RELAY PRIVATE OWN DROP SIGNATURE OTHER", asked, " ")
			m = split("OWN BODY FRONT SITE CLIENT DROP KEEP", answered, " ")
			text["> SEND"] = "Sent on"
			text["> RELAY"] = "Sent on with methods other than GET and HEAD, dropped with these"
			text["> PRIVATE"] = "Credentials: sent as described above, to the origin of the route alone"
			text["> OWN"] = "Written by utfeed"
			text["> DROP"] = "Dropped"
			text["> SIGNATURE"] = "Dropped where utfeed signs (sign-key); elsewhere treated as every field that is not named here"
			text["> OTHER"] = "Treated as every field that is not named here"
			text["< OWN"] = "Written by utfeed"
			text["< BODY"] = "Dropped where the bytes changed"
			text["< FRONT"] = "Dropped but on routes, because a server in front of utfeed would act on them"
			text["< SITE"] = "Dropped by the gateway, where a browser would take them for those of utfeed itself"
			text["< CLIENT"] = "The same, and for the client alone that asked: not stored, and given to no other client"
			text["< DROP"] = "Dropped"
			text["< KEEP"] = "Passed on, as every field that is not named here"
		}
		{ name = $3 ($1 == "FAMILY" ? "*" : ""); add("> " $4); add("< " $5) }
		function add(key) { if (!(key in text)) exit status = 1; list[key] = list[key] (list[key] == "" ? "" : ", ") name }
		function item(key) { if (key in list) { print ".It " text[key]; listed(list[key]) } }
		END {
			if (status) { print "check-manuals: headers.def has a treatment without a text" >"/dev/stderr"; exit 1 }
			print ".Ss Request fields\n.Bl -tag -width Ds"
			for (i = 1; i <= n; i++) item("> " asked[i])
			print ".El\n.Ss Response fields\n.Bl -tag -width Ds"
			for (i = 1; i <= m; i++) item("< " answered[i])
			print ".El"
		}'
}
make_candidates() {
	{ rows "$(file_of charsets.def)"; rows "$1"; } | generate '
		$1 == "CHARSET" { name[$2] = $3 }
		$1 == "CANDIDATE" {
			text = others = ""
			for (i = 4; i <= NF; i++)
				if ($i ~ /MUL_/)
					others = " and languages without a model"
				else
					text = text (text == "" ? "" : ", ") tolower($i)
			gsub(/l\(|\)/, "", text); gsub(/_/, "-", text); columns(name[$2], text others)
		}
		BEGIN { print ".Bd -unfilled" }
		END { print ".Ed" }'
}
make_former() {
	rows "$1" | generate '
		{ print ".It Cm " $2; gsub(/_ms$/, "", $3); gsub(/_/, "-", $3) }
		$1 == "MOVED" { say("Is " $3 " below [gateway] now.") }
		$1 == "REMOVED" { sentence("Is gone: " $3) }'
}
make_limits() { rows "$1" | generate '{ print ".It " toupper(substr($3, 1, 1)) substr($3, 2); say($4 " in a second.") }'; }
make_countries() { rows "$1" | generate '{ gsub(/ /, ", ", $3); print ".It Li ." $2; say($3 ".") }'; }
make_advice() {
	rows "$1" | generate '
		function placed(text,    i, n, from, to) {
			n = split("h d c a t k s n p l f", from, " ")
			split("LABEL LABEL CHARSET CHARSET TYPE FORMAT STATUS N PLACES LINE FAULT", to, " ")
			to[9] = "These N bytes are not CHARSET: PLACES. "
			for (i = 1; i <= n; i++) gsub("%" from[i], to[i], text)
			return text
		}
		{ print ".It Li " $3; sentence(placed($6)) }'
}
# What each of these words means, a list for each set of them
make_words() {
	rows "$1" | generate '
		BEGIN {
			of["ROME"] = "ROME, under rome-strict, rome-lenient and auto"
			of["EXTENDED"] = "UCS-4 and EBCDIC, under auto"
			of["LENIENT"] = "Lenient order of ROME, under rome-lenient and auto"
			of["AUTO"] = "Evidence, under auto"
			of["FIRST"] = "First version of ROME"
			of["RFC7303"] = "RFC 7303"
			of["FEEDPARSER"] = "Universal Feed Parser"
			of["FOURSUITE"] = "4Suite"
			of["ENTITY"] = "The document, under appendix-f, rfc7303 and 4suite"
		}
		$2 != set { if (set != "") print ".El"; set = $2; print ".Ss " of[set]; print ".Bl -tag -width lenient-default" }
		{ print ".It Li " $3; sentence($4) }
		END { print ".El" }'
}
# One set of them, a name a line, as the table has it and as the sources of the policies have it
words_of() { rows "$(file_of rule_words.def)" | awk -F '\t' -v set="$1" '$2 == set { print $3 }' | sort -u; }
words_in() { paths_of "$1" | cut -f2 | tr -d ' ' | tr , '\n' | sort -u; }
same_words() {
	words_of "$1" >"$work/told-words"
	"$2" "$3" >"$work/true-words"
	if [ -s "$work/true-words" ] && cmp -s "$work/told-words" "$work/true-words"; then good
	else bad "rule_words.def: the set $1 is not what the policies write: $(comm -3 "$work/told-words" "$work/true-words" | tr -s '\t\n' ' ')"; fi
}
# The words that each policy may write into PATH: those of its rows, and those of its code
paths_of() {
	for policy in $1; do
		source=$(file_of "policy_$policy.c")
		[ -n "$source" ] || { echo "check-manuals: no policy_$policy.c" >&2; return 1; }
		awk -v policy="$policy" '
			function add(word) { if (word != "" && !(word in seen)) { seen[word] = 1; list = list (list == "" ? "" : ", ") word } }
			/^\t\{ "/ { split($0, part, "\""); add(part[2]) }
			/verdict_step\(v, "/ { split($0, part, "\""); add(part[2]) }
			/^\t\{ "[a-z0-9-]*", [a-z_0-9]* \},/ { n = split($0, part, "\""); for (i = 4; i < n; i += 2) add(part[i]) }
			END { print policy "\t" list }' "$source"
	done
}
make_paths() {
	paths_of "rome_strict rome_lenient rome_2004 rome_extended rfc7303 feedparser 4suite appendix_f" | generate '
		BEGIN { own["rome_2004"] = "rome-2004-09-10"; own["rome_extended"] = "UCS-4 and EBCDIC under auto"; own["appendix_f"] = "appendix-f" }
		{ gsub(/_/, "-", $1) }
		{ key = $1; gsub(/-/, "_", key); print ".It Li " (key in own ? own[key] : $1); say($2 ".") }'
}

# Names of lists that are written by hand, one a line
names_forwards() { rows "$(file_of cache_status.def)" | cut -f3; }
names_directives() { rows "$(file_of cache_control.def)" | cut -f3; }
names_details() { rows "$(file_of storable.def)" | cut -f3; }
quoted() { sed -n "s/$2/\\1/p" "$(file_of "$1")"; }
names_policies() { quoted policy.h '^	X([A-Z0-9_]*, *"\([^"]*\)",.*'; }
names_repairs() { quoted repair.h '^	X([A-Z0-9_]*, *1 << [0-9]*, *"\([^"]*\)",.*'; }
names_errors() { grep -o '\[VERR_[A-Z_]*\] = "[a-z-]*"' "$(file_of policy.c)" | cut -d'"' -f2; }
names_reasons() { grep -o '\[VREASON_[A-Z_]*\] = "[a-z-]*"' "$(file_of policy.c)" | cut -d'"' -f2; }
# Every word of the code of auto but us-ascii, which is a name; and those of the lenient order before it
names_steps() {
	grep -v -e '#include' -e '^/\*' -e '^ \*' "$(file_of policy_auto.c)" | grep -o '"[a-z0-9+]*"' | tr -d '"'
	grep -o '"lenient-[a-z]*"' "$(file_of policy_rome_lenient.c)" | tr -d '"'
}

# table MANUAL NAME MAKE FILE: the generated text between the marks
table() {
	source=$(file_of "$4")
	told="$told $4"
	[ -n "$source" ] || { bad "no $4"; return; }
	"$3" "$source" >"$work/text" || { bad "$4: cannot make the table $2"; return; }
	[ -s "$work/text" ] || { bad "$4: no rows"; return; }
	begin=".\\\" table: $2" text=$work/text awk '
		$0 == ".\\\" end of table" && inside { inside = 0; found++ }
		!inside { print }
		$0 == ENVIRON["begin"] { inside = 1; found++; while ((getline line < ENVIRON["text"]) > 0) print line }
		END { exit found != 2 }' "$1" >"$work/manual" || { bad "$1: lacks the marks of the table $2"; return; }
	[ "$update" = no ] || cp "$work/manual" "$1"
	if cmp -s "$work/manual" "$1"; then good; else bad "$1: the table $2 is not what $4 says; run tests/check-manuals.sh --update"; fi
}

# list MANUAL NAME: the items between the marks are the names, in any order
list() {
	"names_$2" | sort -u >"$work/names"
	[ -s "$work/names" ] || { bad "no names of $2 found in the source"; return; }
	begin=".\\\" table: $2" awk '
		$0 == ".\\\" end of table" { inside = 0 }
		inside && /^\.It Li / { print $3 }
		$0 == ENVIRON["begin"] { inside = 1 }' "$1" | sort >"$work/items"
	comm -23 "$work/names" "$work/items" | sed "s|.*|check-manuals: $1: $2: lacks &|"
	comm -13 "$work/names" "$work/items" | sed "s|.*|check-manuals: $1: $2: there is no &|"
	if cmp -s "$work/names" "$work/items"; then good; else failed=$((failed + 1)); fi
}

case ${1:-} in
--update) update=yes ;;
*) update=no ;;
esac

told="charsets.def cache_status.def cache_control.def storable.def"
rules=conf/utfeed-rules.7
operating=conf/utfeed-operating.7
cache=conf/utfeed-cache.7
security=conf/utfeed-security.7
failures=failure.def
[ -n "$(file_of failure.def)" ] || failures=proxy_status.def
table $operating counters make_stats stats.def
table $operating failures make_failures $failures
table $operating headers make_headers headers.def
table $security addresses make_addresses special_addresses.def
table $security calls make_calls syscalls.def
table $security limits make_limits h2_limits.def
table conf/utfeed.conf.5 former make_former former.def
table $rules labels make_labels labels.def
table $rules codes make_codes overlay.def
table $rules candidates make_candidates candidates.def
table $rules countries make_countries hints.def
table $rules entities make_entities entities.def
table $rules namespaces make_namespaces namespaces.def
table $rules enclosures make_enclosures enclosures.def
table $rules containers make_containers containers.def
table $rules paths make_paths policy_auto.c
table $rules advice make_advice advice.def
table $rules words make_words rule_words.def
same_words ROME words_in rome_strict
same_words EXTENDED words_in rome_extended
same_words LENIENT words_in rome_lenient
same_words FIRST words_in rome_2004
same_words RFC7303 words_in rfc7303
same_words FEEDPARSER words_in feedparser
same_words FOURSUITE words_in 4suite
same_words ENTITY words_in appendix_f
names_auto() { names_steps | grep -v '^lenient-' | sort -u; }
same_words AUTO names_auto
for name in forwards directives details; do list $cache $name; done
for name in policies steps errors reasons repairs; do list $rules $name; done

# Every table is one of these, or checked elsewhere: the options and ways.def by check-options.sh, the ids of conf_types.def by the compiler,
# the models of languages by the compiler (every string has a place for each letter) and by test_detector; names of other programs and
# options without an effect are told by messages alone
for file in $(find core conf proxy -name '*.def' -type f | sort); do
	case $(basename "$file") in
	options.def | route_options.def | ways.def | conf_types.def | letters.def | languages.def | han.def | foreign.def | idle.def) ;;
	*) case " $told " in *" $(basename "$file") "*) good ;; *) bad "$file: no manual tells its rows; give it a table or a list here" ;; esac ;;
	esac
done

# What a manual, a message or a comment calls "utfeed-NAME(7), SECTION" is there, and so is what a manual calls .Sx SECTION
headings() { sed -n 's/^\.S[hs] //p' "$1"; }
grep -ErohIs 'utfeed-[a-z]+\(7\), ?("|[.]Sx )?[A-Z][A-Za-z-]+( [A-Za-z-]+)*' README conf core proxy docker/*/* | sort -u >"$work/named"
while IFS= read -r line; do
	manual=conf/${line%%(7),*}.7
	section=$(echo "${line#*(7),}" | sed 's/^ *"*//')
	found=no
	[ -f "$manual" ] && while IFS= read -r heading; do
		case $section in "$heading"*) found=yes ;; esac
		case $heading in "$section"*) found=yes ;; esac
	done <<-END
		$(headings "$manual")
	END
	if [ $found = yes ]; then good; else bad "$line: there is no such section"; fi
done <"$work/named"
for manual in $manuals; do
	sed -n 's/^\.\(Pq \)*Sx \([^.,;:]*[^.,;: ]\).*/\2/p' "$manual" | sed 's/ [.,;:]$//' | sort -u >"$work/named"
	headings "$manual" | sort -u >"$work/there"
	comm -23 "$work/named" "$work/there" >"$work/lacking"
	if [ -s "$work/lacking" ]; then bad "$manual: no section is called $(paste -sd, "$work/lacking")"; else good; fi
done

skipped=0
for manual in $manuals; do
	if ! command -v mandoc >/dev/null 2>&1; then skipped=$((skipped + 1))
	elif mandoc -Tlint "$manual" >"$work/lint" 2>&1; then good
	else bad "$manual: mandoc -Tlint:"; head -n 10 "$work/lint"; fi
done
echo "check-manuals: $passed passed, $failed failed, $skipped skipped$([ $skipped = 0 ] || echo ": no mandoc")"
[ "$failed" -eq 0 ]
