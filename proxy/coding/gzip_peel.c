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

static bool peel_may(const struct normalise_options *options)
{
	struct media_type type;

	media_type_read(&type, options->content_type, options->content_type_len);
	return sniff_unpacks(options->http, &type);
}

struct gzip_peel *gzip_peel_new(const struct normalise_options *options, struct sink sink)
{
	struct gzip_peel *peel = calloc(1, sizeof *peel);

	if (!peel)
		return NULL;
	peel->options = options;
	peel->sink = sink;
	peel->state = peel_may(options) ? PEEL_WAITS : PEEL_PASSES;
	return peel;
}

void gzip_peel_free(struct gzip_peel **pp)
{
	struct gzip_peel *peel = *pp;

	if (!peel)
		return;
	content_coding_free(&peel->decode);
	free(peel->raw);
	free(peel);
	*pp = NULL;
}

static int peel_remember(struct gzip_peel *peel, const uint8_t *in, size_t len)
{
	if (peel->raw_cap - peel->raw_len < len) {
		size_t cap = 2 * (peel->raw_len + len);
		uint8_t *raw = realloc(peel->raw, cap);

		if (!raw)
			return NORMALISE_NO_MEMORY;
		peel->raw = raw;
		peel->raw_cap = cap;
	}
	memcpy(peel->raw + peel->raw_len, in, len);
	peel->raw_len += len;
	return 0;
}

static int peel_emit(struct gzip_peel *peel, const uint8_t *bytes, size_t len)
{
	return len > 0 ? peel->sink.write(peel->sink.arg, bytes, len) : 0;
}

/* The input goes on as it came. */
static int peel_pass(struct gzip_peel *peel)
{
	int rc = peel_emit(peel, peel->raw, peel->raw_len);

	peel->state = PEEL_PASSES;
	content_coding_free(&peel->decode);
	free(peel->raw);
	peel->raw = NULL;
	return rc;
}

static bool peel_finds_feed(const struct gzip_peel *peel)
{
	const struct normalise_options *options = peel->options;
	struct evidence e;

	evidence_labels(&e, options->http, options->content_type, options->content_type_len, options->forced);
	e.unpacked = true;
	evidence_look(&e, peel->plain, peel->plain_len, true);
	return sniff_decide(&e) == SNIFF_FEED;
}

static int peel_decide(struct gzip_peel *peel)
{
	if (!peel_finds_feed(peel))
		return peel_pass(peel);
	peel->state = PEEL_UNPACKS;
	return peel_emit(peel, peel->plain, peel->plain_len);
}

static bool peel_goes_on(enum content_coding_result r)
{
	return r == DECODE_ROOM || r == DECODE_PAUSE;
}

static int peel_unpack(struct gzip_peel *peel, const uint8_t *in, size_t len)
{
	enum content_coding_result r;
	size_t n;
	int rc = 0;

	do {
		r = content_coding_run(peel->decode, &in, &len, peel->plain, sizeof peel->plain, &n);
		rc = peel_emit(peel, peel->plain, n);
	} while (rc == 0 && peel_goes_on(r));
	return rc || r == DECODE_MORE ? rc : r == DECODE_NO_MEMORY ? NORMALISE_NO_MEMORY : GZIP_PEEL_DAMAGED;
}

/* Unpacks bytes that are remembered already, until the window is full. */
static int peel_look(struct gzip_peel *peel, const uint8_t *in, size_t len)
{
	enum content_coding_result r;
	size_t n;

	do {
		r = content_coding_run(peel->decode, &in, &len, peel->plain + peel->plain_len,
		    sizeof peel->plain - peel->plain_len, &n);
		peel->plain_len += n;
	} while (peel_goes_on(r) && peel->plain_len < sizeof peel->plain);
	if (r != DECODE_MORE && !peel_goes_on(r))
		return r == DECODE_NO_MEMORY ? NORMALISE_NO_MEMORY : peel_pass(peel);
	if (peel->plain_len < sizeof peel->plain)
		return peel->raw_len > RAW_MOST ? peel_pass(peel) : 0;
	int rc = peel_decide(peel);
	return rc == 0 && peel->state == PEEL_UNPACKS ? peel_unpack(peel, in, len) : rc;
}

/* The first bytes are there: whether they are gzip. */
static int peel_judge(struct gzip_peel *peel)
{
	static const struct content_coding_limits limits = { PEEL_RATIO, CONTENT_CODING_RATIO_AFTER, PEEL_MOST,
		UINT64_MAX };

	if (!container_is_gzip(peel->raw, peel->raw_len))
		return peel_pass(peel);
	peel->state = PEEL_LOOKS;
	peel->decode = content_coding_gzip(&limits);
	return peel->decode ? peel_look(peel, peel->raw, peel->raw_len) : NORMALISE_NO_MEMORY;
}

int gzip_peel_feed(struct gzip_peel *peel, const uint8_t *in, size_t len)
{
	if (len == 0)
		return 0;
	switch (peel->state) {
	case PEEL_PASSES:
		return peel_emit(peel, in, len);
	case PEEL_UNPACKS:
		return peel_unpack(peel, in, len);
	default:
		break;
	}
	if (peel_remember(peel, in, len) != 0)
		return NORMALISE_NO_MEMORY;
	if (peel->state == PEEL_LOOKS)
		return peel_look(peel, in, len);
	return peel->raw_len < GZIP_MAGIC && peel->raw[0] == GZIP_FIRST ? 0 : peel_judge(peel);
}

int gzip_peel_finish(struct gzip_peel *peel)
{
	if (peel->state == PEEL_WAITS || (peel->state == PEEL_LOOKS && !content_coding_complete(peel->decode)))
		return peel_pass(peel);
	if (peel->state == PEEL_LOOKS)
		return peel_decide(peel);
	return peel->state == PEEL_UNPACKS && !content_coding_complete(peel->decode) ? GZIP_PEEL_DAMAGED : 0;
}

bool gzip_peel_has_unpacked(const struct gzip_peel *peel)
{
	return peel->state == PEEL_UNPACKS;
}
