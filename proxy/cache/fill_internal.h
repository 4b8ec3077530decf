/* Owns what the parts of a fill share: fill.c has the fetch's hooks and stores whole responses, fill_gate.c decides
 * whether a response is stored and whom it is for, fill_refresh.c merges a 304 into the stored response, fill_parts.c
 * stores parts. Must not know: requests in other workers. Invariant: a fill belongs to the thread of its fetch
 * alone. */
#ifndef UTFEED_PROXY_CACHE_FILL_INTERNAL_H
#define UTFEED_PROXY_CACHE_FILL_INTERNAL_H

#include "proxy/cache/fill.h"

/* What the redirects that were followed say of the response they led to. */
struct fill_hops {
	bool any;
	bool vary_all;
	enum storable storable;        /* the first of their reasons against it */
	struct freshness limit;        /* what holds for any of them */
	char *vary;                    /* names; NULL: none */
};

struct fill {
	struct log_id id;              /* of the request that began it */
	struct fill_params params;     /* strings and entries are its own */
	char *key, *busy, *sent;
	size_t sent_len;
	struct cache_ticket ticket;    /* from before the fetch: what is purged meanwhile is not stored */
	struct request request;        /* what it said; its message is gone */
	struct fill_hops hops;
	struct response_settings head;
	int64_t asked;                 /* when, by the wall clock */
	/* and by the monotonic one: whole seconds of two clocks would differ by one too often */
	uint64_t asked_ms;
	int64_t request_time, response_time;
	struct object *object;         /* the fetch's reference keeps it */
	bool left;                     /* nobody can join any more */
	bool storing;
	bool ranged;                   /* a part was asked for */
	bool normalises;               /* a whole is looked at, and may be changed */
	/* where it proves to be no feed it may be asked for in parts, which is to be noted */
	bool marks;
	struct content_range part;     /* that came and is being stored; total 0: none */
	char *upstream;                /* the head to store */
	size_t upstream_len;
	size_t reserved;               /* bytes of the body that count in the budget of memory */
	char *vary;                    /* names, those of redirects included; NULL: the response does not vary */
};

static inline enum response_body fill_body(struct object *o)
{
	const struct object_report *r = object_report(o);

	return r->normalised ? RESPONSE_NORMALISED : r->decoded ? RESPONSE_DECODED : RESPONSE_RAW;
}

/* fill.c */
int64_t fill_now(struct fill *);
/* Nobody can join any more. */
void fill_leave(struct fill *);
enum fill_head { FILL_HEAD, FILL_HEAD_UNUSABLE /* it is none, or beyond the limits of heads */, FILL_HEAD_NO_MEMORY };
/* Reads head bytes as a message again. The text must live as long as m. But for FILL_HEAD m is let go of. */
enum fill_head fill_parse(struct fill *, struct http_msg *m, const char *bytes, size_t len);
/* Puts a response under its key, behind a record of variants where it varies. Takes over what parts hold. NULL: it was
 * purged meanwhile, or out of memory. */
struct entry *fill_put(struct fill *, struct entry_parts *);
/* The key of the response, or of a part of it. */
void fill_key(struct fill *, bool part, struct text *);
/* Head and freshness of what is stored with parts->object under parts->upstream. -1: out of memory, parts let go of. */
int fill_finish_parts(struct fill *, struct entry_parts *, struct freshness *) __attribute__((warn_unused_result));
/* Where the response names no lifetime its feed, body, may: of the time it was made, not of the time it came. NULL: not
 * known yet. */
void fill_freshness(struct fill *, struct freshness *, const struct http_msg *, struct object *body);

/* fill_gate.c: the one way into the store, for a 200, a part and what a 304 makes of a stored response. */
/* A redirect that is followed counts for what it leads to. -1: out of memory. */
int fill_note_hop(struct fill *, const struct http_msg *) __attribute__((warn_unused_result));
/* Whether a response with that head, as a status, may be stored; then l->vary has the names. -1: out of memory. */
int fill_judge(struct fill *, const struct http_msg *, int status, enum storable *) __attribute__((warn_unused_result));
/* Says in the object whom it is for; own: the one who asked alone. -1: out of memory. */
int fill_admit(struct fill *, const struct http_msg *, bool own, struct object *) __attribute__((warn_unused_result));
void fill_hops_free(struct fill_hops *);

/* fill_refresh.c */
/* The origin's head of e with what the newer response says (stored_head_update()), within the limits of what is
 * stored. */
enum fill_head fill_merge(struct fill *, const struct entry *, const struct http_msg *newer, bool cookies,
    char **merged, size_t *len);
/* The origin says that the stored response still holds: it is stored anew with the new head where that may be, and
 * answers. */
enum fetch_choice fill_refresh(struct fill *, const struct fetch_answer *, struct object *);
/* The stored response answers for an origin that errs, where it may. */
bool fill_serve_stale(struct fill *, struct object *, int status);
/* If-None-Match and If-Modified-Since from what the origin sent with the stored response (RFC 9111 section 4.3.1). -1:
 * out of memory. */
int fill_add_validators(struct fill *, struct fetch_request *) __attribute__((warn_unused_result));

/* fill_parts.c */
/* Whether a 206 is a part that can be stored; then it is noted. */
bool fill_takes_part(struct fill *, const struct http_msg *);
/* It came complete, as m. NULL: it is not stored. */
struct entry *fill_store_part(struct fill *, const struct http_msg *m, struct object *);
/* A response that is no part: where it tells that its URL may be asked for in parts, or that a stored part is of
 * another one. */
void fill_note_head(struct fill *, const struct http_msg *);
void fill_note_end(struct fill *);

#endif
