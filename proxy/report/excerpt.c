/* The piece of a stream around its first bytes beyond ASCII; see excerpt.h. */
#include "proxy/report/excerpt.h"

#include <string.h>

#include "core/text/utf8.h"

enum { EXCERPT_ESCAPE = 0x1b };

/* How many bytes stand before the first that counts. */
static size_t excerpt_plain(const struct excerpt *x, const uint8_t *bytes, size_t len)
{
	size_t n = utf8_ascii_prefix(bytes, len);
	const uint8_t *escape = x->escapes && n > 0 ? memchr(bytes, EXCERPT_ESCAPE, n) : NULL;

	return escape ? (size_t)(escape - bytes) : n;
}

/* Adds plain bytes and keeps the latest EXCERPT_BEFORE of all. */
static void excerpt_remember(struct excerpt *x, const uint8_t *bytes, size_t len)
{
	size_t keep = len < EXCERPT_BEFORE ? EXCERPT_BEFORE - len : 0, drop = x->len > keep ? x->len - keep : 0;

	memmove(x->bytes, x->bytes + drop, x->len - drop);
	x->len -= drop;
	x->offset += drop;
	if (len > EXCERPT_BEFORE) {
		x->offset += len - EXCERPT_BEFORE;
		bytes += len - EXCERPT_BEFORE;
		len = EXCERPT_BEFORE;
	}
	memcpy(x->bytes + x->len, bytes, len);
	x->len += len;
}

static void excerpt_append(struct excerpt *x, const uint8_t *bytes, size_t len)
{
	size_t room = x->first + EXCERPT_AFTER - x->len;

	if (len > room)
		len = room;
	memcpy(x->bytes + x->len, bytes, len);
	x->len += len;
}

void excerpt_feed(struct excerpt *x, const uint8_t *bytes, size_t len)
{
	size_t plain;

	if (len == 0)
		return;
	if (!x->found) {
		plain = excerpt_plain(x, bytes, len);
		excerpt_remember(x, bytes, plain);
		bytes += plain;
		len -= plain;
		x->found = len > 0;
		x->first = x->len;
	}
	if (x->found && len > 0)
		excerpt_append(x, bytes, len);
}

void excerpt_at(struct excerpt *x, const uint8_t *bytes, size_t len, size_t at)
{
	*x = (struct excerpt){ .escapes = x->escapes, .found = at < len };
	excerpt_remember(x, bytes, at);
	x->first = x->len;
	excerpt_append(x, bytes + at, len - at);
}

size_t excerpt_line(const struct excerpt *x)
{
	size_t at = x->first;

	while (at > 0 && x->bytes[at - 1] != '\n')
		at--;
	return at;
}
