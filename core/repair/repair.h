/* Owns the repairs that make decoded UTF-8 text acceptable to an XML parser: mark, junk, declaration, forbidden
 * characters, references.
 * Must not know: encodings, HTTP. It is a lexer of prolog and character data, never a parser.
 * Invariant: valid UTF-8 in, valid UTF-8 out; bytes that need no repair are not changed; the result does not depend on
 * how the input was cut. Source: XML 1.0 [2] Char, [23]-[32] prolog, [66] CharRef. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_H
#define UTFEED_CORE_REPAIR_REPAIR_H

#include <stddef.h>
#include <stdint.h>

/*       id            bit     name           what it counts */
#define REPAIRS(X) \
	X(BOM,          1 << 0, "bom",         "byte order mark removed") \
	X(JUNK,         1 << 1, "junk", \
	    "white space before the declaration and, before a feed, other junk removed") \
	X(DECLARATION,  1 << 2, "declaration", "encoding declaration rewritten to what the output is") \
	X(CHARACTERS,   1 << 3, "characters",  "characters XML 1.0 forbids replaced by U+FFFD") \
	X(REFERENCES,   1 << 4, "references",  "numeric references to forbidden characters replaced by U+FFFD") \
	X(LINE_ENDS,    1 << 5, "line-ends",   "EBCDIC next-line characters turned into line feeds")

enum repair_flags {
#define REPAIR_ID(id, bit, name, what) REPAIR_##id = bit,
	REPAIRS(REPAIR_ID)
#undef REPAIR_ID
	REPAIR_ALL = (1 << 6) - 1,
	/* no repair, but the document's version: XML 1.1 allows references to C0 controls ([2] Char there) */
	REPAIR_XML_1_1 = 1 << 6
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
/* ebcdic: the body came from an EBCDIC page (line ends). encoding: the name that a declaration must have, borrowed; a
 * declaration with that name in any case of letters stays as it is. NULL: out of memory. */
struct repair *repair_new(unsigned flags, int ebcdic, const char *encoding, struct sink);
void repair_free(struct repair **);
/* 0, or what the sink returned, or -1 (out of memory) */
int repair_feed(struct repair *, const uint8_t *, size_t len) __attribute__((warn_unused_result));
int repair_finish(struct repair *) __attribute__((warn_unused_result));
const uint64_t *repair_counts(const struct repair *);            /* REPAIR_COUNT of them */
const char *repair_name(enum repair_index);

#endif
