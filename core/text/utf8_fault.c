/* Owns telling apart the faults of UTF-8; see utf8_fault.h. */
#include "core/text/utf8_fault.h"

enum {
	SURROGATE_LEAD = 0xED,      /* its second byte tells surrogates from characters below U+D800 */
	HIGH_FROM = 0xA0, LOW_FROM = 0xB0,
	TOO_HIGH = 0xF5             /* leads from here on encode nothing */
};

static bool is_continuation(uint8_t b)
{
	return (b & 0xC0) == 0x80;
}

/* How many bytes a lead announces. 1: the byte is not a lead. */
static size_t announced(uint8_t b)
{
	return b < 0xC0 || b >= 0xF8 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
}

/* How many of the announced bytes are there. */
static size_t present(const uint8_t *p, size_t len)
{
	size_t n = 1;

	while (n < len && n < announced(p[0]) && is_continuation(p[n]))
		n++;
	return n;
}

static uint32_t pair_of(const uint8_t *p)
{
	return 0x10000 + ((p[1] & 0x0Fu) << 16 | (p[2] & 0x3Fu) << 10 | (p[4] & 0x0Fu) << 6 | (p[5] & 0x3Fu));
}

/* A surrogate of three bytes. A low one behind a high one makes a pair. */
static struct utf8_fault surrogate(const uint8_t *p, size_t len)
{
	struct utf8_fault lone = { .kind = FAULT_FORBIDDEN, .len = 3 };
	bool high = p[1] < LOW_FROM;

	if (!high || (len > 3 && p[3] != SURROGATE_LEAD) || (len > 4 && (p[4] < LOW_FROM || !is_continuation(p[4]))))
		return lone;
	if (len < UTF8_FAULT_MAX) {
		lone.incomplete = true;
		return lone;
	}
	if (!is_continuation(p[5]))
		return lone;
	return (struct utf8_fault){ .kind = FAULT_PAIR, .len = UTF8_FAULT_MAX, .character = pair_of(p) };
}

struct utf8_fault utf8_fault(const uint8_t *p, size_t len)
{
	size_t n = present(p, len), whole = announced(p[0]);
	struct utf8_fault fault = { .len = n, .incomplete = n == len && n < whole };

	if (n == whole && whole == 3 && p[0] == SURROGATE_LEAD && p[1] >= HIGH_FROM)
		return surrogate(p, len);
	if (n == whole && whole > 1)
		fault.kind = p[0] == 0xC0 && p[1] == 0x80 ? FAULT_NUL : FAULT_FORBIDDEN;
	else if (n > 1 && p[0] < TOO_HIGH)
		fault.kind = FAULT_CUT;
	else
		fault.len = 1;
	return fault;
}
