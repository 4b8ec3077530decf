/* Owns the operations of a second store that keeps nothing and answers no lookup at once: what it "brings", and when, is the test's
 * business. Must not know: the cache in front of it. */
#ifndef UTFEED_TESTS_SLOW_STORE_H
#define UTFEED_TESTS_SLOW_STORE_H

#include "proxy/store/store.h"

static inline enum store_result slow_get(struct store *s, const char *key, size_t len, struct entry **e, struct store_wait *w)
{
	(void)s, (void)key, (void)len, (void)e, (void)w;
	return STORE_WAIT;
}

static inline void slow_put(struct store *s, struct entry *e)
{
	(void)s, (void)e;
}

static inline void slow_remove(struct store *s, const char *key, size_t len)
{
	(void)s, (void)key, (void)len;
}

static inline int64_t slow_purge(struct store *s, enum store_purge what, const char *url, size_t len, bool soft, int64_t now)
{
	(void)s, (void)what, (void)url, (void)len, (void)soft, (void)now;
	return -1;
}

/* The store is the test's. */
static inline void slow_free(struct store *s)
{
	(void)s;
}

#endif
