/* Owns the way the cache tells what it did: our member of Cache-Status. Must not know: what was done, or why. Pure.
 * Source: RFC 9211. Members of caches nearer to the origin stand before ours, on lines of their own. */
#ifndef UTFEED_PROXY_HTTP_CACHE_STATUS_H
#define UTFEED_PROXY_HTTP_CACHE_STATUS_H

#include "proxy/base/text.h"

#include <stdint.h>

enum cache_fwd {                       /* RFC 9211 section 2.2 */
	FWD_NONE = 0,
#define FORWARD(id, token) FWD_##id,
#include "proxy/http/cache_status.def"
#undef FORWARD
	FWD_COUNT
};

struct cache_status {
	bool hit;                      /* answered without a request forward; fwd is then FWD_NONE (section 2.1) */
	bool stored, collapsed;        /* with fwd only (sections 2.5, 2.6) */
	bool kept;                     /* a stored response because forwarding failed: a hit that has fwd, too */
	bool has_ttl;
	enum cache_fwd fwd;
	int fwd_status;                /* 0: not known */
	int64_t ttl;                   /* seconds; negative: stale for so long (section 2.4) */
	const char *detail;            /* a token or any text; NULL: none */
};

/* The word for why a request went forward; NULL for FWD_NONE. */
const char *cache_status_fwd(enum cache_fwd);
/* Appends one member, "NAME; hit; ttl=30". name: of this cache; it is written as a token where it is one, else
 * quoted. */
void cache_status_member(struct text *, const char *name, const struct cache_status *);
/* Appends the member as a whole field line with CRLF, which stands after the Cache-Status fields from upstream. */
void cache_status_line(struct text *, const char *name, const struct cache_status *);

#endif
