/* Owns the UTF-8 engine: validate, copy, replace what is ill-formed.
 * Must not know: what well-formed means (utf8.h).
 * Invariant: only bytes that utf8_valid_prefix() passed are copied. */
#include "core/decode/decoder_impl.h"
#include "core/decode/decoder_table.h"
#include "core/text/utf8.h"

#include <errno.h>

static int utf8_open(struct decoder *d)
{
	if (!(d->flags & DECODER_STRAY_1252))
		return 0;
	d->u.single_table = decoder_table_single(CS_WINDOWS_1252, false);
	return d->u.single_table ? 0 : errno;
}

/* A block is validated and copied while it is in the nearest cache. */
enum { BLOCK = 4096 };

static size_t copy_valid(struct decoder_span *s)
{
	size_t len = span_left(s) < span_room(s) ? span_left(s) : span_room(s);
	size_t valid = utf8_valid_prefix(s->in, len < BLOCK ? len : BLOCK);

	span_put(s, s->in, valid);
	s->in += valid;
	return valid;
}

static void read_as_1252(struct decoder *d, struct decoder_span *s, size_t len)
{
	for (; len > 0; len--) {
		const uint8_t *text = d->u.single_table->text[*s->in++];

		span_put(s, text, text[SINGLE_LENGTH]);
		d->malformed++;
	}
}

static void utf8_run(struct decoder *d, struct decoder_span *s)
{
	while (span_goes_on(s)) {
		bool incomplete;
		size_t bad;

		if (copy_valid(s) > 0)
			continue;
		bad = utf8_bad_length(s->in, span_left(s), &incomplete);
		if (incomplete)
			return;
		if (d->flags & DECODER_STRAY_1252)
			read_as_1252(d, s, bad);
		else
			span_replace(d, s, bad);
	}
}

const struct decoder_engine decoder_utf8 = { .open = utf8_open, .run = utf8_run };
