/* Owns the answers of a cache to preconditions and byte ranges on a stored response. Pure: heads in, answers out.
 * Must not know: stores, how the answer is written.
 * Source: RFC 9110 sections 8.8, 13 and 14; RFC 9111 section 4.3.2. */
#ifndef UTFEED_PROXY_HTTP_CONDITIONAL_H
#define UTFEED_PROXY_HTTP_CONDITIONAL_H

#include "proxy/http/http_msg.h"

/* The stored response as the client would get it (with our ETag, not the origin's). */
struct conditional_stored {
	struct slice etag, last_modified;  /* at NULL: it has none */
	int64_t date;                      /* its Date, or when it was received */
	/* the suffix within the tag of another form of the same bytes (";gz"); NULL: there is no other form */
	const char *variant;
};

enum conditional_answer { CONDITIONAL_PROCEED, CONDITIONAL_NOT_MODIFIED, CONDITIONAL_FAILED };   /* 200, 304, 412 */

/* Evaluates the preconditions in the order of RFC 9110 section 13.2.2, for GET and HEAD on a stored response of status
 * 200. now: for two-digit years. */
enum conditional_answer conditional_evaluate(const struct http_msg *request, const struct conditional_stored *,
    int64_t now);

/* Whether the request has any precondition at all. */
bool conditional_asked(const struct http_msg *request);

/* Whether a tag of If-None-Match is that of another form of the same bytes (conditional_stored.variant). */
bool conditional_names_variant(const struct http_msg *request, const char *variant);

bool etag_equal(struct slice, struct slice, bool strong);  /* RFC 9110 section 8.8.3.2 */

enum range_answer {
	RANGE_NONE,                    /* serve it whole: no range, several, one not understood, or If-Range fails */
	RANGE_ONE,                     /* 206 with first to last */
	RANGE_UNSATISFIABLE            /* 416 with Content-Range: bytes */
};

struct byte_range { uint64_t first, last; };   /* both inclusive */

/* Whether a GET asks for one byte range, by its syntax. */
bool range_asked(const struct http_msg *);

/* Range and If-Range of a GET, for a complete body of that length. */
enum range_answer range_evaluate(const struct http_msg *request, const struct conditional_stored *, uint64_t length,
    int64_t now,
    struct byte_range *);

#endif
