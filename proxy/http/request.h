/* Owns what a client's request says, as a value: client/request_read.c reads it once from the head, and every later
 * step gets this value.
 * Must not know: who asks, what is stored. Invariant: never changed once read; msg must live as long. */
#ifndef UTFEED_PROXY_HTTP_REQUEST_H
#define UTFEED_PROXY_HTTP_REQUEST_H

#include "proxy/http/cache_control.h"
#include "proxy/http/http_msg.h"

struct request {
	/* For who writes the origin's request of it, and for the rules of preconditions and ranges (conditional.h). */
	const struct http_msg *msg;
	enum http_method method;
	bool authorization, cookies;   /* credentials came along */
	bool conditional;              /* some precondition (RFC 9110 section 13) */
	bool ranged;                   /* a Range */
	struct cache_control says;     /* Cache-Control and Pragma; as the route lets them count: freshness_request() */
};

static inline bool request_reads(const struct request *r)
{
	return r->method == METHOD_GET || r->method == METHOD_HEAD;
}

#endif
