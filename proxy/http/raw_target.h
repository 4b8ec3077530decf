/* Owns text beyond ASCII in request targets as they come from a client: valid UTF-8 is written as %XX before the parser
 * reads it, so that rules, keys and logs know one form.
 * Must not know: what is asked for, who else reads the buffer. Source: RFC 3987 section 3.1.
 * Invariant: what comes out is the same wherever the request was cut. */
#ifndef UTFEED_PROXY_HTTP_RAW_TARGET_H
#define UTFEED_PROXY_HTTP_RAW_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How far the request line was read; all zeros: not begun. */
struct raw_target {
	enum { RAW_METHOD, RAW_TARGET, RAW_BEHIND } phase;
	uint8_t due;                   /* bytes that the last character still needs */
	uint8_t low, high;             /* what the next one may be */
};

/* The part of a piece that is of the target and has bytes beyond ASCII. */
struct raw_part { size_t at, len, beyond; };

/* Reads the next piece of a request, which begins behind the one before. False: the target is not valid UTF-8. The
 * bytes before and behind the target are left alone. */
bool raw_target_read(struct raw_target *, const char *piece, size_t len, struct raw_part *);
/* Writes that part of the piece as %XX; what is behind it moves. There is room for 2 * beyond bytes more. */
void raw_target_encode(char *piece, size_t len, const struct raw_part *);

#endif
