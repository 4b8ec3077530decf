/* Owns the ISO-2022-JP engine: ASCII, JIS X 0201 and 0208, switched by escape sequences.
 * Must not know: the mappings; those of JIS X 0208 are EUC-JP's, by the low seven bits of each byte (decoder_table.h).
 * Invariant: an escape character is never part of a pair, so an escape sequence is seen wherever it stands.
 * Source: Encoding Standard section 12.2.1. It has neither shifts (0E, 0F) nor JIS X 0212. Two escape sequences in a
 * row are a fault, because text could hide between them, and so are control characters in katakana and between pairs.
 * Careless encoders write the latter two, so these faults do not count against the charset. */
#include <errno.h>

#include "core/decode/decoder_impl.h"
#include "core/decode/decoder_table.h"
#include "core/text/utf8.h"

enum mode { MODE_ASCII, MODE_ROMAN, MODE_KATAKANA, MODE_JIS0208 };

enum { SHIFT_OUT = 0x0E, SHIFT_IN = 0x0F, ESC = 0x1B };

static int jp_open(struct decoder *d)
{
	d->u.double_table = decoder_table_double(CS_EUC_JP, d->flags & DECODER_LITERAL);
	return d->u.double_table ? 0 : errno;
}

/* Replaces a byte by U+FFFD without holding it against the charset. */
static void replace_careless(struct decoder *d, struct decoder_span *s)
{
	span_replace(d, s, 1);
	d->careless++;
}

/* The mode that the last two bytes of an escape sequence choose, -1: none. */
static int mode_of(const uint8_t designation[2])
{
	static const struct {
		char bytes[2];
		uint8_t mode;
	} escapes[] = {
		{ { '(', 'B' }, MODE_ASCII }, { { '(', 'J' }, MODE_ROMAN }, { { '(', 'I' }, MODE_KATAKANA },
		{ { '$', '@' }, MODE_JIS0208 }, { { '$', 'B' }, MODE_JIS0208 },
	};

	for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++)
		if (memcmp(designation, escapes[i].bytes, sizeof escapes[i].bytes) == 0)
			return escapes[i].mode;
	return -1;
}

/* Behind an escape character that begins nothing, the next byte is read as it would be without it. False: incomplete.
 */
static bool read_escape(struct decoder *d, struct decoder_span *s)
{
	const uint8_t *p = s->in;
	int mode = -1;

	if (span_left(s) < 2)
		return false;
	if (p[1] == '$' || p[1] == '(') {
		if (span_left(s) < 3)
			return false;
		mode = mode_of(p + 1);
	}
	if (mode < 0) {
		span_replace(d, s, 1);
		d->escaped = false;
		return true;
	}
	d->mode = (uint8_t)mode;
	if (d->escaped) {
		replace_careless(d, s);
		s->in--;
	}
	d->escaped = true;
	s->in += 3;
	return true;
}

/* Whether a byte of ASCII or its sibling stands for itself. */
static bool is_shiftless(uint8_t byte)
{
	return byte < 0x80 && byte != ESC && byte != SHIFT_OUT && byte != SHIFT_IN;
}

/* is_shiftless() for each of eight bytes. */
static bool are_shiftless(uint64_t word)
{
	const uint64_t each = 0x0101010101010101, low = 0x7F * each;
	uint64_t escapes = (word & low) ^ ESC * each;
	/* SHIFT_OUT and SHIFT_IN differ in the lowest bit */
	uint64_t shifts = ((word & low) ^ SHIFT_OUT * each) & 0xFE * each;

	/* The sum has the highest bit of a byte where the byte is not 0 */
	return ((~word & (escapes + low) & (shifts + low)) | low) == UINT64_MAX;
}

/* Copies up to the first byte that does not stand for itself; the number of bytes. */
static size_t copy_words(uint8_t *out, const uint8_t *in, size_t len)
{
	size_t at = 0;

	for (uint64_t word; len - at >= sizeof word; at += sizeof word) {
		memcpy(&word, in + at, sizeof word);
		if (!are_shiftless(word))
			break;
		memcpy(out + at, &word, sizeof word);
	}
	for (; at < len && is_shiftless(in[at]); at++)
		out[at] = in[at];
	return at;
}

/* The same, and faster where len is large and used up. */
static size_t copy_long(uint8_t *out, const uint8_t *in, size_t len)
{
	static const uint8_t ends[] = { ESC, SHIFT_OUT, SHIFT_IN };

	len = utf8_ascii_copy(out, in, len);
	for (size_t i = 0; i < sizeof ends; i++) {
		const uint8_t *end = memchr(in, ends[i], len);

		if (end)
			len = (size_t)(end - in);
	}
	return len;
}

