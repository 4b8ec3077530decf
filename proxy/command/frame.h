/* Owns one frame of a command that shows a running utfeed on a terminal: lines, each cut where the screen ends, of what
 * the admin listener told in lines with tabs.
 * Must not know: terminals, sockets, clocks, what is shown.
 * Invariant: a frame has printable ASCII, line ends and the sequences of frame.c only, whatever the listener tells. It
 * has no more lines and columns than its size. */
#ifndef UTFEED_PROXY_COMMAND_FRAME_H
#define UTFEED_PROXY_COMMAND_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* columns and rows 0: as many as there are. */
struct frame_size {
	unsigned columns, rows;
	bool screen; /* it is a terminal's screen, which the frame fills; else lines alone are written */
};

struct frame {
	struct frame_size size;
	uint64_t now_ms;  /* of any clock that only goes forward */
	const char *help; /* the last line; NULL: none */
};

enum frame_style { FRAME_PLAIN, FRAME_BOLD, FRAME_HEAD };

struct frame_screen {
	FILE *out;
	const struct frame *frame;
	unsigned rows; /* written so far */
};

void frame_begin(struct frame_screen *, FILE *, const struct frame *);
/* Writes a line, cut where the screen ends; behind the last row nothing. */
void frame_line(struct frame_screen *, enum frame_style, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Whether no row is left for a line of a list. */
bool frame_is_full(const struct frame_screen *);
/* Writes the last line, and ends the frame. */
void frame_end(struct frame_screen *);
/* A frame that has one sentence. */
void frame_sentence(FILE *, const struct frame *, const char *sentence);

enum { FRAME_FIELDS = 16, FRAME_SHORT_MAX = 16 };

/* A line that was told: its name and its values, "" where there are none. They point into the line. */
struct frame_fields {
	const char *at[FRAME_FIELDS];
};
struct frame_fields frame_split(char *line);
uint64_t frame_number(const char *text);
/* A number in few characters, "17k", "1.2M". */
const char *frame_short(char room[FRAME_SHORT_MAX], double value);
/* "12 s", "5 min", "2 h", "3 d". */
const char *frame_age(char room[FRAME_SHORT_MAX], uint64_t seconds);

#endif
