/* Owns filling the cache: one fetch whose response other requests may join. The response may be stored, may refresh a
 * stored response, or may be replaced by one.
 * Must not know: clients. Source: RFC 9111 sections 3, 4.3 and 4.2.4, RFC 5861. A part that was asked for is stored as
 * a part, and joined with the part that is stored already (fill_parts.c).
 * Invariant: a response, or the part of one, is stored only if it came complete and passed the gate (fill_gate.c); an
 * error never takes the place of a good response. What came complete and passed the gate, but found no room, still
 * removes what it would have replaced. */
#ifndef UTFEED_PROXY_CACHE_FILL_H
#define UTFEED_PROXY_CACHE_FILL_H

#include "proxy/cache/cache.h"
#include "proxy/origin/fetch.h"

struct fleet;

/* How permanent redirects are remembered (moves.h). */
struct fill_moves_params {
	uint64_t scope;
	unsigned generation;
	uint32_t max_s;                /* how long; 0: none is remembered, nor used */
};

struct fill_params {
	struct cache *cache;
	struct fetch_pool *fetches;
	struct loop *loop;
	const char *key;               /* URL "\n" SETTINGS; copied */
	size_t key_len;
	/* the key under which others find the response while it is made: that of the variant, where it is known, so it
	 * begins with key; copied */
	struct cache_key busy;
	const struct request *request; /* copied without its message */
	struct slice sent;             /* its lines for the origin (request_head_sent()); copied */
	struct entry *entry;           /* the stored response to validate; a reference is taken; NULL: none */

	uint64_t generation;           /* of the index of variants that the key in busy was made by */
	struct entry *part;            /* the stored part, where a part is asked for; likewise */

	/* taken before entry or part was looked for: what is made of one that was purged since is not stored; copied.
	 * NULL: they were found in memory, or there is neither */
	const struct cache_ticket *ticket;
	struct freshness_settings freshness;
	bool credentials;              /* the request carries the client's own: a refusal is that client's */
	/* limits of what is stored: bytes of the body, bytes of the head, field lines of the head */
	size_t max_object, max_head, max_fields;
	size_t transit_bytes;
	struct fill_moves_params moves;
	bool alone;                    /* joins no other request's fetch, and is joined by none */
	/* who else may ask the origin, and for how long one of them does so for all; NULL or 0: nobody */
	struct fleet *fleet;
	uint64_t lease_ms;
	bool looked;                   /* what others have stored does not answer, and is not looked for */
	const unsigned *ends;          /* as for cache_in_flight_begin(), where the fetch is not alone */
};

/* What a fill tells the answers that read its object; it lies behind the object. All but asked_ms and expires is set
 * before object_head(), object_substitute() or object_fail(). */
struct filled {
	uint64_t asked_ms;             /* when its fetch began, by the monotonic clock; set before others learn of it */
	int fwd_status;                /* the origin's status; 0: none came */

	enum failure_kind failure;     /* how the fetch failed, though something else may answer; NONE: it did not */
	int64_t came;                  /* when the origin's head came, seconds since the epoch; 0: none did */
	bool stored;
	bool kept;                     /* the kept feed substitutes, because the origin failed */
	bool shared;                   /* a response that another process stored meanwhile substitutes */
	const char *detail;            /* why it is not stored, as a token; NULL: not told */

	struct freshness freshness;    /* of the stored response that substitutes */
	/* When what is stored must be fetched again; 0: it is not stored. Set anew when the body is done and read
	 * already: readers may see either. */
	_Atomic int64_t expires;
};
/* NULL: the object does not belong to a fill. */
static inline const struct filled *filled_of(const struct object *o)
{
	return (const struct filled *)object_beside(o);
}

/* Starts the fetch. Returns the object to read (one reference), which is that of another request if *way is
 * IN_FLIGHT_JOINED. NULL: *way is IN_FLIGHT_ENDED, or out of memory. The fill takes or frees what asked owns. It sets
 * asked->hooks, and asked->conditional to validators of params.entry. */
struct object *fill_start(const struct fill_params *, struct fetch_request *asked, enum in_flight *way);

#endif
