/* Owns a client's request as a value: answer/request_read.c reads it once from the head, and every later step gets this
 * value.
 * Must not know: the client, what is stored. Invariant: it never changes once it is read; msg must live as long. */
#ifndef UTFEED_PROXY_HTTP_REQUEST_H
#define UTFEED_PROXY_HTTP_REQUEST_H

#include "proxy/http/cache_control.h"
#include "proxy/http/http_msg.h"

struct request {
	/* The head, for writing the request to the origin and for the rules of preconditions and ranges
	 * (conditional.h). */
	const struct http_msg *msg;
	enum http_method method;
	bool authorization, cookies;   /* the request has Authorization, Cookie, and Connection does not name it */
	bool conditional;              /* the request has a precondition (RFC 9110 section 13) */
	bool ranged;                   /* the request has a Range */

	/* Where the URL had the client's name and password, "/NAME:PASSWORD@" before the target; 0, 0: it had none. */
	uint32_t token_at, token_len;
	struct cache_control says;     /* Cache-Control and Pragma; freshness_request() tells what of them counts */
};

/* What redirects for this client alone begin their paths with. */
static inline struct slice request_token(const struct request *request)
{
	return (struct slice){ request->msg->base + request->token_at, request->token_len };
}

static inline bool request_reads(const struct request *request)
{
	return request->method == METHOD_GET || request->method == METHOD_HEAD;
}

#endif
