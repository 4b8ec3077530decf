/* Owns what start and end tags mean together: which element each end tag closes, what is still open at the end.
 * Must not know: how a tag is read, streams. Private to repair_*.c.
 * Invariant: where every end tag has the name of the innermost open element nothing is written but the tags as they
 * came. Source: XML 1.0 [39], WFC Element Type Match. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_ELEMENTS_H
#define UTFEED_CORE_REPAIR_REPAIR_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/repair/repair.h"
#include "core/repair/repair_stack.h"

struct elements {
	unsigned flags;
	uint64_t *counts;
	struct sink sink;
	bool rooted;                    /* The root's start tag was there. */
	bool closed;                    /* And its end. */
	bool doubtful;                  /* It may not be the root: other text came before it, or HTML has its name. */
	bool spoilt;                    /* That text may be a spoilt tag: no end tag behind it vanishes. */
	bool dropped;                   /* The last end tag that elements_mend() read ended nothing and was dropped. */
	bool leaf;                      /* The innermost element has no other in it so far. */
	struct repair_stack stack;
};

/* All else is zero. */
void elements_begin(struct elements *, uint64_t *counts, struct sink);
void elements_free(struct elements *);
/* Elements are open: more text belongs to the root. */
static inline bool elements_are_open(const struct elements *e)
{
	return e->stack.depth > 0;
}
/* 0, or -1: out of memory */
int elements_open(struct elements *, const uint8_t *name, size_t len) __attribute__((warn_unused_result));
/* An empty element has been. */
void elements_pass(struct elements *, const uint8_t *name, size_t len);
/* The end tag is that of the innermost element. */
bool elements_match(const struct elements *, const uint8_t *name, size_t len);
/* Its element has been closed. */
void elements_close(struct elements *);
/* Writes what an end tag means that is not that of the innermost element; in: the tag as it came. 0, or what the sink
 * returned. */
int elements_mend(struct elements *, const uint8_t *name, size_t name_len, const uint8_t *in, size_t len)
    __attribute__((warn_unused_result));
/* Whether elements_mend() writes nothing. */
bool elements_drops(struct elements *, const uint8_t *name, size_t len);
/* Closes all that is open. */
int elements_finish(struct elements *) __attribute__((warn_unused_result));

#endif
