/* Owns the UTF-8 engine: validate, copy, replace what is ill-formed.
 * Must not know: what well-formed means (utf8.h), which faults there are (utf8_fault.h).
 * Invariant: only bytes that utf8_valid_prefix() passed are copied. */
#include "core/decode/decoder_impl.h"
#include "core/decode/decoder_table.h"
#include "core/text/utf8.h"
#include "core/text/utf8_fault.h"

#include <assert.h>
#include <errno.h>

static int utf8_open(struct decoder *d)
{
	return d->flags & DECODER_STRAYS ? decoder_set_strays(d, CS_WINDOWS_1252) : 0;
}

int decoder_set_strays(struct decoder *d, enum charset cs)
{
	const struct single_table *table = NULL;

	assert(d->flags & DECODER_STRAYS);
	if (charset_info(cs)->kind == KIND_SINGLE_BYTE) {
		table = decoder_table_single(cs, false);
		if (!table)
			return errno;
	}
	d->u.single_table = table;
	return 0;
}

/* A block is validated and copied while it is in the nearest cache. */
enum { BLOCK = 4096 };

static size_t copy_valid(struct decoder *d, struct decoder_span *s)
{
	size_t len = span_left(s) < span_room(s) ? span_left(s) : span_room(s);
	size_t valid = utf8_valid_prefix(s->in, len < BLOCK ? len : BLOCK);

	span_put(s, s->in, valid);
	s->in += valid;
	d->after_stray &= valid == 0;
	return valid;
}

static void read_stray(struct decoder *d, struct decoder_span *s)
{
	if (!d->u.single_table) {
		span_replace(d, s, 1);
		return;
	}
	d->after_stray = true;
	const uint8_t *text = d->u.single_table->text[*s->in++];
	span_put(s, text, text[SINGLE_LENGTH] & ~SINGLE_HOLE);
	d->malformed++;
}

static void read_fault(struct decoder *d, struct decoder_span *s, const struct utf8_fault *fault)
{
	uint8_t character[4];

	d->after_stray = false;
	switch (fault->kind) {
	case FAULT_STRAY:
		read_stray(d, s);
		break;
	case FAULT_PAIR:
		span_put(s, character, utf8_encode(fault->character, character));
		s->in += fault->len;
		break;
	case FAULT_NUL:
		s->in += fault->len;
		d->malformed++;
		break;
	case FAULT_CUT:
	case FAULT_FORBIDDEN:
		span_replace(d, s, fault->len);
		break;
	}
}

/* False: the bytes end within a character. */
static bool read_ill_formed(struct decoder *d, struct decoder_span *s)
{
	struct utf8_fault fault;
	bool incomplete;

	if (d->flags & DECODER_STRAYS) {
		fault = utf8_fault(s->in, span_left(s));
		if (!fault.incomplete)
			read_fault(d, s, &fault);
		return !fault.incomplete;
	}
	size_t bad = utf8_bad_length(s->in, span_left(s), &incomplete);
	if (!incomplete)
		span_replace(d, s, bad);
	return !incomplete;
}

static void utf8_run(struct decoder *d, struct decoder_span *s)
{
	while (span_goes_on(s))
		if (copy_valid(d, s) == 0 && !read_ill_formed(d, s))
			return;
}

/* A lead at the end is a character that was cut; behind a stray byte it is another one of these. */
static void utf8_flush(struct decoder *d, struct decoder_span *s)
{
	if (d->after_stray && span_left(s) == 1)
		read_stray(d, s);
	d->after_stray = false;
}

const struct decoder_engine decoder_utf8 = { .open = utf8_open, .run = utf8_run, .flush = utf8_flush };
