/* Owns showing the account of feeds and publishers: a table for people, CSV for spreadsheets, JSON for programs
 * (conf/report.schema.json).
 * Must not know: where it comes from.
 * Invariant: peers' bytes are escaped, and no cell of CSV is a formula to a spreadsheet. */
#ifndef UTFEED_PROXY_REPORT_PUBLISHERS_SHOW_H
#define UTFEED_PROXY_REPORT_PUBLISHERS_SHOW_H

#include <stdio.h>

#include "proxy/report/publishers.h"

/* Those with something to tell, the worst first. feeds: one line for each feed rather than for each publisher. */
void publishers_show_table(FILE *, const struct publishers *, bool feeds);
void publishers_show_csv(FILE *, const struct publishers *, bool feeds);
void publishers_show_json(FILE *, const struct publishers *);

#endif
