/* Owns the ways in which a fetch can fail (failure.def). Each has a status code, a sentence for the client and a
 * Proxy-Status token.
 * Must not know: who failed. Source: RFC 9209. */
#ifndef UTFEED_PROXY_BASE_FAILURE_H
#define UTFEED_PROXY_BASE_FAILURE_H

#include <stdbool.h>

enum failure_kind {
	FAILURE_NONE = 0,
#define FAILURE(id, token, status, text) FAILURE_##id,
#include "proxy/base/failure.def"
#undef FAILURE
	FAILURE_COUNT
};

enum { FAILURE_DETAILS_MAX = 160 };

struct failure {
	enum failure_kind error;
	char details[FAILURE_DETAILS_MAX]; /* Printable ASCII without quotes or backslashes; "" for none. */
	unsigned retry_after_s;            /* For the answer's Retry-After; 0: none. */
	enum failure_kind before;          /* Behind a pause: the failure that began it; NONE: a status did. */
	int received_status;               /* The status that began the pause; 0: none. */
	bool undecided;                    /* The pause is over. Another request asks first, and has no result yet. */
};

/* details: as by printf; quotes, backslashes and anything that is not printable ASCII become '?'. */
void failure_set(struct failure *, enum failure_kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The length of the details up to a semicolon. Behind it stands advice for people, which Proxy-Status leaves out. */
int failure_details_length(const struct failure *);

const char *failure_token(enum failure_kind);
const char *failure_text(enum failure_kind);
int failure_status(enum failure_kind);
/* The status of the answer to the client: what the origin said, if that is an error. */
int failure_answer_status(const struct failure *);
/* A word for the failure: "no_feed", the origin's status if it is an error, else the token, as for a body that was cut.
 * NULL: nothing failed. */
enum { FAILURE_CAUSE_MAX = 16 };
const char *failure_cause(int status, enum failure_kind, char room[FAILURE_CAUSE_MAX]);
/* Whether utfeed refused the destination before it connected. */
bool failure_refuses(enum failure_kind);

#endif
