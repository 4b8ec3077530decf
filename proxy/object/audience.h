/* Owns the answer to one question, asked alike by whoever stores a response and whoever wants to share it: whom is it
 * for?
 * Must not know: stores, clients. Pure. Never changed once made. Source: RFC 9111 sections 3, 3.5, 4 and 4.1.
 * Invariant: who is admitted would have sent the origin the same values of all fields that the response says it depends
 * on. */
#ifndef UTFEED_PROXY_OBJECT_AUDIENCE_H
#define UTFEED_PROXY_OBJECT_AUDIENCE_H

#include "proxy/base/text.h"
#include "proxy/http/freshness.h"

struct audience {
	bool own;                      /* for the request that fetched it alone */
	char *vary;                    /* names of fields as vary_names() writes them; NULL: it depends on none */
	char *values;                  /* of these, as the request that fetched it was sent (vary_key()) */
	size_t values_len;
	struct freshness freshness;    /* as it came: whether whoever comes late may still have it */
};

/* For those whose values of the fields named in vary, which is copied, are those of sent; NULL: for anybody. NULL: out
 * of memory. */
struct audience *audience_new(bool own, const char *vary, struct slice sent, const struct freshness *);
void audience_free(struct audience **);
bool audience_admits(const struct audience *, struct slice sent);

#endif
