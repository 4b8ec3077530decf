/* Owns charts of the last hour as SVG: lines over 60 minutes with their axes, a text for each minute, a description.
 * Must not know: what is shown.
 * Invariant: a value that is NAN is a gap. A chart takes at most some 8 kB, whatever its values are. */
#ifndef UTFEED_PROXY_ADMIN_CHART_H
#define UTFEED_PROXY_ADMIN_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CHART_MINUTES = 60, CHART_LINES_MAX = 3 };

struct chart {
	const char *title, *unit;
	double top;                         /* of the scale; 0: as the values need it */
	bool tenfold;                       /* the scale is logarithmic */
	size_t n;
	const char *lines[CHART_LINES_MAX]; /* their names; of a single one NULL */
};

/* The values of a line by minute, the oldest first. end: when the last minute ends, in seconds since the epoch. */
void chart_write(FILE *, const struct chart *, const double values[][CHART_MINUTES], int64_t end);
/* A number as charts write it: as many digits as tell something; a gap is "-". */
void chart_number(FILE *, double);
/* "12:34", in UTC. */
void chart_clock(FILE *, int64_t at);

#endif