static void jp_read_ascii(struct decoder *d, struct decoder_span *s)
{
	/* Text between two escape sequences is mostly shorter than FEW; only markup without Japanese goes on. */
	enum { FEW = 128, MANY = 2048 };
	size_t room = span_left(s) < span_room(s) ? span_left(s) : span_room(s);
	size_t len = room < FEW ? room : FEW, got = copy_words(s->out, s->in, len);

	if (got == 0) {
		span_replace(d, s, 1);
		return;
	}
	while (got == len && len < room) {
		size_t more = room - len < MANY ? room - len : MANY;

		len += more;
		got += copy_long(s->out + got, s->in + got, more);
	}
	s->in += got;
	s->out += got;
}

/* One byte of JIS X 0201's Latin set, which differs from ASCII in two places. */
static void read_roman(struct decoder *d, struct decoder_span *s)
{
	uint8_t byte = *s->in;
	uint32_t cp = byte == 0x5C ? 0xA5 : byte == 0x7E ? 0x203E : byte;

	if (!is_shiftless(byte)) {
		span_replace(d, s, 1);
		return;
	}
	d->single += cp >= 0x80;
	s->out += utf8_encode(cp, s->out);
	s->in++;
}

/* A byte of a set that has none for it: controls and blanks are what careless encoders leave there. */
static void replace_stranger(struct decoder *d, struct decoder_span *s)
{
	if (*s->in <= 0x20 && is_shiftless(*s->in))
		replace_careless(d, s);
	else
		span_replace(d, s, 1);
}

static void read_katakana(struct decoder *d, struct decoder_span *s)
{
	if (*s->in < 0x21 || *s->in > 0x5F) {
		replace_stranger(d, s);
		return;
	}
	d->single++;
	s->out += utf8_encode(0xFF61u + *s->in++ - 0x21u, s->out);
}

static bool may_be_in_pair(uint8_t byte)
{
	return byte >= 0x21 && byte <= 0x7E;
}

/* Stops at the first bytes that are not a pair, or when the engine has to stop. */
static void jp_copy_pairs(const struct double_plane *plane, struct decoder_span *s)
{
	for (; span_goes_on(s) && span_left(s) >= 2; s->in += 2) {
		uint32_t word;

		if (!may_be_in_pair(s->in[0]) || !may_be_in_pair(s->in[1]))
			return;
		word = double_word(&plane->text[s->in[0]][s->in[1] | 0x80]);
		if (word == 0)
			return;
		s->out = double_put(s->out, word);
	}
}

/* Pairs of JIS X 0208. A bad second byte is dropped with the first. False: incomplete. */
static bool read_pairs(struct decoder *d, struct decoder_span *s)
{
	jp_copy_pairs(&d->u.double_table->pair, s);
	if (!span_goes_on(s) || *s->in == ESC)
		return true;
	if (!may_be_in_pair(s->in[0])) {
		replace_stranger(d, s);
		return true;
	}
	if (span_left(s) < 2)
		return false;
	span_replace(d, s, s->in[1] == ESC ? 1 : 2);
	return true;
}

/* Reads what the mode has next. False: it is incomplete. */
static bool jp_read(struct decoder *d, struct decoder_span *s)
{
	if (*s->in == ESC)
		return read_escape(d, s);
	d->escaped = false;
	switch ((enum mode)d->mode) {
	case MODE_ASCII:
		jp_read_ascii(d, s);
		return true;
	case MODE_ROMAN:
		read_roman(d, s);
		return true;
	case MODE_KATAKANA:
		read_katakana(d, s);
		return true;
	case MODE_JIS0208:
		break;
	}
	return read_pairs(d, s);
}

static void jp_run(struct decoder *d, struct decoder_span *s)
{
	while (span_goes_on(s) && jp_read(d, s))
		;
}

/* Of a cut escape sequence the escape character is malformed, and what follows it is read. */
static void jp_flush(struct decoder *d, struct decoder_span *s)
{
	if (s->in == s->in_end || *s->in != ESC)
		return;
	span_replace(d, s, 1);
	if (s->in < s->in_end)
		jp_read(d, s);
}

const struct decoder_engine decoder_2022jp = { .open = jp_open, .run = jp_run, .flush = jp_flush };
