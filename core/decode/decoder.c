/* Owns the stream: carry over the borders of calls, the choice of engine, the trial of a label, the self-test.
 * Must not know: any encoding.
 * Invariant: an engine sees every character in one piece, so what it writes cannot depend on how the input was cut. */
#include "core/decode/decoder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/decode/decoder_impl.h"
#include "core/text/utf8.h"

static const struct decoder_engine *const engines[] = {
	[KIND_UTF_8] = &decoder_utf8,
	[KIND_UTF_16] = &decoder_utf16,
	[KIND_UTF_32] = &decoder_utf32,
	[KIND_SINGLE_BYTE] = &decoder_single,
	[KIND_DOUBLE_BYTE] = &decoder_double,
	[KIND_ISO_2022_JP] = &decoder_2022jp,
	[KIND_ICONV] = &decoder_iconv,
};

static int decoder_open(struct decoder *d, enum charset cs, unsigned flags)
{
	*d = (struct decoder){ .engine = engines[charset_info(cs)->kind], .charset = cs, .flags = flags };
	assert(!(flags & DECODER_STRAYS) || cs == CS_UTF_8);
	return d->engine->open(d);
}

static void decoder_close(struct decoder *d)
{
	if (d->engine->close)
		d->engine->close(d);
}

struct decoder *decoder_new(enum charset cs, unsigned flags)
{
	struct decoder *d = malloc(sizeof *d);

	if (!d)
		return NULL;
	int error = decoder_open(d, cs, flags);
	if (error) {
		free(d);
		errno = error;
		return NULL;
	}
	return d;
}

void decoder_free(struct decoder **dp)
{
	if (!*dp)
		return;
	decoder_close(*dp);
	free(*dp);
	*dp = NULL;
}

/* Completes the character in the carry with bytes of s. True: the carry is empty, and the rest of s can be read. */
static bool carry_resolve(struct decoder *d, struct decoder_span *s)
{
	while (d->carry_len > 0 && span_room(s) >= DECODER_MIN_OUT) {
		size_t old = d->carry_len, more = span_left(s), used;
		struct decoder_span joined = { .in = d->carry, .out = s->out, .out_end = s->out_end };

		if (more > sizeof d->carry - old)
			more = sizeof d->carry - old;
		memcpy(d->carry + old, s->in, more);
		joined.in_end = d->carry + old + more;
		d->engine->run(d, &joined);
		used = (size_t)(joined.in - d->carry);
		s->out = joined.out;
		if (used >= old) {
			d->carry_len = 0;
			s->in += used - old;
		} else if (used > 0) {
			memmove(d->carry, d->carry + used, old - used);
			d->carry_len = (uint8_t)(old - used);
		} else {
			assert(old + more < sizeof d->carry);
			d->carry_len = (uint8_t)(old + more);
			s->in += more;
			return false;
		}
	}
	return d->carry_len == 0;
}

size_t decoder_feed(struct decoder *d, const uint8_t *in, size_t in_len, size_t *consumed, uint8_t *out, size_t out_cap)
{
	struct decoder_span s = { .in = in, .in_end = in + in_len, .out = out, .out_end = out + out_cap };

	assert(out_cap >= DECODER_MIN_OUT);
	if (in_len > 0 && carry_resolve(d, &s)) {
		d->engine->run(d, &s);
		if (s.in < s.in_end && span_room(&s) >= DECODER_MIN_OUT) {
			assert(span_left(&s) < sizeof d->carry);
			d->carry_len = (uint8_t)span_left(&s);
			memcpy(d->carry, s.in, d->carry_len);
			s.in = s.in_end;
		}
	}
	*consumed = (size_t)(s.in - in);
	return (size_t)(s.out - out);
}

size_t decoder_finish(struct decoder *d, uint8_t *out, size_t out_cap)
{
	struct decoder_span s = { .in = d->carry, .in_end = d->carry + d->carry_len, .out = out,
		.out_end = out + out_cap };

	assert(out_cap >= DECODER_MIN_OUT);
	if (d->engine->flush)
		d->engine->flush(d, &s);
	if (s.in < s.in_end)
		span_replace(d, &s, span_left(&s));
	d->carry_len = 0;
	return (size_t)(s.out - out);
}

uint64_t decoder_malformed(const struct decoder *d)
{
	return d->malformed;
}

/* Decodes all bytes and drops the text. Returns how many characters are not ASCII. */
static size_t decode_all(struct decoder *d, const uint8_t *bytes, size_t len, bool complete)
{
	uint8_t text[8192];
	size_t wide = 0;

	for (size_t at = 0, used; at < len; at += used)
		wide += utf8_leads(text, decoder_feed(d, bytes + at, len - at, &used, text, sizeof text));
	if (complete)
		wide += utf8_leads(text, decoder_finish(d, text, sizeof text));
	return wide;
}

static bool has_few_faults(const struct decoder_trial *t, const uint8_t *bytes, size_t len)
{
	size_t beyond = 0;

	for (size_t i = 0; i < len; i++)
		beyond += bytes[i] >> 7;
	return t->malformed * DECODER_TEXT_PER_FAULT <= (beyond > t->multibyte ? beyond : t->multibyte);
}

int decoder_try(enum charset cs, const uint8_t *bytes, size_t len, bool complete, struct decoder_trial *trial)
{
	struct decoder d;
	size_t wide;

	*trial = (struct decoder_trial){ 0 };
	errno = decoder_open(&d, cs, 0);
	if (errno)
		return -1;
	if (d.engine->count_malformed)
		trial->malformed = d.engine->count_malformed(&d, bytes, len);
	else {
		wide = decode_all(&d, bytes, len, complete);
		trial->malformed = (size_t)(d.malformed - d.careless);
		trial->multibyte = wide - (size_t)(d.malformed + d.single);
	}
	trial->accepts = trial->malformed == 0;
	trial->reads = trial->accepts || has_few_faults(trial, bytes, len);
	decoder_close(&d);
	return 0;
}

static bool can_open(enum charset cs, unsigned flags)
{
	struct decoder d;

	if (decoder_open(&d, cs, flags) != 0)
		return false;
	decoder_close(&d);
	return true;
}

size_t decoder_selftest(const char **missing)
{
	bool literal[CS_COUNT] = { false };
	const struct charset_label *label;
	size_t failed = 0;

	for (size_t i = 0; (label = charset_label_at(i)); i++)
		literal[label->charset] |= label->literal;
	*missing = NULL;
	for (enum charset cs = CS_NONE + 1; cs < CS_COUNT; cs++) {
		if (can_open(cs, 0) && (!literal[cs] || can_open(cs, DECODER_LITERAL)))
			continue;
		if (failed++ == 0)
			*missing = charset_name(cs);
	}
	return failed;
}
