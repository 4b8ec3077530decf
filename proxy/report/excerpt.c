/* The piece of a stream around its first bytes beyond ASCII; see excerpt.h. */
#include "proxy/report/excerpt.h"

#include <string.h>

#include "core/text/utf8.h"

enum { EXCERPT_ESCAPE = 0x1b };

/* How many bytes stand before the first that counts. */
static size_t excerpt_plain(const struct excerpt *excerpt, const uint8_t *bytes, size_t len)
{
	size_t n = utf8_ascii_prefix(bytes, len);
	const uint8_t *escape = excerpt->escapes && n > 0 ? memchr(bytes, EXCERPT_ESCAPE, n) : NULL;

	return escape ? (size_t)(escape - bytes) : n;
}

/* Adds plain bytes and keeps the latest EXCERPT_BEFORE of all. */
static void excerpt_remember(struct excerpt *excerpt, const uint8_t *bytes, size_t len)
{
	size_t keep = len < EXCERPT_BEFORE ? EXCERPT_BEFORE - len : 0,
	    drop = excerpt->len > keep ? excerpt->len - keep : 0;

	memmove(excerpt->bytes, excerpt->bytes + drop, excerpt->len - drop);
	excerpt->len -= drop;
	excerpt->offset += drop;
	if (len > EXCERPT_BEFORE) {
		excerpt->offset += len - EXCERPT_BEFORE;
		bytes += len - EXCERPT_BEFORE;
		len = EXCERPT_BEFORE;
	}
	memcpy(excerpt->bytes + excerpt->len, bytes, len);
	excerpt->len += len;
}

static void excerpt_append(struct excerpt *excerpt, const uint8_t *bytes, size_t len)
{
	size_t room = excerpt->first + EXCERPT_AFTER - excerpt->len;

	if (len > room)
		len = room;
	memcpy(excerpt->bytes + excerpt->len, bytes, len);
	excerpt->len += len;
}

void excerpt_feed(struct excerpt *excerpt, const uint8_t *bytes, size_t len)
{
	size_t plain;

	if (len == 0)
		return;
	if (!excerpt->found) {
		plain = excerpt_plain(excerpt, bytes, len);
		excerpt_remember(excerpt, bytes, plain);
		bytes += plain;
		len -= plain;
		excerpt->found = len > 0;
		excerpt->first = excerpt->len;
	}
	if (excerpt->found && len > 0)
		excerpt_append(excerpt, bytes, len);
}

void excerpt_at(struct excerpt *excerpt, const uint8_t *bytes, size_t len, size_t at)
{
	*excerpt = (struct excerpt){ .escapes = excerpt->escapes, .found = at < len };
	excerpt_remember(excerpt, bytes, at);
	excerpt->first = excerpt->len;
	excerpt_append(excerpt, bytes + at, len - at);
}

size_t excerpt_line(const struct excerpt *excerpt)
{
	size_t at = excerpt->first;

	while (at > 0 && excerpt->bytes[at - 1] != '\n')
		at--;
	return at;
}
