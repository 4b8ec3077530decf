/* Owns traceparent: reading a client's, and making the one by which utfeed's own part of a trace is known.
 * Must not know: which clients are trusted, logs. Source: W3C Trace Context level 1, section 3.2.
 * Invariant: what is written is version 00, and neither of its ids is all zeros. */
#ifndef UTFEED_PROXY_HTTP_TRACEPARENT_H
#define UTFEED_PROXY_HTTP_TRACEPARENT_H

#include <stdbool.h>

#include "proxy/base/slice.h"

struct http_msg;
struct text;

enum { TRACEPARENT_LEN = 55 };         /* of version 00: "00-", 32 digits, "-", 16 digits, "-", 2 digits */

/* Whether the value of a field is one that may be gone on with. Of a version beyond 00 only what version 00 has is
 * looked at (section 4.3). */
bool traceparent_is_valid(struct slice value);

/* The trace that a request belongs to. */
struct trace {
	bool accepted;                         /* the client's traceparent counts */
	bool continued;                        /* own goes on with the client's trace */
	char own[TRACEPARENT_LEN + 1];         /* terminated; empty: not made yet */
};

/* The traceparent of utfeed's part of the request, made at the first call. It continues the client's trace if that is
 * accepted, sent once and valid; otherwise the trace is new and its flag "sampled" off. request: NULL: the head is not
 * complete. */
const char *trace_own(struct trace *, const struct http_msg *request);

/* Adds the lines for the origin: traceparent, and the client's tracestate where its trace goes on (section 3.3). */
void trace_add_fields(struct text *, struct trace *, const struct http_msg *request);

#endif
