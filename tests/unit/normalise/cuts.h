/* Owns how a test of the normaliser feeds a body: whole, byte by byte, split in two at every byte, and by the call for the last bytes.
 * Must not know: what is expected of it. Invariant: output, verdict and report are the same each time, or the case fails. */
#ifndef UTFEED_TESTS_UNIT_NORMALISE_CUTS_H
#define UTFEED_TESTS_UNIT_NORMALISE_CUTS_H

#include "core/memory/spares.h"
#include "core/normalise/normalise.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define BOM "\xef\xbb\xbf"
#define D(encoding) "<?xml version=\"1.0\" encoding=\"" encoding "\"?>"

enum { OUT_MAX = 1 << 20 };

/* All that an owner sees of one run. */
struct seen {
	int rc;
	unsigned decided, revised;
	char first[VERDICT_FORMAT_MAX], rule[VERDICT_FORMAT_MAX];
	struct normalise_report report;
	bool early;                 /* written to before the decision */
	size_t len;
	char out[OUT_MAX];
};

static const struct normalise_options automatic __attribute__((unused)) = { .policy = POLICY_AUTO, .repairs = REPAIR_ALL };

static inline int on_decided(void *arg, const struct verdict *v)
{
	struct seen *s = arg;

	s->decided++;
	verdict_format(v, s->first, sizeof(s->first));
	strcpy(s->rule, s->first);
	return 0;
}

static inline int on_revised(void *arg, const struct verdict *v)
{
	struct seen *s = arg;

	s->revised++;
	verdict_format(v, s->rule, sizeof(s->rule));
	return 0;
}

static inline int on_write(void *arg, const uint8_t *bytes, size_t len)
{
	struct seen *s = arg;

	s->early |= s->decided == 0;
	if (sizeof(s->out) - s->len < len)
		return 7;
	memcpy(s->out + s->len, bytes, len);
	s->len += len;
	return 0;
}

static inline void run_end(struct seen *s, struct normaliser *n)
{
	s->report = *normaliser_report(n);
	CU_ASSERT(s->rc != 0 || normaliser_verdict(n) != NULL);
	normaliser_free(&n);
	CU_ASSERT_PTR_NULL(n);
}

static inline void run(struct seen *s, const struct normalise_options *o, const char *in, size_t len, size_t cut, size_t step)
{
	struct normalise_events events = { on_decided, on_revised, on_write, s };
	struct normaliser *n = normaliser_new(o, &events);
	int rc;

	memset(s, 0, offsetof(struct seen, out));
	rc = normaliser_feed(n, (const uint8_t *)in, cut);
	for (size_t at = cut; rc == 0 && at < len; at += step)
		rc = normaliser_feed(n, (const uint8_t *)in + at, len - at < step ? len - at : step);
	s->rc = rc ? rc : normaliser_finish(n);
	run_end(s, n);
}

/* The last bytes come as such, from memory that is gone afterwards, and with memory of a stream before. */
static inline void run_last(struct seen *s, struct normalise_options o, const char *in, size_t len, size_t cut)
{
	static struct spares spares;
	struct normalise_events events = { on_decided, on_revised, on_write, s };
	uint8_t *last = malloc(len - cut + 1);
	struct normaliser *n;
	int rc;

	CU_ASSERT_PTR_NOT_NULL_FATAL(last);
	memcpy(last, in + cut, len - cut);
	memset(s, 0, offsetof(struct seen, out));
	o.spares = &spares;
	n = normaliser_new(&o, &events);
	rc = normaliser_feed(n, (const uint8_t *)in, cut);
	s->rc = rc ? rc : normaliser_feed_last(n, last, len - cut);
	free(last);
	run_end(s, n);
	spares_free(&spares);
}

static inline bool same(const struct seen *a, const struct seen *b)
{
	return a->rc == b->rc && a->decided == b->decided && a->revised == b->revised && strcmp(a->first, b->first) == 0 &&
	    strcmp(a->rule, b->rule) == 0 && memcmp(&a->report, &b->report, sizeof(a->report)) == 0 && a->len == b->len &&
	    memcmp(a->out, b->out, a->len) == 0;
}

/* The whole run into *whole; every cut must give the same. */
static inline void run_cuts(struct seen *whole, const char *rule, const struct normalise_options *o, const char *in, size_t len)
{
	static struct seen part;
	size_t every = len < 2048 ? 1 : 61;

	run(whole, o, in, len, 0, len + 1);
	UNIT_ROW(whole->decided == 1 && !whole->early && whole->report.bytes_in <= len, "%s", rule);
	UNIT_ROW(whole->rc != 0 || whole->report.bytes_out == whole->len, "%s", rule);
	run(&part, o, in, len, 0, 1);
	UNIT_ROW(same(whole, &part) || whole->rc, "%s, byte by byte: %s %.*s", rule, part.rule, (int)part.len, part.out);
	run_last(&part, *o, in, len, 0);
	UNIT_ROW(same(whole, &part) || whole->rc, "%s, all as the last bytes: %s %.*s", rule, part.rule, (int)part.len, part.out);
	run_last(&part, *o, in, len, len / 2);
	UNIT_ROW(same(whole, &part) || whole->rc, "%s, half of it: %s %.*s", rule, part.rule, (int)part.len, part.out);
	for (size_t cut = 1; cut <= len; cut += every) {
		run(&part, o, in, len, cut, len);
		if (!UNIT_ROW(same(whole, &part) || whole->rc, "%s, cut at %zu: %s %.*s", rule, cut, part.rule, (int)part.len, part.out))
			break;
	}
}

#endif
