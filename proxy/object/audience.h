/* Owns the answer to one question, which is the same for storing a response and for sharing it: which
 * requests may it answer?
 * Must not know: stores, clients. Pure. Never changed once made. Source: RFC 9111 sections 3, 3.5, 4 and 4.1.
 * Invariant: a request is admitted only if it would have sent the origin the same values of all fields that the
 * response says it depends on. */
#ifndef UTFEED_PROXY_OBJECT_AUDIENCE_H
#define UTFEED_PROXY_OBJECT_AUDIENCE_H

#include "proxy/base/text.h"
#include "proxy/http/freshness.h"

struct audience {
	bool own;                      /* only for the request that began the fetch */
	char *vary;                    /* field names as vary_names() writes them; NULL: none */
	char *values;                  /* of these fields, as sent with the fetch (vary_key()) */
	size_t values_len;
	/* as the response came: decides whether a later request may have it; own: all zero */
	struct freshness freshness;
};

/* Makes the audience of a response: requests whose values of the fields named in vary are those in sent; vary NULL: any
 * request. vary is copied. NULL: out of memory. */
struct audience *audience_new(const char *vary, struct slice sent, const struct freshness *);
/* The audience of a response that is for the request alone which began the fetch. Later requests find it stale. */
struct audience *audience_own(void);
void audience_free(struct audience **);
bool audience_admits(const struct audience *, struct slice sent);

#endif
