/* Owns the ISO-2022-JP engine: ASCII, JIS X 0201, 0208 and 0212, switched by escape sequences.
 * Must not know: the mappings; those of JIS X 0208 and 0212 are EUC-JP's, by the low seven bits of each byte
 * (decoder_table.h).
 * Invariant: a control character is never part of a pair, so an escape sequence is seen wherever it stands.
 * Source: RFC 1468, RFC 2237, Encoding Standard section 12.2.1. Unlike the latter, an escape sequence that switches to
 * the present set is no fault, and controls are allowed between pairs: encoders write both, and iconv reads both. */
#include <errno.h>

#include "core/decode/decoder_impl.h"
#include "core/decode/decoder_table.h"
#include "core/text/utf8.h"

enum mode { MODE_ASCII, MODE_ROMAN, MODE_KATAKANA, MODE_JIS0208, MODE_JIS0212 };

enum { ESC = 0x1B };

static const struct {
	uint8_t len;
	uint8_t mode;
	const char *bytes;
} escapes[] = {
	{ 3, MODE_ASCII, "\x1B(B" },
	{ 3, MODE_ROMAN, "\x1B(J" },
	{ 3, MODE_KATAKANA, "\x1B(I" },
	{ 3, MODE_JIS0208, "\x1B$@" },
	{ 3, MODE_JIS0208, "\x1B$B" },
	{ 4, MODE_JIS0212, "\x1B$(D" },
};

static int jp_open(struct decoder *d)
{
	d->u.double_table = decoder_table_double(CS_EUC_JP, d->flags & DECODER_LITERAL);
	return d->u.double_table ? 0 : errno;
}

/* False: incomplete. */
static bool read_escape(struct decoder *d, struct decoder_span *s)
{
	bool incomplete = false;

	for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
		size_t left = span_left(s), len = escapes[i].len;

		if (memcmp(s->in, escapes[i].bytes, left < len ? left : len) != 0)
			continue;
		if (left >= len) {
			d->mode = escapes[i].mode;
			s->in += len;
			return true;
		}
		incomplete = true;
	}
	if (!incomplete)
		span_replace(d, s, 1);
	return !incomplete;
}

/* A run is searched for an escape sequence after it was copied, so it must not be too long. */
enum { ASCII_RUN = 256 };

static void jp_read_ascii(struct decoder *d, struct decoder_span *s)
{
	size_t len = span_left(s) < span_room(s) ? span_left(s) : span_room(s);
	const uint8_t *escape;

	len = utf8_ascii_copy(s->out, s->in, len < ASCII_RUN ? len : ASCII_RUN);
	escape = memchr(s->in, ESC, len);
	if (escape)
		len = (size_t)(escape - s->in);
	s->in += len;
	s->out += len;
	if (len == 0)
		span_replace(d, s, 1);
}

/* One byte of JIS X 0201: Roman differs from ASCII in two places, katakana from U+FF61 on. */
static void read_single(struct decoder *d, struct decoder_span *s)
{
	uint8_t byte = *s->in;
	uint32_t cp = byte;

	if (d->mode == MODE_ROMAN && byte == 0x5C)
		cp = 0xA5;
	else if (d->mode == MODE_ROMAN && byte == 0x7E)
		cp = 0x203E;
	else if (d->mode == MODE_KATAKANA && byte >= 0x21)
		cp = byte <= 0x5F ? 0xFF61u + byte - 0x21u : 0x80;
	if (byte >= 0x80 || cp == 0x80) {
		span_replace(d, s, 1);
		return;
	}
	d->single += cp >= 0x80;
	s->out += utf8_encode(cp, s->out);
	s->in++;
}

/* False: incomplete. */
static bool read_pair(struct decoder *d, const struct double_plane *plane, struct decoder_span *s)
{
	const uint8_t *p = s->in;
	const uint8_t *text;
	size_t len;

	if (p[0] <= 0x20) {
		*s->out++ = *s->in++;
		return true;
	}
	if (p[0] > 0x7E) {
		span_replace(d, s, 1);
		return true;
	}
	if (span_left(s) < 2)
		return false;
	text = plane->text[p[0]][p[1] | 0x80].utf8;
	if (p[1] <= 0x20 || p[1] > 0x7E || text[0] == 0) {
		span_replace(d, s, p[1] <= 0x20 ? 1 : 2);
		return true;
	}
	len = 2 + (text[2] != 0);
	span_put(s, text, len);
	s->in += 2;
	return true;
}

static void jp_run(struct decoder *d, struct decoder_span *s)
{
	const struct double_table *table = d->u.double_table;
	bool complete = true;

	while (complete && span_goes_on(s)) {
		if (*s->in == ESC)
			complete = read_escape(d, s);
		else if (d->mode == MODE_ASCII)
			jp_read_ascii(d, s);
		else if (d->mode == MODE_JIS0208)
			complete = read_pair(d, &table->pair, s);
		else if (d->mode == MODE_JIS0212)
			complete = read_pair(d, table->jis0212, s);
		else
			read_single(d, s);
	}
}

const struct decoder_engine decoder_2022jp = { .open = jp_open, .run = jp_run };
