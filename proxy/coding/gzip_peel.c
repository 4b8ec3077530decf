/* Gzip that nothing tells of; see gzip_peel.h. */
#include "proxy/coding/gzip_peel.h"

#include <stdlib.h>
#include <string.h>

#include "core/evidence/container.h"
#include "core/evidence/sniff.h"
#include "proxy/coding/content_coding.h"

enum {
	RAW_MOST = 4 * NORMALISE_SNIFF_BYTES,
	/* as the options decoded-ratio and decoded-max have them by default */
	PEEL_RATIO = 100, PEEL_MOST = 32 << 20
};

enum peel_state {
	PEEL_WAITS,            /* for the first bytes */
	PEEL_LOOKS,            /* unpacks until what it finds shows whether it is a feed */
	PEEL_PASSES,           /* the input goes on */
	PEEL_UNPACKS           /* what it unpacks to goes on */
};

struct gzip_peel {
	enum peel_state state;
	struct sink sink;
	const struct normalise_options *options;
	struct content_coding *decode;
	uint8_t *raw;                  /* the input until it was decided; NULL: it has gone on */
	size_t raw_len, raw_cap;
	size_t plain_len;
	uint8_t plain[NORMALISE_SNIFF_BYTES];
};

static bool peel_may(const struct normalise_options *o)
{
	struct media_type type;

	media_type_read(&type, o->content_type, o->content_type_len);
	return sniff_unpacks(o->http, &type);
}

struct gzip_peel *gzip_peel_new(const struct normalise_options *options, struct sink sink)
{
	struct gzip_peel *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->options = options;
	p->sink = sink;
	p->state = peel_may(options) ? PEEL_WAITS : PEEL_PASSES;
	return p;
}

void gzip_peel_free(struct gzip_peel **pp)
{
	struct gzip_peel *p = *pp;

	if (!p)
		return;
	content_coding_free(&p->decode);
	free(p->raw);
	free(p);
	*pp = NULL;
}

static int peel_remember(struct gzip_peel *p, const uint8_t *in, size_t len)
{
	if (p->raw_cap - p->raw_len < len) {
		size_t cap = 2 * (p->raw_len + len);
		uint8_t *raw = realloc(p->raw, cap);

		if (!raw)
			return NORMALISE_NO_MEMORY;
		p->raw = raw;
		p->raw_cap = cap;
	}
	memcpy(p->raw + p->raw_len, in, len);
	p->raw_len += len;
	return 0;
}

static int peel_emit(struct gzip_peel *p, const uint8_t *bytes, size_t len)
{
	return len > 0 ? p->sink.write(p->sink.arg, bytes, len) : 0;
}

/* The input goes on as it came. */
static int peel_pass(struct gzip_peel *p)
{
	int rc = peel_emit(p, p->raw, p->raw_len);

	p->state = PEEL_PASSES;
	content_coding_free(&p->decode);
	free(p->raw);
	p->raw = NULL;
	return rc;
}

static bool peel_finds_feed(const struct gzip_peel *p)
{
	const struct normalise_options *o = p->options;
	struct evidence e;

	evidence_labels(&e, o->http, o->content_type, o->content_type_len, o->forced);
	e.unpacked = true;
	evidence_look(&e, p->plain, p->plain_len, true);
	return sniff_decide(&e) == SNIFF_FEED;
}

static int peel_decide(struct gzip_peel *p)
{
	if (!peel_finds_feed(p))
		return peel_pass(p);
	p->state = PEEL_UNPACKS;
	return peel_emit(p, p->plain, p->plain_len);
}

static bool peel_goes_on(enum content_coding_result r)
{
	return r == DECODE_ROOM || r == DECODE_PAUSE;
}

static int peel_unpack(struct gzip_peel *p, const uint8_t *in, size_t len)
{
	enum content_coding_result r;
	size_t n;
	int rc = 0;

	do {
		r = content_coding_run(p->decode, &in, &len, p->plain, sizeof p->plain, &n);
		rc = peel_emit(p, p->plain, n);
	} while (rc == 0 && peel_goes_on(r));
	return rc || r == DECODE_MORE ? rc : r == DECODE_NO_MEMORY ? NORMALISE_NO_MEMORY : GZIP_PEEL_DAMAGED;
}

/* Unpacks bytes that are remembered already, until the window is full. */
static int peel_look(struct gzip_peel *p, const uint8_t *in, size_t len)
{
	enum content_coding_result r;
	size_t n;
	int rc;

	do {
		r = content_coding_run(p->decode, &in, &len, p->plain + p->plain_len, sizeof p->plain - p->plain_len,
		    &n);
		p->plain_len += n;
	} while (peel_goes_on(r) && p->plain_len < sizeof p->plain);
	if (r != DECODE_MORE && !peel_goes_on(r))
		return r == DECODE_NO_MEMORY ? NORMALISE_NO_MEMORY : peel_pass(p);
	if (p->plain_len < sizeof p->plain)
		return p->raw_len > RAW_MOST ? peel_pass(p) : 0;
	rc = peel_decide(p);
	return rc == 0 && p->state == PEEL_UNPACKS ? peel_unpack(p, in, len) : rc;
}

/* The first bytes are there: whether they are gzip. */
static int peel_judge(struct gzip_peel *p)
{
	static const struct content_coding_limits limits = { PEEL_RATIO, CONTENT_CODING_RATIO_AFTER, PEEL_MOST,
		UINT64_MAX };

	if (!container_is_gzip(p->raw, p->raw_len))
		return peel_pass(p);
	p->state = PEEL_LOOKS;
	p->decode = content_coding_gzip(&limits);
	return p->decode ? peel_look(p, p->raw, p->raw_len) : NORMALISE_NO_MEMORY;
}

int gzip_peel_feed(struct gzip_peel *p, const uint8_t *in, size_t len)
{
	if (len == 0)
		return 0;
	switch (p->state) {
	case PEEL_PASSES:
		return peel_emit(p, in, len);
	case PEEL_UNPACKS:
		return peel_unpack(p, in, len);
	default:
		break;
	}
	if (peel_remember(p, in, len) != 0)
		return NORMALISE_NO_MEMORY;
	if (p->state == PEEL_LOOKS)
		return peel_look(p, in, len);
	return p->raw_len < GZIP_MAGIC && p->raw[0] == GZIP_FIRST ? 0 : peel_judge(p);
}

int gzip_peel_finish(struct gzip_peel *p)
{
	if (p->state == PEEL_WAITS || (p->state == PEEL_LOOKS && !content_coding_complete(p->decode)))
		return peel_pass(p);
	if (p->state == PEEL_LOOKS)
		return peel_decide(p);
	return p->state == PEEL_UNPACKS && !content_coding_complete(p->decode) ? GZIP_PEEL_DAMAGED : 0;
}

bool gzip_peel_has_unpacked(const struct gzip_peel *p)
{
	return p->state == PEEL_UNPACKS;
}
