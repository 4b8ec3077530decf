/* Owns a document before and after the normaliser, and how a fault in it is shown.
 * Must not know: what should come out. */
#ifndef UTFEED_TESTS_IDENTITY_SUBJECT_H
#define UTFEED_TESTS_IDENTITY_SUBJECT_H

#include "core/normalise/normalise.h"
#include "identity.h"

struct subject {
	uint64_t number;
	const char *what, *type;    /* type NULL: no such field */
	bool http;
	size_t window;              /* sniff_bytes */
	const char *bytes;
	size_t len;
};

struct seen {
	struct text out;
	enum verdict_kind kind;
	char rule[VERDICT_FORMAT_MAX];
	uint64_t lost;
};

/* steps: NULL as a whole; else at random, or byte by byte where that chance says so. */
void subject_normalise(struct seen *, const struct subject *, enum normalise_output, struct chance *steps);
bool same(const struct text *, const char *bytes, size_t len);
/* Whether cuts change nothing; the other answer is in *cut. */
bool subject_is_cut_alike(struct seen *cut, const struct subject *, const struct seen *whole, struct chance *);
void subject_print(const char *test, const struct subject *, const struct seen *, const char *why);
/* A number of the environment. */
uint64_t number_of(const char *name, uint64_t otherwise);

#endif
