/* Owns the repairs that make decoded UTF-8 text acceptable to an XML parser.
 * Must not know: encodings, HTTP. It reads markup and never means: nothing of a document is guessed.
 * Invariant: valid UTF-8 in, valid UTF-8 out. Bytes that need no repair are not changed. REPAIR_ALL changes nothing of
 * a well-formed document from its root on; REPAIR_GATEWAY changes URLs, and the document stays well-formed. The result
 * does not depend on how the input was cut; memory is bounded.
 * Source: XML 1.0 [2] Char, [23]-[32] prolog, [14]-[16], [20], [39]-[44], [66]-[68]. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_H
#define UTFEED_CORE_REPAIR_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*       id            bit     name           what it counts */
#define REPAIRS(X) \
	X(BOM,          1 << 0, "bom",         "byte order mark removed") \
	X(JUNK,         1 << 1, "junk", \
	    "white space before the declaration and, before or behind it, other junk removed") \
	X(DECLARATION,  1 << 2, "declaration", \
	    "XML declaration rewritten: its encoding to what the output is, all of it where it is malformed") \
	X(CHARACTERS,   1 << 3, "characters",  "characters XML 1.0 forbids dropped or replaced") \
	X(REFERENCES,   1 << 4, "references",  "numeric references to such characters likewise") \
	X(LINE_ENDS,    1 << 5, "line-ends",   "EBCDIC next-line characters turned into line feeds") \
	X(ENTITIES,     1 << 6, "entities",    "undeclared names of characters that HTML has made numeric references") \
	X(AMPERSANDS,   1 << 7, "ampersands",  "& that start no reference and < that start no markup escaped") \
	X(TAGS,         1 << 8, "tags", \
	    "tags mended: attributes quoted or dropped, end tags put in or dropped; hyphens in comments parted") \
	X(END,          1 << 9, "end",         "documents closed that end early in a complete body") \
	X(TRAILING,     1 << 10, "trailing",   "what stands behind the root removed") \
	X(NAMESPACES,   1 << 11, "namespaces", "undeclared prefixes that are well known declared") \
	X(BASE,         1 << 12, "base",       "xml:base put in at the root") \
	X(DOUBLE,       1 << 13, "double",     "characters undone that were UTF-8 read as windows-1252")

enum repair_flags {
#define REPAIR_ID(id, bit, name, what) REPAIR_##id = bit,
	REPAIRS(REPAIR_ID)
#undef REPAIR_ID
	/* all that change no well-formed document from its root on */
	REPAIR_ALL = (1 << 11) - 1,
	/* those of what stands before the root's text; each of them is seen in the text it leaves */
	REPAIR_PROLOG = REPAIR_BOM | REPAIR_JUNK | REPAIR_DECLARATION,
	/* no repair, but the document's version, as far as no REPAIR_PROLOG is made, which reads it itself: XML 1.1
	 * allows references to C0 controls ([2] Char there) */
	REPAIR_XML_1_1 = 1 << 14,
	/* no repair, but how two of them are made: C0 controls become U+FFFD, too, instead of being dropped */
	REPAIR_REPLACE_CONTROLS = 1 << 15,
	/* not a repair: URLs of enclosures and images lead through a gateway (repair_set_gateway()) */
	REPAIR_GATEWAY = 1 << 16
};
enum repair_index {
#define REPAIR_ID(id, bit, name, what) REPAIRED_##id,
	REPAIRS(REPAIR_ID)
#undef REPAIR_ID
	REPAIR_COUNT
};

/* The receiver of bytes. A non-zero result of write() stops the producer, which returns it to its caller. */
struct sink {
	int (*write)(void *arg, const uint8_t *bytes, size_t len);
	void *arg;
};

struct repair;
struct spares;
/* ebcdic: the body came from an EBCDIC page (line ends). encoding: the name that a declaration must have, borrowed. A
 * declaration with that name in any case of letters stays as it is. "spares": borrowed; NULL: none. Returns NULL if
 * memory is short. */
struct repair *repair_new(unsigned flags, int ebcdic, const char *encoding, struct sink, struct spares *spares);
void repair_free(struct repair **);
/* What REPAIR_BASE puts in, borrowed; without it, it does nothing. Before the first text. */
void repair_set_base(struct repair *, const char *url);
/* What REPAIR_GATEWAY leads URLs through, without a slash at its end, for which gateway_fits() holds; likewise. */
void repair_set_gateway(struct repair *, const char *url);
/* 0, or what the sink returned, or -1 (out of memory) */
int repair_feed(struct repair *, const uint8_t *, size_t len) __attribute__((warn_unused_result));
int repair_finish(struct repair *) __attribute__((warn_unused_result));
/* The document may go on behind what is fed: REPAIR_END is not made. */
void repair_leave_end(struct repair *);
/* Whether the text so far, REPAIR_END not made, has no end of a root. False where it is in doubt which element the root
 * is. */
bool repair_is_open(const struct repair *);
/* The document has ended and so much was dropped behind it that no more need be fed: nothing will be written of it. */
bool repair_is_over(const struct repair *);
const uint64_t *repair_counts(const struct repair *);            /* REPAIR_COUNT of them */
uint64_t repair_led(const struct repair *);                     /* URLs that were led through the gateway */
const char *repair_name(enum repair_index);

#endif
