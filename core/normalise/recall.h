/* Owns asking a caller's memory whether these very bytes were decided on before, and telling it what was found.
 * Must not know: how that memory is kept. Private to normalise.c.
 * Invariant: a body's name is made of everything that the decision and the repairs read (the held bytes, what is told
 * of them, the options), so what is recalled is what reading them again would give; a memory that forgets costs time
 * alone. */
#ifndef UTFEED_CORE_NORMALISE_RECALL_H
#define UTFEED_CORE_NORMALISE_RECALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/normalise/memory.h"
#include "core/normalise/normalise.h"

struct recall {
	const struct normalise_memory *memory;  /* NULL: the caller has none */
	bool asked;                             /* name is that of the held bytes, and the memory was asked for it */
	bool named;                             /* found is what reading a whole body of that name has told */
	bool recalled;                          /* found has come from the memory */
	bool watches;                           /* the output has been the held bytes so far */
	struct normalise_name name;
	struct normalise_learned found;
	const uint8_t *left;                    /* those of the held bytes that the output has not come to */
	size_t left_len;
	uint8_t *held;                          /* the block that left points into, owned; NULL: another owns it */
};

/* Asks for these held bytes, at most once. False: they are not known. */
bool recall_ask(struct recall *, const struct normalise_options *, const uint8_t *held, size_t len, bool complete);
/* Recalls the verdict, and what evidence_finish() adds to the evidence. */
void recall_verdict(const struct recall *, struct evidence *, struct verdict *);
/* The verdict was found by reading: it is kept, unless the body is complete. Then recall_end() keeps it. */
void recall_decided(struct recall *, const struct evidence *, const struct verdict *);
/* Whether the body is known to come out as it goes in, without a repair. */
bool recall_is_same(const struct recall *);
/* The name of a window that came before and was decided on, behind which the body goes on; NULL: it is none. */
const struct normalise_name *recall_window(const struct recall *, const struct evidence *);
/* Of these repairs those that may find something. */
unsigned recall_repairs(const struct recall *, unsigned repairs);

/* Compares the output of a complete body with the held bytes as it is written, while these last. */
void recall_watch(struct recall *, const uint8_t *held, size_t len);
void recall_written(struct recall *, const uint8_t *, size_t len);
/* All of the held bytes have been fed: takes them over, and frees them once they need not be compared any more. */
void recall_take(struct recall *, uint8_t *held);
/* The body has come out. sound: as in struct normalise_learned. */
void recall_end(struct recall *, const struct normalise_report *, bool sound);
void recall_free(struct recall *);

#endif
