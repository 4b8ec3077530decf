/* Owns what an operator should look at first: a sentence for each thing that is not as it should be, the worst first.
 * Must not know: how it is shown.
 * Invariant: there are ATTENTION_MAX of them at most, and no sentence has a byte of a peer. */
#ifndef UTFEED_PROXY_ADMIN_ATTENTION_H
#define UTFEED_PROXY_ADMIN_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admin;
struct feeds_tally;
struct history_sample;

enum { ATTENTION_MAX = 10, ATTENTION_TEXT_MAX = 200 };

struct attention {
	const char *kind;  /* a word for programs */
	const char *where; /* the page that has more; NULL: none has */
	bool bad;          /* readers have less than they should; else it can wait */
	uint64_t count;    /* of what there are so many */
	char text[ATTENTION_TEXT_MAX];
};

/* hour: what was added in the last hour. Returns how many there are. */
size_t attention_read(struct attention[ATTENTION_MAX], struct admin *, const struct feeds_tally *,
    const struct history_sample *hour);

#endif
