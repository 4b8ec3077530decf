/* Owns one frame of `utfeed top`: what the admin listener tells in lines (/api/top), as lines for a terminal.
 * Must not know: terminals, sockets, clocks. Invariant: that of frame.h. */
#ifndef UTFEED_PROXY_COMMAND_TOP_H
#define UTFEED_PROXY_COMMAND_TOP_H

#include "proxy/command/frame.h"

/* What the frame before knew, so that rates can be told. Zero: there was none. */
struct top_before {
	uint64_t at_ms;
	uint64_t counts[4]; /* requests, hits, errors, bytes */
};

/* told is the answer's body, which is changed; before is brought up to date. */
void top_draw(FILE *, const struct frame *, char *told, struct top_before *);

#endif
