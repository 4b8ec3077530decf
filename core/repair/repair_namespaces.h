/* Owns prefixes that are used without a declaration: which of the well-known ones are in scope at each element.
 * Must not know: streams, how a tag is read or written. Private to repair_*.c.
 * Invariant: a prefix that is declared, or that no row has, is never declared here; memory is fixed, and past its bound
 * every prefix counts as declared. Source: Namespaces in XML 1.0, section 5, NSC Prefix Declared. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_NAMESPACES_H
#define UTFEED_CORE_REPAIR_REPAIR_NAMESPACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/repair/repair_name.h"
#include "core/repair/repair_tag.h"

enum { SCOPES_MAX = 16, PREFIXES_SEEN = 16, PREFIX_SEEN_MAX = 11, NAMESPACE_TEXT_MAX = 96 };

/* A prefix that was in scope, or is not known, so that the same needs no look again. */
struct prefix_seen {
	uint32_t time;                  /* namespaces.time, then */
	uint8_t len;
	uint8_t text[PREFIX_SEEN_MAX];
};

struct namespaces {
	uint64_t scope;                 /* a bit for each row of namespaces.def that is declared here */
	uint32_t depth;                 /* of the innermost element that declares any; 0: none */
	uint32_t time;                  /* counts where prefixes go out of scope */
	unsigned scopes;
	struct { uint32_t depth; uint64_t scope; } before[SCOPES_MAX];  /* what was in force around each such element */
	struct prefix_seen seen[PREFIXES_SEEN];
};

/* Enters an element at that depth (0: an empty one, which nothing is in). Returns a bit for each row that it uses and
 * that is not declared. */
uint64_t namespaces_enter(struct namespaces *, const struct tag *, const uint8_t *in, uint32_t depth);
/* Any may be declared, in the element at that depth or, with 0, everywhere. */
void namespaces_doubt(struct namespaces *, uint32_t depth);
/* Leaves the innermost element that declares any. */
void namespaces_leave(struct namespaces *);
/* Takes one bit out of *missing; its declaration, with a blank before it. The length. */
size_t namespaces_text(uint64_t *missing, char text[NAMESPACE_TEXT_MAX]);

static inline unsigned namespaces_slot(const uint8_t *prefix, size_t len)
{
	return (prefix[0] + 3u * (unsigned)len) % PREFIXES_SEEN;
}

/* Whether the name of an element has no prefix, or one that was seen in scope; `left` bytes may be read from it on. */
static inline bool namespaces_passes(const struct namespaces *n, const uint8_t *name, size_t len, size_t left)
{
	size_t prefix = name_prefix(name, len, left);
	const struct prefix_seen *s = &n->seen[namespaces_slot(name, prefix)];

	return prefix == 0 || (s->len == prefix && s->time == n->time && memcmp(s->text, name, prefix) == 0);
}

#endif
