/* Owns passing on, unread, those stretches of a body in UTF-8 that have come before and needed no repair then.
 * Must not know: how they are kept (memory.h), how the body was decided on. Private to normalise.c.
 * Invariant: what is written, and the state of the repairs behind it, are what reading the bytes would give; a memory
 * that forgets costs time alone.
 *
 * The first passage is the window up to its last ">". Each of the others ends with the first ">" that comes at least
 * the memory's size behind its beginning, wherever a read ended. One is known by the name of the window, which stands
 * for all that was told of the body, by the state of the repairs before it, and by its bytes. Behind a passage that
 * needs a repair each byte is read. Passages are kept only of a body whose window came before, so one that comes once
 * costs nothing. */
#ifndef UTFEED_CORE_NORMALISE_PASSAGES_H
#define UTFEED_CORE_NORMALISE_PASSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/normalise/memory.h"
#include "core/normalise/recode.h"

struct passages {
	const struct normalise_memory *memory;  /* NULL: each byte is read */
	struct normalise_name window;
	struct recode *recode;                  /* borrowed: what reads */
	struct sink sink;                       /* what recode writes to, and what goes by unread */
	const uint64_t *written;                /* how many bytes the sink got, borrowed */
	uint64_t at;                            /* bytes of the body that went by */
	uint64_t least;                         /* the passage at hand ends with the first ">" behind these */
	bool cut;                               /* the end of a call has cut that passage, and its beginning was read */
};

/* The first call of passages_feed() will bring a window that is known. A memory without passages is none. */
void passages_begin(struct passages *, const struct normalise_memory *, const struct normalise_name *window);
/* How many of these bytes to feed at once, at most `most`, so that no passage is cut where it need not be. */
size_t passages_slice(const struct passages *, const uint8_t *, size_t len, size_t most);
/* Reads by recode_feed() what is not known. 0, what the sink returned, or -1 (out of memory) */
int passages_feed(struct passages *, const uint8_t *, size_t len) __attribute__((warn_unused_result));

#endif
