/* Owns reading one tag in memory, and writing it as XML requires.
 * Must not know: streams, which elements are open. Private to repair_*.c.
 * Invariant: a tag that XML's grammar allows is TAG_CLEAN. An answer other than TAG_CUT holds for every longer text.
 * Sources: XML 1.0 [40]-[44], [10]. Malformed tags follow HTML's section 13.2.5, as long as that loses no text. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_TAG_H
#define UTFEED_CORE_REPAIR_REPAIR_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/repair/repair_reference.h"

enum {
	TAG_MAX = 4096,                 /* bytes of a tag that are read as a whole */
	TAG_ATTRIBUTES_MAX = 32         /* the first ones, whose names have to differ */
};

enum tag_state {
	TAG_CUT,                        /* the text ends before the tag does */
	TAG_NONE,                       /* no tag: "<" means itself */
	TAG_CLEAN,
	TAG_FAULTY                      /* tag_write() writes it as it should be */
};

struct tag_name {
	uint16_t at, len;               /* from the "<" on */
};

struct tag {
	enum tag_state state;
	bool end, empty;                /* "</a>", "<a/>" */
	bool colons;                    /* the name of an attribute has a colon */
	bool markup;                    /* a value has a "<" */
	size_t len;
	struct tag_name name;           /* .len is 0 until the name is known */
	size_t tail;                    /* where the white space, "/" and ">" behind the last attribute begin */
	/* where in a value tag_write() puts the gateway; 0: nowhere. Whoever read the tag may set it */
	size_t gateway;
	unsigned attributes;            /* at most TAG_ATTRIBUTES_MAX */
	struct tag_name attribute[TAG_ATTRIBUTES_MAX];
};

/* The settings for reading and writing tags. */
struct tag_rules {
	const struct reference_rules *references;
	bool tags, ampersands;          /* the repairs that are wanted */
	const char *gateway;            /* without a slash at its end */
	uint64_t *counts;               /* REPAIR_COUNT of them; tag_write() counts what it mends */
};

/* in[0] is "<"; behind it comes the start of a name, or "/" and one. */
void tag_read(struct tag *, const struct tag_rules *, const uint8_t *in, size_t len);
/* The value of the first attribute of that name of the start tag that was read: its offset (0: it is missing) and its
 * length. */
size_t tag_find(const struct tag *, const uint8_t *in, const char *name, size_t *len);
/* Writes what comes before the tail of the start tag that was read. */
int tag_write(const struct tag *, const struct tag_rules *, const uint8_t *in, struct sink);

#endif
