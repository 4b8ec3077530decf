/* Owns showing the account of feeds and publishers: a table for people, CSV for spreadsheets, JSON for programs
 * (conf/report.schema.json).
 * Must not know: where it comes from.
 * Invariant: peers' bytes are escaped, and no cell of CSV is a formula to a spreadsheet. */
#ifndef UTFEED_PROXY_REPORT_PUBLISHERS_SHOW_H
#define UTFEED_PROXY_REPORT_PUBLISHERS_SHOW_H

#include <stdio.h>

#include "proxy/report/publishers.h"

/* PUBLISHERS and FEEDS: those with something to tell, the worst first, a line each. ORIGINS: how the origins of all
 * feeds do, a line for each feed. */
enum publishers_view { VIEW_PUBLISHERS, VIEW_FEEDS, VIEW_ORIGINS };
void publishers_show_table(FILE *, const struct publishers *, enum publishers_view);
void publishers_show_csv(FILE *, const struct publishers *, enum publishers_view);
/* origins: with a list of all feeds. */
void publishers_show_json(FILE *, const struct publishers *, bool origins);

#endif
