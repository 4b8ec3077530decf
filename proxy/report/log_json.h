/* Owns reading one flat object of JSON, a line of a log: its members one by one.
 * Must not know: what they mean. Source: RFC 8259.
 * Invariant: reads no byte behind the line, keeps no pointer into it, and texts have room for their end; objects and
 * lists within are stepped over. */
#ifndef UTFEED_PROXY_REPORT_LOG_JSON_H
#define UTFEED_PROXY_REPORT_LOG_JSON_H

#include <stdbool.h>

enum { LOG_JSON_KEY_MAX = 64, LOG_JSON_VALUE_MAX = 2048 };

struct log_json {
	const char *at, *end;
	bool begun, failed;         /* failed: this is not an object of JSON. */
	/* The member at hand, cut if it is too long; "" for null, a list or an object; a number or a word as it
	 * is */
	char key[LOG_JSON_KEY_MAX], value[LOG_JSON_VALUE_MAX];
};

/* Moves to the next member. False: the object has ended, or failed is set. Start with at and end alone. */
bool log_json_next(struct log_json *);

#endif
