/* Entity tags of transformed responses; see etag.h. */
#include "proxy/http/etag.h"

#include <string.h>

#include "proxy/base/hash.h"

#define ETAG_MARK ";utf-"
/* What a tag of our own begins with. It is weak, because nobody knows when the origin's text changes. */
#define ETAG_OWN "W/\"own-"
enum { ETAG_MARK_LEN = sizeof ETAG_MARK - 1, ETAG_DIGITS = 8, ETAG_OWN_DIGITS = 16 };

void etag_suffix(char buf[ETAG_SUFFIX_MAX], uint64_t settings)
{
	struct text t = text_on(buf, ETAG_SUFFIX_MAX);

	text_puts(&t, ETAG_MARK);
	text_hex(&t, (uint32_t)(settings ^ settings >> 32), ETAG_DIGITS);
	text_add(&t, "", 1);
}

/* The length of W/, if the tag begins with it, else 0; -1: the rest is not quoted, or has a quote inside. */
static int etag_prefix(struct slice tag)
{
	int weak = tag.len >= 2 && tag.at[0] == 'W' && tag.at[1] == '/' ? 2 : 0;
	size_t rest = tag.len - (size_t)weak;

	if (rest < 2 || tag.at[weak] != '"' || tag.at[tag.len - 1] != '"' || memchr(tag.at + weak + 1, '"', rest - 2))
		return -1;
	return weak;
}

/* etagc has neither blanks nor control characters. */
bool etag_is_valid(struct slice tag)
{
	for (size_t i = 0; i < tag.len; i++)
		if ((unsigned char)tag.at[i] <= ' ' || tag.at[i] == 0x7f)
			return false;
	return etag_prefix(tag) >= 0;
}

void etag_transform(struct text *t, struct slice upstream, const char *suffix)
{
	if (!upstream.len)
		return;
	if (etag_is_valid(upstream)) {
		text_add(t, upstream.at, upstream.len - 1);
	} else {
		text_puts(t, ETAG_OWN);
		text_hex(t, hash_xx64(upstream.at, upstream.len), ETAG_OWN_DIGITS);
	}
	text_puts(t, suffix);
	text_puts(t, "\"");
}

/* Where the suffix begins; *tail is the length of the tag from there. NULL: the tag has no suffix. */
static const char *etag_mark(struct slice tag, size_t *tail, bool *is_gzip)
{
	size_t gzip = sizeof ETAG_GZIP - 1;

	*is_gzip = tag.len > gzip + 2 && !memcmp(tag.at + tag.len - 1 - gzip, ETAG_GZIP, gzip);
	*tail = ETAG_MARK_LEN + ETAG_DIGITS + 1 + (*is_gzip ? gzip : 0);
	const char *mark = tag.len > *tail ? tag.at + tag.len - *tail : NULL;
	return mark && etag_prefix(tag) >= 0 && !memcmp(mark, ETAG_MARK, ETAG_MARK_LEN) ? mark : NULL;
}

bool etag_is_ours(struct slice tag)
{
	return etag_mark(tag, &(size_t){ 0 }, &(bool){ false });
}

enum etag_owner etag_restore(struct text *t, struct slice member, const char *suffix)
{
	size_t tail;
	bool is_gzip;
	const char *mark = etag_mark(member, &tail, &is_gzip);

	if (!mark) {
		text_add(t, member.at, member.len);
		return ETAG_THEIRS;
	}
	if (memcmp(mark, suffix, ETAG_MARK_LEN + ETAG_DIGITS))
		return ETAG_STALE;
	text_add(t, member.at, member.len - tail);
	text_puts(t, "\"");
	return is_gzip ? ETAG_OURS_GZIP : ETAG_OURS;
}
