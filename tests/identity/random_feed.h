/* Owns what a feed of UTF-8 is; see random_feed.c. */
#ifndef UTFEED_TESTS_RANDOM_FEED_H
#define UTFEED_TESTS_RANDOM_FEED_H

#include "identity.h"

struct feed {
	struct text body;
	size_t root;                /* where it begins */
	char type[64];              /* Content-Type */
	unsigned strays;            /* sequences that are no UTF-8; 0: all of it is */
};

/* 1 to 20 characters beyond ASCII, up to three strays, 1 to 20 items; UTF-8 by its labels, which agree. */
void random_feed(struct feed *, struct chance *);

#endif
