/* Lines for a terminal; see frame.h. */
#include "proxy/command/frame.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_LINE_MAX = 512 };

static const char *const frame_styles[] = { [FRAME_PLAIN] = "", [FRAME_BOLD] = "\033[1m", [FRAME_HEAD] = "\033[7m" };

void frame_begin(struct frame_screen *screen, FILE *out, const struct frame *frame)
{
	*screen = (struct frame_screen){ out, frame, 0 };
	if (frame->size.screen)
		fputs("\033[H", out);
}

/* The place of the next line is not entered before it comes, so that a full screen does not scroll. */
void frame_line(struct frame_screen *screen, enum frame_style style, const char *fmt, ...)
{
	const struct frame_size *size = &screen->frame->size;
	char line[FRAME_LINE_MAX];
	va_list args;

	if (size->rows && screen->rows == size->rows)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	for (char *at = line; *at; at++)
		if (*at < 0x20 || *at > 0x7e)
			*at = '?';
	if (size->columns && size->columns < sizeof line)
		line[size->columns] = '\0';
	if (!size->screen)
		fprintf(screen->out, "%s\n", line);
	else
		fprintf(screen->out, "%s%s%s\033[0m\033[K", screen->rows ? "\n" : "", frame_styles[style], line);
	screen->rows++;
}

bool frame_is_full(const struct frame_screen *screen)
{
	unsigned rows = screen->frame->size.rows;

	return rows && screen->rows + (screen->frame->help != NULL) >= rows;
}

void frame_end(struct frame_screen *screen)
{
	if (screen->frame->help)
		frame_line(screen, FRAME_PLAIN, "%s", screen->frame->help);
	if (screen->frame->size.screen)
		fputs("\033[J", screen->out);
}

void frame_sentence(FILE *out, const struct frame *frame, const char *sentence)
{
	struct frame_screen screen;

	frame_begin(&screen, out, frame);
	frame_line(&screen, FRAME_BOLD, "%s", sentence);
	frame_end(&screen);
}

struct frame_fields frame_split(char *line)
{
	struct frame_fields fields;
	size_t n = 0;

	while (n < FRAME_FIELDS && line)
		fields.at[n++] = strsep(&line, "\t");
	while (n < FRAME_FIELDS)
		fields.at[n++] = "";
	return fields;
}

uint64_t frame_number(const char *text)
{
	return strtoull(text, NULL, 10);
}

const char *frame_short(char room[FRAME_SHORT_MAX], double value)
{
	static const char units[] = " kMGT";
	size_t unit = 0;

	while (value >= 999.5 && units[unit + 1]) {
		value /= 1000;
		unit++;
	}
	snprintf(room, FRAME_SHORT_MAX, value < 9.95 && (unit || value != (double)(int)value) ? "%.1f%.*s" : "%.0f%.*s",
	    value, unit != 0, units + unit);
	return room;
}

const char *frame_age(char room[FRAME_SHORT_MAX], uint64_t seconds)
{
	static const struct {
		uint64_t seconds;
		const char *unit;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	size_t i = 0;

	while (units[i].seconds > 1 && seconds < 2 * units[i].seconds)
		i++;
	snprintf(room, FRAME_SHORT_MAX, "%llu %s", (unsigned long long)(seconds / units[i].seconds), units[i].unit);
	return room;
}
