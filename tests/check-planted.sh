#!/bin/sh
# That check-layers.sh and check-style.sh can fail: in a copy of the tree each of these faults is planted by itself, and has to be told by
# its words.
cd "${UTFEED_SRCDIR:-$(dirname "$0")/..}" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/tests"
cp -R core conf proxy "$work/" && cp tests/include.am "$work/tests/" || exit 1
passed=0
failed=0

# planted WORDS FILE LINE: the line stands at the end of the file, which $check reads
planted() {
	[ ! -e "$work/$2" ] || cp "$work/$2" "$work/kept"
	printf '%s\n' "$3" >>"$work/$2"
	if said=$(sh "tests/$check" "$work") || ! printf '%s\n' "$said" | grep -qF "$1"; then
		echo "check-planted: not told: $2: $3"
		failed=$((failed + 1))
	else
		passed=$((passed + 1))
	fi
	if [ -e "$work/kept" ]; then mv "$work/kept" "$work/$2"; else rm "$work/$2"; fi
}

for check in check-style.sh check-layers.sh; do
	sh "tests/$check" "$work" >/dev/null || { echo "check-planted: $check finds faults in the copy as it is"; failed=1; }
done
planted 'stands below proxy/base' proxy/base/text.c '#include "proxy/client/client.h"'
planted 'stands below core/text' core/text/utf8.c '#include "core/normalise/normalise.h"'
planted 'lies in a higher part' core/text/utf8.h '#include "conf/conf.h"'
planted 'is no file' proxy/net/conn.c '#include "loop.h"'
planted 'core/ is pure' core/repair/repair.c '#include <sys/socket.h>'
planted 'belongs to one file' proxy/cache/cache.c '#include <zlib.h>'
planted 'belongs to one file' proxy/cache/cache.c '#include <openssl/ssl.h>'
planted 'belongs to core/decode/decoder_iconv.c' core/policy/policy.c '#include <iconv.h>'
planted 'stands in no folder' proxy/loose.c '/* Owns nothing. */'
planted 'is not listed' proxy/http/unlisted.c '/* Owns nothing. */'
planted 'headers include each other' proxy/base/slice.h '#include "proxy/base/text.h"'
planted 'a member of struct lookup' proxy/answer/outcome.c '	return a->lookup.late;'
planted 'a member of struct lookup' proxy/answer/answer.c 'static bool waits(const struct lookup *l) { return l->waited; }'
planted 'a member of struct answer' proxy/client/client.c '	return c->x->answer.state;'
planted 'a member of struct answer' proxy/client/client.c 'static bool is_new(struct answer *a) { return !a->state; }'
check=check-style.sh
planted 'gone_away() is no function' proxy/README ' * gone_away() did it.'
planted 'at most 120' proxy/base/text.c "/* $(printf '%0130d' 0) */"
planted 'has more than 500 lines' conf/conf.c "$(seq -f '/* %g */' 500)"
planted 'ends in a blank' proxy/base/text.h '#define TEXT_BLANK 1 '
planted 'indented by blanks' conf/conf.c '        return 0;'
planted 'between keyword and parenthesis' conf/conf.c '	if(conf)'
planted 'stands on a line of its own' core/text/utf8.c 'static int utf8_nothing(void) {'
planted 'behind its brace' core/text/utf8.c "$(printf '\t}\n\telse')"
planted 'a comment of //' core/text/utf8.c '	return 0; // nothing'
planted 'an empty line too many' core/text/utf8.c "$(printf '\n\nint utf8_nothing;')"
planted 'static way_write() is also one of' proxy/base/text.c 'static bool way_write(struct tunnel *tunnel)'
planted 'static text_number() is also one of' proxy/net/conn.c 'static void text_number(struct text *t, uint64_t n)'
planted 'static way_write() is also one of' proxy/server/worker.c 'void way_write(struct tunnel *tunnel)'
planted 'the tag leaf_entry is also one of' core/text/utf8.c 'struct leaf_entry {'
planted 'the tag leaf_chain is also one of' proxy/store/entry.h 'LIST_HEAD(leaf_chain, entry);'
planted 'the letter m is a pointer to loop' proxy/net/conn.c 'static void conn_nothing(struct loop *m)'
planted 'the letter l is a pointer to loop' proxy/net/conn.c '	const struct loop *l = conn->loop;'
echo "check-planted: $passed passed, $failed failed"
[ "$failed" = 0 ]
