/* Owns finding the bytes of a body that are not UTF-8, and what the normaliser read them as. It reads two streams: the
 * body, and the body as it was decoded but not repaired.
 * Must not know: how a body is decoded, who shows the places.
 * Invariant: the places do not depend on how the streams were cut, and memory is bounded.
 *
 * Decoding keeps ASCII characters. A place in the body and its place in the decoded text therefore have equal numbers
 * of edges (nodes.h), ASCII characters and runs before them, and the same well-formed characters. */
#ifndef UTFEED_PROXY_REPORT_STRAYS_H
#define UTFEED_PROXY_REPORT_STRAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/repair/repair.h"

enum { STRAYS_SHOWN = 5, STRAY_BYTES = 8, STRAY_TEXT = 4 * STRAY_BYTES, STRAYS_HELD = 16 };

/* Where a stream stands, in terms of what both streams have. */
struct stray_key {
	uint64_t edges;                 /* "<" and ">" so far */
	uint64_t ascii, runs;           /* behind the last of them: other ASCII characters, runs of all else */
	uint64_t run, hash;             /* bytes behind the last ASCII character, and their hash */
};

/* Bytes side by side of which none belongs to a well-formed character. */
struct stray {
	uint64_t offset, line;          /* of the first byte; the first line is 1 */
	uint64_t len;
	uint8_t bytes[STRAY_BYTES];     /* the first of them */
	bool found;                     /* the decoded text has been found */
	char text[STRAY_TEXT + 1];      /* what was read, as far as it has room; "": the bytes were dropped */

	/* private to strays.c */
	struct stray_key key;
	bool lost;                      /* the decoded text cannot be found */
	bool ends_run;                  /* an ASCII character follows, or nothing */
	size_t characters;              /* what becomes of the bytes if their node is UTF-8 */
};

struct strays {
	uint64_t bytes, places;
	uint64_t pairs;                 /* of surrogates (CESU-8); places do not include them */
	size_t n;
	struct stray first[STRAYS_SHOWN];

	/* gets the body as far as it has been read, so that no decoded text comes before its place is known */
	struct sink sink;
	int stopped;                    /* what it returned; 0: go on */

	/* private to strays.c */
	struct stray_key in, out;
	uint64_t offset, line;          /* of the body; line ends so far */
	bool open;                      /* the latest place may go on */
	bool tainted;                   /* there was a place behind the latest ASCII character. */
	bool returned;                  /* The latest character is a carriage return */
	uint8_t held[STRAYS_HELD];      /* the start of a fault that the end of a call cuts */
	size_t n_held;
	size_t at;                      /* the place that is looked for in the decoded text */
	bool within;                    /* and found: its text is being taken */
};

/* Takes the next bytes of the body. Zeroed at first, except for the sink. The result is that of the sink. */
int strays_feed(struct strays *, const uint8_t *, size_t len) __attribute__((warn_unused_result));
/* The body has ended. */
int strays_end(struct strays *) __attribute__((warn_unused_result));
void strays_feed_decoded(struct strays *, const uint8_t *, size_t len);
/* The decoded text has ended, too. */
void strays_finish(struct strays *);

#endif
