/* Owns filling the cache: one fetch whose response others may join, be stored, refresh a stored one, or be replaced by
 * it.
 * Must not know: clients. Source: RFC 9111 sections 3, 4.3 and 4.2.4, RFC 5861. A part that was asked for is stored as
 * one, and put together with the one that is there (fill_parts.c).
 * Invariant: what is stored came complete, be it a part, and passed the gate (fill_gate.c); an error never takes the
 * place of a good response. */
#ifndef UTFEED_PROXY_CACHE_FILL_H
#define UTFEED_PROXY_CACHE_FILL_H

#include "proxy/cache/cache.h"
#include "proxy/origin/fetch.h"

struct fill_params {
	struct cache *cache;
	struct fetch_pool *fetches;
	struct loop *loop;
	const char *key;               /* URL "\n" SETTINGS; copied */
	size_t key_len;
	/* the key it is known under while it is made: of the variant, where that is known; copied */
	const char *busy;
	size_t busy_len;
	const struct request *request; /* copied, but for its message */
	struct slice sent;             /* of it, what the origin gets (request_head_sent()); copied */
	struct entry *entry;           /* stored already, to be validated; a reference is taken; NULL: none */
	struct entry *part;            /* stored already, where a part is asked for; likewise */
	struct freshness_settings freshness;
	/* bytes of a body and of a head, lines of a head that are stored */
	size_t max_object, max_head, max_fields;
	size_t transit_bytes;
	bool alone;                    /* joins nobody */
};

/* Starts the fetch, or *collapsed: another request was first. The object to read (one reference); NULL: out of memory.
 * What r owns is taken or freed; r->hooks is set, and r->conditional to validators of params.entry. */
struct object *fill_start(const struct fill_params *, struct fetch_request *r, bool *collapsed);

#endif
