/* Owns what a normaliser did with a body, for tests that compare it with what another did.
 * Must not know: the body, the options. */
#ifndef UTFEED_TESTS_UNIT_NORMALISE_SEEN_H
#define UTFEED_TESTS_UNIT_NORMALISE_SEEN_H

#include "core/normalise/normalise.h"

#include <stdbool.h>
#include <string.h>

enum { SEEN_MOST = 1 << 18 };

struct seen {
	int rc;
	char rule[VERDICT_FORMAT_MAX];
	struct normalise_report report;
	size_t len;
	char out[SEEN_MOST];
};

static int seen_verdict(void *arg, const struct verdict *v)
{
	verdict_format(v, ((struct seen *)arg)->rule, VERDICT_FORMAT_MAX);
	return 0;
}

static int seen_write(void *arg, const uint8_t *bytes, size_t len)
{
	struct seen *s = arg;

	if (sizeof(s->out) - s->len < len)
		return 7;
	memcpy(s->out + s->len, bytes, len);
	s->len += len;
	return 0;
}

/* A normaliser whose calls fill s, which is emptied. */
static inline struct normaliser *seen_begin(struct seen *s, const struct normalise_options *o)
{
	struct normalise_events events = { seen_verdict, seen_verdict, seen_write, s };

	memset(s, 0, offsetof(struct seen, out));
	return normaliser_new(o, &events);
}

static inline void seen_end(struct seen *s, struct normaliser **n)
{
	s->report = *normaliser_report(*n);
	normaliser_free(n);
}

static inline bool seen_equal(const struct seen *a, const struct seen *b)
{
	return a->rc == b->rc && strcmp(a->rule, b->rule) == 0 && memcmp(&a->report, &b->report, sizeof(a->report)) == 0 &&
	    a->len == b->len && memcmp(a->out, b->out, a->len) == 0;
}

#endif
