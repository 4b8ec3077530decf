/* Owns the shape of a memory that a normaliser may be given: what was found of a body is kept under a name, so that the
 * same bytes are not judged, and not read, again.
 * Must not know: who keeps it, how names are made of bytes.
 * Invariant: two different bodies have different names, whoever chose them; so the memory makes them with a secret. */
#ifndef UTFEED_CORE_NORMALISE_MEMORY_H
#define UTFEED_CORE_NORMALISE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/evidence/hints.h"
#include "core/policy/policy.h"
#include "core/repair/repair_state.h"
#include "core/text/utf8.h"

/* Pieces of what a name is made of, in an order that is always the same. */
struct normalise_piece {
	const void *at;
	size_t len;
};

struct normalise_name {
	uint64_t words[2];
};

/* What is found by reading a body. Pointers of the verdict are to static storage. */
struct normalise_learned {
	struct verdict verdict;
	struct utf8_evidence utf8;
	struct hints hints;
	uint64_t bytes;         /* how long it comes out; 0: not known */
	bool same;              /* the body comes out byte for byte, and nothing of it is counted */
	bool sound;             /* its text needs no repair but REPAIR_PROLOG */
};

struct normalise_memory {
	void (*name)(void *arg, const struct normalise_piece *, size_t n, struct normalise_name *);
	/* NULL: the name is not known. Valid until the memory is asked or told anything else. */
	const struct normalise_learned *(*recall)(void *arg, const struct normalise_name *);
	void (*keep)(void *arg, const struct normalise_name *, const struct normalise_learned *);
	/* Likewise, of bodies longer than their windows: the repairs' state behind a passage that needed none
	 * (passages.h). passage_bytes: how long one is at least; 0: none is kept, and these are never called. */
	size_t passage_bytes;
	const struct repair_state *(*recall_passage)(void *arg, const struct normalise_name *);
	void (*keep_passage)(void *arg, const struct normalise_name *, const struct repair_state *);
	void *arg;
};

struct normalise_options;
/* The name of a body, made of everything that the decision and the repairs read. coding: what the bytes have to be
 * unpacked by first, "" for nothing. complete: they are all of the body. */
void normalise_name(const struct normalise_memory *, const struct normalise_options *, const char *coding,
    bool complete, const uint8_t *, size_t len, struct normalise_name *);

#endif
