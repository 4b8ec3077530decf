/* Owns the ways a fetch can fail, and how each is told: status code, sentence, Proxy-Status token (failure.def).
 * Must not know: who failed. Source: RFC 9209. */
#ifndef UTFEED_PROXY_BASE_FAILURE_H
#define UTFEED_PROXY_BASE_FAILURE_H

enum proxy_error {
	PROXY_ERROR_NONE = 0,
#define FAILURE(id, token, status, text) PROXY_ERROR_##id,
#include "proxy/base/failure.def"
#undef FAILURE
	PROXY_ERROR_COUNT
};

enum { PROXY_DETAILS_MAX = 160 };

struct proxy_failure {
	enum proxy_error error;
	char details[PROXY_DETAILS_MAX];   /* printable ASCII without quotes or backslashes; "" for none */
	unsigned retry_after_s;            /* for the answer's Retry-After; 0: none */
};

/* details: printf; whatever is not printable ASCII becomes '?', a quote or backslash too. */
void proxy_failure_set(struct proxy_failure *, enum proxy_error, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

const char *proxy_error_token(enum proxy_error);
const char *proxy_error_text(enum proxy_error);
int proxy_error_status(enum proxy_error);

#endif
