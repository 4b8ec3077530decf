/* Owns the UTF-16 and UTF-32 engines: code units of two and four bytes in every byte order.
 * Must not know: the meaning of byte order marks; U+FEFF is a character that only settles the order of CS_UTF_16 and
 * CS_UTF_32.
 * Source: Unicode chapter 3 (D91, D90), RFC 2781 section 4.3 (no mark: big-endian), XML 1.0 Appendix F.1 (unusual
 * orders). */
#include "core/decode/decoder_basic.h"
#include "core/decode/decoder_impl.h"
#include "core/text/utf8.h"

/* Shifts by position: 1234, 4321, and the orders 2143 and 3412. */
static const struct decoder_order big16 = { { 8, 0 } }, little16 = { { 0, 8 } };
static const struct decoder_order big32 = { { 24, 16, 8, 0 } }, little32 = { { 0, 8, 16, 24 } };
static const struct decoder_order order2143 = { { 16, 24, 0, 8 } }, order3412 = { { 8, 0, 24, 16 } };

static const struct decoder_order *const orders[CS_COUNT] = {
	[CS_UTF_16BE] = &big16, [CS_UTF_16LE] = &little16,
	[CS_UTF_32BE] = &big32, [CS_UTF_32LE] = &little32,
	[CS_UCS_4_2143] = &order2143, [CS_UCS_4_3412] = &order3412,
};

static int order_open(struct decoder *d)
{
	d->u.order = orders[d->charset];
	return 0;
}

static inline uint32_t unit16(const uint8_t *p, const struct decoder_order *order)
{
	return (uint32_t)p[0] << order->shift[0] | (uint32_t)p[1] << order->shift[1];
}

static inline uint32_t unit32(const uint8_t *p, const struct decoder_order *order)
{
	return (uint32_t)p[0] << order->shift[0] | (uint32_t)p[1] << order->shift[1] |
	    (uint32_t)p[2] << order->shift[2] | (uint32_t)p[3] << order->shift[3];
}

/* How many code units are sure to fit the room left, where each writes up to `most` bytes. */
static inline size_t units_that_fit(const struct decoder_span *s, size_t unit, size_t most)
{
	size_t units = span_left(s) / unit, fit = span_room(s) / most;

	return units < fit ? units : fit;
}

/* Copies characters of the basic plane, up to the first surrogate. */
static inline void copy_basic_in(struct decoder_order order, struct decoder_span *s)
{
	const uint8_t *in = s->in;
	uint8_t *out = s->out;

	for (size_t n = units_that_fit(s, 2, 4); n > 0; n--, in += 2) {
		uint32_t cp = unit16(in, &order);

		if (cp < 0x80) {
			*out++ = (uint8_t)cp;
		} else if (cp < 0x800) {
			*out++ = (uint8_t)(0xC0 | cp >> 6);
			*out++ = (uint8_t)(0x80 | (cp & 0x3F));
		} else if ((cp & 0xF800) != 0xD800) {
			*out++ = (uint8_t)(0xE0 | cp >> 12);
			*out++ = (uint8_t)(0x80 | (cp >> 6 & 0x3F));
			*out++ = (uint8_t)(0x80 | (cp & 0x3F));
		} else {
			break;
		}
	}
	s->in = in;
	s->out = out;
}

/* Calls copy_basic_in() with constants, since shift counts known to the compiler make it a third faster. */
static void copy_basic(const struct decoder_order *order, struct decoder_span *s)
{
	if (order == &big16)
		copy_basic_in(big16, s);
	else
		copy_basic_in(little16, s);
}

static void utf16_run(struct decoder *d, struct decoder_span *s)
{
	const struct decoder_basic *basic = decoder_basic();

	if (!d->u.order && span_left(s) >= 2)
		d->u.order = unit16(s->in, &little16) == 0xFEFF ? &little16 : &big16;
	while (span_goes_on(s) && span_left(s) >= 2) {
		uint32_t high, low;

		if (basic)
			basic->utf16(s, d->u.order == &big16);
		copy_basic(d->u.order, s);
		if (!span_goes_on(s) || span_left(s) < 2)
			return;
		high = unit16(s->in, d->u.order);
		if ((high & 0xFC00) == 0xD800 && span_left(s) < 4)
			return;
		if ((high & 0xF800) != 0xD800)
			continue;
		low = (high & 0xFC00) == 0xD800 ? unit16(s->in + 2, d->u.order) : 0;
		if ((low & 0xFC00) != 0xDC00) {
			span_replace(d, s, 2);
			continue;
		}
		s->out += utf8_encode(0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF), s->out);
		s->in += 4;
	}
}

static void utf32_run(struct decoder *d, struct decoder_span *s)
{
	if (!d->u.order && span_left(s) >= 4)
		d->u.order = unit32(s->in, &little32) == 0xFEFF ? &little32 : &big32;
	while (span_goes_on(s) && span_left(s) >= 4) {
		uint32_t cp = unit32(s->in, d->u.order);

		if (cp > 0x10FFFF || (cp & 0xFFFFF800) == 0xD800) {
			span_replace(d, s, 4);
			continue;
		}
		s->out += utf8_encode(cp, s->out);
		s->in += 4;
	}
}

const struct decoder_engine decoder_utf16 = { .open = order_open, .run = utf16_run };
const struct decoder_engine decoder_utf32 = { .open = order_open, .run = utf32_run };
