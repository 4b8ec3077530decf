/* Owns one frame of `utfeed top`: what the admin listener tells in lines (/api/top), as lines for a terminal.
 * Must not know: terminals, sockets, clocks.
 * Invariant: a frame has printable ASCII, line ends and the sequences of top.c only, whatever the listener tells. It
 * has no more lines and columns than its size. */
#ifndef UTFEED_PROXY_COMMAND_TOP_H
#define UTFEED_PROXY_COMMAND_TOP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* columns and rows 0: as many as there are. */
struct top_size {
	unsigned columns, rows;
	bool screen; /* it is a terminal's screen, which the frame fills; else lines alone are written */
};

/* What the frame before knew, so that rates can be told. Zero: there was none. */
struct top_before {
	uint64_t at_ms;
	uint64_t counts[4]; /* requests, hits, errors, bytes */
};

struct top_frame {
	struct top_size size;
	uint64_t now_ms;  /* of any clock that only goes forward */
	const char *help; /* the last line; NULL: none */
};

/* told is the answer's body, which is changed; before is brought up to date. */
void top_draw(FILE *, const struct top_frame *, char *told, struct top_before *);
/* A frame that has one sentence. */
void top_draw_sentence(FILE *, const struct top_frame *, const char *sentence);

#endif
