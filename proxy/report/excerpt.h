/* Owns the piece of a stream around its first bytes beyond ASCII, by which people see whether a text is right.
 * Must not know: charsets, what the bytes mean.
 * Invariant: the piece does not depend on how the stream was cut, and has EXCERPT_BYTES at most. */
#ifndef UTFEED_PROXY_REPORT_EXCERPT_H
#define UTFEED_PROXY_REPORT_EXCERPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXCERPT_BEFORE = 96, EXCERPT_AFTER = 320, EXCERPT_BYTES = EXCERPT_BEFORE + EXCERPT_AFTER };

struct excerpt {
	bool escapes;               /* an escape character counts as well: text in ISO-2022 begins with one. */
	bool found;                 /* Such a byte came; until then the bytes are the stream's latest. */
	uint64_t offset;            /* Of the first of the bytes in the stream */
	size_t len, first;          /* bytes; where among them the first beyond ASCII stands */
	uint8_t bytes[EXCERPT_BYTES];
};

/* Takes the next bytes of the stream. The first call's begin at excerpt.offset. */
void excerpt_feed(struct excerpt *, const uint8_t *, size_t len);
/* Takes the piece around bytes[at] of a stream's first len bytes, whatever stands there. */
void excerpt_at(struct excerpt *, const uint8_t *bytes, size_t len, size_t at);
/* The index of the first byte of the line in which the byte at `first` stands, as far as the piece has it. */
size_t excerpt_line(const struct excerpt *);

#endif
