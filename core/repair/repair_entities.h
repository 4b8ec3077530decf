/* Owns names of entities: the ones that HTML has, and those that a document's own type declares.
 * Must not know: references, streams. Private to repair_*.c.
 * Invariant: a name counts as declared unless it is certainly undeclared. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_ENTITIES_H
#define UTFEED_CORE_REPAIR_REPAIR_ENTITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ENTITY_NAME_MAX = 64,           /* longer names are not told apart */
	ENTITY_DECLARED_MAX = 4096      /* bytes of declared names that are remembered */
};

/* The characters that a name means: one, or two that make one sign. */
struct entity_text {
	uint32_t first, second;         /* second 0: there is one */
};

/* What one of HTML's names means. False: it has no such name. */
bool entity_find(const uint8_t *name, size_t len, struct entity_text *);
/* Whether the name is one of XML's own five. */
bool entity_is_predefined(const uint8_t *name, size_t len);

struct declared_names {
	bool any;                       /* every name may be declared: there are other declarations, or too many */
	char *names;                    /* each ends with a NUL, which no name has; NULL: none */
	size_t len;
};

/* -1: out of memory */
int declared_add(struct declared_names *, const uint8_t *name, size_t len) __attribute__((warn_unused_result));
bool declared_has(const struct declared_names *, const uint8_t *name, size_t len);
void declared_free(struct declared_names *);

#endif
