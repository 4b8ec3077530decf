/* One frame of `utfeed fleet`; see fleet_frame.h. */
#include "proxy/command/fleet_frame.h"

#include <string.h>

#define FLEET_INSTANCES "%-24s %8s %-10s %8s %6s %9s %7s %8s %5s %5s %7s %s"
#define FLEET_PURGES "%8s %-7s %-24s %8s %s"

/* fleet INSTANCES SEEN-MS AWAY */
static void fleet_title(struct frame_screen *screen, const struct frame_fields *fleet)
{
	char age[FRAME_SHORT_MAX];

	if (!*fleet->at[2])
		frame_line(screen, FRAME_HEAD,
		    "utfeed is alone, or has not heard of others yet. A fleet needs cache-redis.");
	else
		frame_line(screen, FRAME_HEAD, "%s %s, seen %s ago", fleet->at[1],
		    strcmp(fleet->at[1], "1") != 0 ? "instances" : "instance",
		    frame_age(age, frame_number(fleet->at[2]) / 1000));
	if (frame_number(fleet->at[3]))
		frame_line(screen, FRAME_BOLD, "! The store behind memory cannot be reached; this is what was known.");
}

/* instance NAME PID VERSION UP-S SEEN-MS REQUESTS HITS ORIGIN-REQUESTS LEASES WAITS LAG-MS ADMIN SELF */
static void fleet_instance(struct frame_screen *screen, const struct frame_fields *row)
{
	char up[FRAME_SHORT_MAX], seen[FRAME_SHORT_MAX], requests[FRAME_SHORT_MAX], origin[FRAME_SHORT_MAX],
	    lag[FRAME_SHORT_MAX], hits[FRAME_SHORT_MAX] = "-";
	uint64_t asked = frame_number(row->at[6]);

	if (asked)
		snprintf(hits, sizeof hits, "%.1f", 100 * (double)frame_number(row->at[7]) / (double)asked);
	frame_line(screen, *row->at[13] == '1' ? FRAME_BOLD : FRAME_PLAIN, FLEET_INSTANCES, row->at[1], row->at[2],
	    row->at[3], frame_age(up, frame_number(row->at[4])), frame_age(seen, frame_number(row->at[5]) / 1000),
	    frame_short(requests, (double)asked), hits, frame_short(origin, (double)frame_number(row->at[8])),
	    row->at[9], row->at[10], frame_age(lag, frame_number(row->at[11]) / 1000), row->at[12]);
}

/* purge AGE-S WHAT NAME PID URL */
static void fleet_purged(struct frame_screen *screen, const struct frame_fields *row)
{
	char age[FRAME_SHORT_MAX];

	frame_line(screen, FRAME_PLAIN, FLEET_PURGES, frame_age(age, frame_number(row->at[1])), row->at[2], row->at[3],
	    row->at[4], row->at[5]);
}

void fleet_draw(FILE *out, const struct frame *frame, char *told)
{
	struct frame_screen screen;
	bool purged = false;
	char *line;

	frame_begin(&screen, out, frame);
	while ((line = strsep(&told, "\n")) && !frame_is_full(&screen)) {
		struct frame_fields fields = frame_split(line);

		if (!strcmp(fields.at[0], "fleet")) {
			fleet_title(&screen, &fields);
			frame_line(&screen, FRAME_HEAD, FLEET_INSTANCES, "INSTANCE", "PID", "VERSION", "UP", "SEEN",
			    "REQUESTS", "HITS %", "ORIGIN", "LEASE", "WAIT", "LAG", "ADMIN");
		} else if (!strcmp(fields.at[0], "instance")) {
			fleet_instance(&screen, &fields);
		} else if (!strcmp(fields.at[0], "purge")) {
			if (!purged)
				frame_line(&screen, FRAME_HEAD, FLEET_PURGES, "AGO", "PURGED", "BY", "PID", "URL");
			purged = true;
			if (!frame_is_full(&screen))
				fleet_purged(&screen, &fields);
		}
	}
	frame_end(&screen);
}
