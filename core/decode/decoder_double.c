/* Owns the engine of two-byte sets with their longer codes: EUC-JP's three bytes, gb18030's four.
 * Must not know: any mapping, which are in tables (decoder_table.h).
 * Invariant: an ASCII byte is never swallowed by a bad lead before it (WHATWG sections 10 to 13: it is read again). */
#include <errno.h>

#include "core/decode/decoder_impl.h"
#include "core/decode/decoder_table.h"
#include "core/text/utf8.h"

enum { JIS0212_LEAD = 0x8F };

static int double_open(struct decoder *d)
{
	d->u.double_table = decoder_table_double(d->charset, d->flags & DECODER_LITERAL);
	return d->u.double_table ? 0 : errno;
}

/* Copies pairs, and the ASCII between them one byte at a time: these are mostly single blanks. */
static void copy_pairs(const struct double_plane *plane, struct decoder_span *s)
{
	const uint8_t *in = s->in;
	uint8_t *out = s->out;
	size_t steps;

	do {
		steps = (size_t)(s->in_end - in) / 2;
		if (steps > (size_t)(s->out_end - out) / 4)
			steps = (size_t)(s->out_end - out) / 4;
		for (; steps > 0; steps--) {
			uint32_t word;

			if (in[0] < 0x80) {
				if (in[1] < 0x80)
					break;
				*out++ = *in++;
				continue;
			}
			word = double_word(&plane->text[0][0] + ((in[0] << 8 | in[1]) & 0x7fff));
			if (word == 0)
				break;
			out = double_put(out, word);
			in += 2;
		}
	} while (steps == 0 && s->in_end - in >= 2 && s->out_end - out >= DECODER_MIN_OUT);
	s->in = in;
	s->out = out;
}

static inline bool within(uint8_t byte, uint8_t min, uint8_t max)
{
	return byte >= min && byte <= max;
}

/* 0x8F and two bytes (WHATWG section 12.1.1). False: incomplete. */
static bool read_jis0212(struct decoder *d, struct decoder_span *s)
{
	if (span_left(s) < 3)
		return false;
	const struct double_text *text = &d->u.double_table->jis0212->text[s->in[1] - 0x80][s->in[2]];
	if (text->utf8[0] == 0) {
		span_replace(d, s, s->in[2] < 0x80 ? 2 : 3);
		return true;
	}
	s->out = double_put(s->out, double_word(text));
	s->in += 3;
	return true;
}

/* Code point of a four-byte pointer, 0 for a hole (WHATWG section 5, "index gb18030 ranges code point"). */
static uint32_t four_byte_point(const uint16_t *basic, uint32_t pointer)
{
	if (pointer < GB18030_BASIC)
		return basic[pointer];
	if (pointer < 189000 || pointer > 1237575)
		return 0;
	return 0x10000 + (pointer - 189000);
}

/* A lead, a digit, a lead, a digit (WHATWG section 10.2.1). False: incomplete. */
static bool read_four_bytes(struct decoder *d, struct decoder_span *s)
{
	const uint8_t *p = s->in;

	if (span_left(s) >= 3 && !within(p[2], 0x81, 0xFE)) {
		span_replace(d, s, 1);
		return true;
	}
	if (span_left(s) < 4)
		return false;
	if (!within(p[3], 0x30, 0x39)) {
		span_replace(d, s, 1);
		return true;
	}
	uint32_t cp = four_byte_point(d->u.double_table->four,
	    ((p[0] - 0x81u) * 10 + p[1] - 0x30u) * 1260 + (p[2] - 0x81u) * 10 + p[3] - 0x30u);
	if (cp == 0) {
		span_replace(d, s, 4);
		return true;
	}
	s->out += utf8_encode(cp, s->out);
	s->in += 4;
	return true;
}

/* Reads the code at which copy_pairs() stopped. False: it is incomplete. */
static bool read_other(struct decoder *d, struct decoder_span *s)
{
	const struct double_table *table = d->u.double_table;
	const struct double_text *single = &table->single[s->in[0] - 0x80];

	if (single->utf8[0]) {
		s->out = double_put(s->out, double_word(single));
		s->in++;
		d->single++;
		return true;
	}
	if (!table->lead[s->in[0] - 0x80]) {
		span_replace(d, s, 1);
		return true;
	}
	if (span_left(s) < 2)
		return false;
	if (table->jis0212 && s->in[0] == JIS0212_LEAD && within(s->in[1], 0xA1, 0xFE))
		return read_jis0212(d, s);
	if (table->four && within(s->in[1], 0x30, 0x39))
		return read_four_bytes(d, s);
	span_replace(d, s, s->in[1] < 0x80 ? 1 : 2);
	return true;
}

static void double_run(struct decoder *d, struct decoder_span *s)
{
	const struct double_plane *plane = &d->u.double_table->pair;

	while (span_goes_on(s)) {
		if (*s->in < 0x80) {
			size_t len = span_left(s) < span_room(s) ? span_left(s) : span_room(s);

			len = utf8_ascii_copy(s->out, s->in, len);
			s->in += len;
			s->out += len;
			continue;
		}
		copy_pairs(plane, s);
		if (!span_goes_on(s) || *s->in < 0x80)
			continue;
		if (!read_other(d, s))
			return;
	}
}

const struct decoder_engine decoder_double = { .open = double_open, .run = double_run };
