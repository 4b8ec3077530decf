/* Owns a report as JSON for programs; conf/check.schema.json has its shape.
 * Must not know: how it was found. Invariant: members are added, and never change or go. */
#ifndef UTFEED_PROXY_REPORT_CHECK_JSON_H
#define UTFEED_PROXY_REPORT_CHECK_JSON_H

#include "proxy/base/json.h"
#include "proxy/report/check_report.h"

/* Writes one object; key as json_open(). -1: out of memory, and the object is written without its mail. */
int check_report_json(struct json *, const char *key, const struct check_report *);

#endif
