/* Owns the text of /metrics: every counter, gauge, histogram and count by label, in one of two forms.
 * Must not know: sockets, its clients. Invariant: a name has one type and one help whatever the configuration. Labels
 * come from closed sets, except the names that the operator gave to routes.
 * Sources: Prometheus text format 0.0.4, OpenMetrics 1.0. */
#ifndef UTFEED_PROXY_ADMIN_METRICS_H
#define UTFEED_PROXY_ADMIN_METRICS_H

#include <stdio.h>

#include "proxy/base/stats.h"

struct settings;

enum metrics_format { METRICS_PROMETHEUS, METRICS_OPENMETRICS };

struct metrics_source {
	struct stats *const *sets; /* one of each worker */
	size_t n;
	const struct stats_gauges *gauges;
	const struct settings *settings; /* for the counts of routes; NULL: none are shown */
};

void metrics_write(FILE *, const struct metrics_source *, enum metrics_format);
const char *metrics_media_type(enum metrics_format);

#endif
