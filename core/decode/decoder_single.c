/* Owns the engine of single-byte sets.
 * Must not know: any of the sets, which are tables (decoder_table.h).
 * Invariant: every byte is a character, so nothing is ever incomplete. */
#include <errno.h>

#include "core/decode/decoder_basic.h"
#include "core/decode/decoder_impl.h"
#include "core/decode/decoder_table.h"
#include "core/text/ascii_block.h"

static int single_open(struct decoder *d)
{
	d->u.single_table = decoder_table_single(d->charset, d->flags & DECODER_LITERAL);
	return d->u.single_table ? 0 : errno;
}

static size_t single_count_malformed(const struct decoder *d, const uint8_t *in, size_t len)
{
	const struct single_table *table = d->u.single_table;
	size_t malformed = 0;

	for (size_t i = 0; table->holes && i < len; i++)
		malformed += (table->text[in[i]][SINGLE_LENGTH] & SINGLE_HOLE) != 0;
	return malformed;
}

static void single_run(struct decoder *d, struct decoder_span *s)
{
	const struct single_table *table = d->u.single_table;
	const struct decoder_basic *basic = decoder_basic();

	if (table->basic && basic)
		d->malformed += basic->single(s, table);
	const uint8_t *in = s->in;
	uint8_t *out = s->out;
	while (s->in_end - in >= ASCII_BLOCK && s->out_end - out >= DECODER_MIN_OUT) {
		if (table->ascii && ascii_block(in)) {
			memcpy(out, in, ASCII_BLOCK);
			out += ASCII_BLOCK;
		} else {
			for (unsigned i = 0; i < ASCII_BLOCK; i++)
				out = single_put(out, table->text[in[i]]);
		}
		in += ASCII_BLOCK;
	}
	while (in < s->in_end && s->out_end - out >= DECODER_MIN_OUT)
		out = single_put(out, table->text[*in++]);
	d->malformed += single_count_malformed(d, s->in, (size_t)(in - s->in));
	s->in = in;
	s->out = out;
}

const struct decoder_engine decoder_single = { .open = single_open, .run = single_run,
	.count_malformed = single_count_malformed };
