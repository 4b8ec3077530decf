/* Owns the state of repairs between two tokens of a root's content, in a shape that can be kept and put back.
 * Must not know: why it is kept, streams.
 * Invariant: two repairs that were made alike and have the same state write the same of every text that follows. It has
 * no pointers, and those with the same values are the same bytes. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_STATE_H
#define UTFEED_CORE_REPAIR_REPAIR_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	REPAIR_STATE_NAMES = 112,       /* bytes of the names of open elements, each with one more */
	REPAIR_STATE_SCOPES = 4         /* elements that declare prefixes, one in another */
};

struct repair_scope {
	uint64_t scope, depth;          /* as in struct namespaces */
};

struct repair_state {
	uint64_t tags, passed;          /* as in struct repair_stack */
	struct repair_scope scope;      /* what is in force, */
	struct repair_scope before[REPAIR_STATE_SCOPES]; /* and around each such element */
	uint32_t depth, scopes;
	uint8_t mode;                   /* enum lex_mode: in text, or in a CDATA section */
	uint8_t leaf, doubtful, any;    /* as in struct elements and struct declared_names */
	uint32_t names_len;
	uint8_t names[REPAIR_STATE_NAMES];
};

struct repair;
/* False: there is no such state here, because a token is cut, the text is not within its root, or more is open than
 * there is room for; nothing is written then. */
bool repair_save(const struct repair *, struct repair_state *) __attribute__((warn_unused_result));
/* So many bytes of text have gone by that need no repair, and led to this state. They began at such a state, or the
 * document does with them. */
void repair_restore(struct repair *, const struct repair_state *, size_t len);

#endif
