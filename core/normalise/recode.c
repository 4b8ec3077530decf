/* Owns the chain that a body runs through once its charset is decided; see recode.h.
 * Well-formed UTF-8 does not pass through a decoder: it goes to repair without being copied. */
#include "core/normalise/recode.h"

#include <stdlib.h>

#include "core/decode/decoder.h"
#include "core/memory/spares.h"
#include "core/normalise/mixed.h"
#include "core/repair/ascii.h"
#include "core/text/utf8.h"

enum { OUT_BYTES = 16384 };

struct recode {
	struct spares *spares;
	enum charset charset;
	struct decoder *decoder;    /* NULL: the bytes are read node by node */
	struct mixed *mixed;        /* NULL: they are not */
	bool straight;              /* UTF-8, and the decoder holds no part of a character */
	struct repair *repair;
	struct ascii *ascii;        /* NULL: UTF-8 output */
};

static int write_ascii(void *arg, const uint8_t *bytes, size_t len)
{
	return ascii_feed(arg, bytes, len);
}

static int write_repair(void *arg, const uint8_t *bytes, size_t len)
{
	return repair_feed(arg, bytes, len);
}

struct recode *recode_new(enum charset charset, unsigned decoder_flags, unsigned repairs, bool to_ascii,
    struct sink sink, struct spares *spares)
{
	struct recode *r = spares_take(spares, sizeof(*r));

	if (!r)
		goto fail;
	r->spares = spares;
	if (to_ascii) {
		r->ascii = ascii_new(sink);
		if (!r->ascii)
			goto fail;
		sink = (struct sink){ write_ascii, r->ascii };
	}
	r->repair =
	    repair_new(repairs, charset_info(charset)->family == FAMILY_EBCDIC, to_ascii ? "US-ASCII" : "UTF-8", sink,
	        spares);
	if (r->repair && recode_change(r, charset, decoder_flags) == 0)
		return r;
fail:
	recode_free(&r);
	return NULL;
}

void recode_free(struct recode **r)
{
	if (*r) {
		decoder_free(&(*r)->decoder);
		mixed_free(&(*r)->mixed);
		repair_free(&(*r)->repair);
		ascii_free(&(*r)->ascii);
		spares_give((*r)->spares, *r, sizeof(**r));
	}
	*r = NULL;
}

int recode_set_other(struct recode *r, enum charset other, const struct hints *hints, int says_utf_8)
{
	return r->mixed ? mixed_set_other(r->mixed, other, hints, says_utf_8) : 0;
}

int recode_change(struct recode *r, enum charset charset, unsigned decoder_flags)
{
	bool by_nodes = decoder_flags & DECODER_STRAYS;
	struct mixed *mixed = by_nodes ? mixed_new((struct sink){ write_repair, r->repair }, r->spares) : NULL;
	struct decoder *decoder = by_nodes ? NULL : decoder_new(charset, decoder_flags);

	if (!mixed && !decoder)
		return -1;
	decoder_free(&r->decoder);
	mixed_free(&r->mixed);
	r->decoder = decoder;
	r->mixed = mixed;
	r->charset = charset;
	r->straight = charset == CS_UTF_8;
	return 0;
}

static int recode_decode(struct recode *r, const uint8_t *in, size_t len)
{
	uint8_t text[OUT_BYTES];

	while (len > 0) {
		size_t used = 0, out = decoder_feed(r->decoder, in, len, &used, text, sizeof(text));
		int rc = repair_feed(r->repair, text, out);

		if (rc)
			return rc;
		in += used;
		len -= used;
	}
	return 0;
}

/* The offset behind the next ASCII byte, where the decoder holds no part of a character; len: there is none. */
static size_t past_ascii(const uint8_t *in, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (in[i] < 0x80)
			return i + 1;
	return len;
}

static int feed_utf_8(struct recode *r, const uint8_t *in, size_t len)
{
	int rc = 0;

	while (rc == 0 && len > 0) {
		size_t n;

		if (r->straight) {
			n = utf8_valid_prefix(in, len);
			rc = repair_feed(r->repair, in, n);
			r->straight = n == len;
		} else {
			n = past_ascii(in, len);
			rc = recode_decode(r, in, n);
			r->straight = in[n - 1] < 0x80;
		}
		in += n;
		len -= n;
	}
	return rc;
}

int recode_feed(struct recode *r, const uint8_t *in, size_t len)
{
	if (r->mixed)
		return mixed_feed(r->mixed, in, len);
	return r->charset == CS_UTF_8 ? feed_utf_8(r, in, len) : recode_decode(r, in, len);
}

int recode_text(struct recode *r, const uint8_t *in, size_t len)
{
	return repair_feed(r->repair, in, len);
}

int recode_finish(struct recode *r)
{
	uint8_t text[DECODER_MIN_OUT];
	int rc;

	if (r->mixed)
		rc = mixed_finish(r->mixed);
	else
		rc = repair_feed(r->repair, text, decoder_finish(r->decoder, text, sizeof(text)));
	return rc ? rc : repair_finish(r->repair);
}

struct repair *recode_repair(const struct recode *r)
{
	return r->repair;
}

uint64_t recode_malformed(const struct recode *r)
{
	return r->mixed ? mixed_malformed(r->mixed) : decoder_malformed(r->decoder);
}

uint64_t recode_others(const struct recode *r)
{
	return r->mixed ? mixed_others(r->mixed) : 0;
}

uint64_t recode_lost(const struct recode *r)
{
	return r->ascii ? ascii_lost(r->ascii) : 0;
}
