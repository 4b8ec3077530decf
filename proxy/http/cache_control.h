/* Owns reading cache directives: Cache-Control of requests and responses, Pragma where a request has no Cache-Control,
 * and targeted fields. Pure: a head in, a struct of values out. Must not know: what follows from them (freshness).
 * Source: RFC 9111 sections 5.2 and 5.4, RFC 5861, RFC 8246, RFC 9213. */
#ifndef UTFEED_PROXY_HTTP_CACHE_CONTROL_H
#define UTFEED_PROXY_HTTP_CACHE_CONTROL_H

#include "proxy/http/http_msg.h"

enum cache_directive {
#define DIRECTIVE(id, name, argument, where) CC_##id,
#include "proxy/http/cache_control.def"
#undef DIRECTIVE
	CC_COUNT
};

#define CC_SECONDS_MAX 2147483648u     /* RFC 9111 section 1.2.2: a larger number counts as this */

struct cache_control {
	bool given;                    /* the head has such a field, even an empty one */
	/* a targeted field was read: Cache-Control and Expires do not count (RFC 9213 section 2.2) */
	bool targeted;
	uint32_t set;                  /* bits by enum cache_directive. A FIELDS directive with a list is not in it. */
	uint32_t listed;               /* bits: no-cache or private with a list of fields */
	uint32_t invalid;              /* bits: directives whose value cannot be read */
	uint32_t seconds[CC_COUNT];    /* a MAYBE directive without a value: CC_SECONDS_MAX */
};

static inline bool cc_has(const struct cache_control *cc, enum cache_directive d)
{
	return cc->set >> d & 1;
}

void cache_control_request(struct cache_control *, const struct http_msg *request);
/* Whether a request asks for a newer response than a fresh one, and taking out the directives that do: an operator may
 * have them ignored. */
bool cache_control_reloads(const struct cache_control *);
void cache_control_forget_reload(struct cache_control *);
/* The targeted field (RFC 9213) that counts before Cache-Control. */
#define CDN_CACHE_CONTROL "cdn-cache-control"
void cache_control_response(struct cache_control *, const struct http_msg *response);

#endif
