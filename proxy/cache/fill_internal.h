/* Owns what the files of a fill share. The fetch's hooks are in fill.c, which stores whole responses; fill_parts.c
 * stores parts. The gate is in fill_gate.c: is a response stored, and for which clients? How long a response is fresh
 * is decided in fill_lifetime.c. When a 304 comes, fill_refresh.c merges it into the stored response. Permanent
 * redirects are remembered in fill_moves.c. fill_lease.c waits for other processes. Must not know: requests in other
 * workers. Invariant: a fill belongs to the thread of its fetch alone. */
#ifndef UTFEED_PROXY_CACHE_FILL_INTERNAL_H
#define UTFEED_PROXY_CACHE_FILL_INTERNAL_H

#include "conf/conf.h"
#include "core/evidence/media_kind.h"
#include "proxy/cache/fill.h"
#include "proxy/cache/moves.h"
#include "proxy/fleet/lease.h"

/* What the redirects that were followed say of the response at their end. */
struct fill_hops {
	bool any;
	bool vary_all;
	enum storable storable;        /* STORABLE_YES, or the first reason that one of them gives */
	struct freshness limit;        /* the response may count as fresh no longer than each of them */
	char *vary;                    /* field names; NULL: none */
};

/* The redirects of the fetch that are remembered. */
struct fill_moves {
	struct move known;             /* what was found last */
	unsigned purges;               /* moves_purges() when the fetch began */
	bool page;                     /* the response is a page by its type: a place that fails, unless it is a feed */
	int n;
	const char *from[CONF_REDIRECTS_MAX];  /* the URLs that led on; the fetch's own */
};

/* The plan for the stored response under the same key, once the new response came complete. */
enum fill_plan {
	PLAN_NOTHING,                  /* keep the stored response */
	PLAN_KEEP_GOOD,                /* the same, because only the new one is an error */
	PLAN_OUTDATE,                  /* remove it: the new one is newer, but finds no room */
	PLAN_STORE                     /* replace it with the new one */
};

struct fill {
	struct log_id id;              /* of the request that began the fill */
	struct fill_params params;     /* strings and entries are the fill's own */
	const char *key, *sent;        /* in text; the key is what busy begins with */
	size_t sent_len;
	struct cache_key busy;
	struct cache_ticket ticket;    /* taken before the fetch: a response purged meanwhile is not stored */
	struct request request;        /* the request that began the fill, without its message */
	struct fill_hops hops;
	struct fill_moves moves;
	struct response_settings head;
	int64_t asked;                 /* when the fill began, by the wall clock */
	/* the same by the monotonic clock, in milliseconds: the difference of two rounded seconds would often be one
	 * too many */
	uint64_t asked_ms;
	int64_t request_time, response_time;
	uint64_t answered_ms;          /* when the response came, by the monotonic clock */
	struct object *object;         /* the fetch holds the reference */
	struct fetch *fetch;           /* while it waits for the lease */
	struct fleet_lease lease;
	enum fleet_came came;          /* the outcome that the other processes learn when the lease ends */
	struct filled *told;           /* behind the object */
	bool left;                     /* no request can join any more */
	enum fill_plan plan;           /* fill_set_plan() */

	bool apart;                    /* responses for this key are each client's own */
	bool needs_feed;               /* a feed is kept, and the response fails unless its body is one */
	bool ranged;                   /* the fetch asks for a part */

	bool normalises;               /* a whole body would be examined and perhaps changed */
	/* if the body is not a feed, its URL may be asked for in parts, and a mark is to say so */
	bool marks;
	struct content_range part;     /* the part that is being stored; total 0: none */
	char *upstream;                /* the origin's head, to be stored */
	size_t upstream_len;
	size_t reserved;               /* bytes reserved for the body in the budget of memory */
	char *vary;                    /* field names, also of redirects; NULL: the response does not vary */
	struct freshness fresh;        /* of the response by its head, where it may be joined or stored */
	char text[];
};

static inline enum response_body fill_body(struct object *o)
{
	const struct object_report *report = object_reported(o);

	return report->normalised ? RESPONSE_NORMALISED : report->decoded ? RESPONSE_DECODED : RESPONSE_RAW;
}

/* A response with Set-Cookie is for the client that asked: waiting requests do not get it, even if it is stored for
 * later ones without that field. If no client gets the field, the response is for all of them. */
static inline bool fill_is_for_client(const struct fill *fill, const struct http_msg *m)
{
	return !fill->params.freshness.drops_own && http_msg_is_for_client(m);
}

/* fill.c */
/* The one way from plan to plan. */
void fill_set_plan(struct fill *, enum fill_plan);
int64_t fill_now(struct fill *);
int64_t fill_steady(struct fill *);    /* seconds of the monotonic clock */
/* Takes the object out of those in flight: no request can join any more. */
void fill_leave(struct fill *);
enum fill_head { FILL_HEAD, FILL_HEAD_UNUSABLE /* no head, or over a limit of heads */, FILL_HEAD_NO_MEMORY };
/* Parses stored head bytes into m. The bytes must live as long as m. m holds nothing unless the result is FILL_HEAD. */
enum fill_head fill_parse(struct fill *, struct http_msg *m, const char *bytes, size_t len);
/* Stores a response under its key; where it varies, the index of its variants is stored first. Takes over what parts
 * hold. NULL: it was purged meanwhile, or out of memory. */
struct entry *fill_put(struct fill *, struct entry_parts *);
/* Writes the key of the response, or of a part of it, where it varies by these fields; vary NULL: by none. */
void fill_key(struct fill *, const char *vary, bool part, struct text *);
/* Makes head and freshness for the entry of parts->object from parts->upstream. -1: out of memory, and parts are freed.
 * client: with the fields that are for the asking client alone. A head with such fields must not be stored. */
int fill_finish_parts(struct fill *, struct entry_parts *, struct freshness *, bool client)
    __attribute__((warn_unused_result));

/* fill_lifetime.c */
/* The freshness of a response. Where it names no lifetime, the feed in its body may name one, which counts from the
 * time the response was made and not from the time it came. body NULL: not known yet. */
void fill_freshness(struct fill *, struct freshness *, const struct http_msg *, struct object *body);
/* Takes from the freshness, which was read without the body, what is for feeds only. True: the body has a say in the
 * lifetime, so fill_freshness() is to be called with it. */
bool fill_freshness_of_body(struct fill *, struct freshness *, struct object *body);

/* fill_gate.c: the one way into the store, for a 200, a part and what a 304 makes of a stored response. */
/* Notes a redirect that is followed: it has a say in whether the response it leads to may be stored. -1: out of
 * memory. */
int fill_note_hop(struct fill *, const struct fetch_hop *) __attribute__((warn_unused_result));
/* Decides whether a response with that head may be stored if its status is taken to be status; sets l->vary to the
 * field names of Vary. -1: out of memory. */
int fill_judge(struct fill *, const struct http_msg *, int status, enum storable *) __attribute__((warn_unused_result));
/* Notes in the object whom the response is for (own: only for the request that began the fill), and its freshness in
 * l->fresh. -1: out of memory. */
int fill_admit(struct fill *, const struct http_msg *, bool own, struct object *) __attribute__((warn_unused_result));
/* Whether the response must not replace the good one which is stored: it is an error, or a feed is kept and it is not
 * one. If no feed is kept, a 404 or 410 that names a lifetime may: the origin says that there is nothing any more, and
 * for how long. */
bool fill_keeps_good(struct fill *, const struct http_msg *);
/* A response under this key came that finds no room: where the feed that is kept stands there, it is stale from now on,
 * and true: it stays. */
bool fill_spares_kept(struct fill *, const char *key, size_t len);
void fill_hops_free(struct fill_hops *);

/* fill_lease.c */
/* The hook waits of a fetch. */
bool fill_waits(void *arg, struct fetch *);
/* Ends the lease once it is known what came. */
void fill_end_lease(struct fill *, bool over);

/* fill_moves.c */
/* By the response's Content-Type. */
enum media_kind fill_media(const struct http_msg *);
/* Notes a redirect that is followed. */
void fill_moves_add(struct fill *, const struct fetch_hop *);
/* The hook known of a fetch. */
int fill_on_known(void *arg, const char *url, struct text *to);
/* Remembers a redirect that was asked for if it is permanent and may be stored: *f then counts for as long as it is
 * remembered. names: of Vary; at NULL: none. */
void fill_learn(struct fill *, const struct fetch_hop *, bool storable, struct slice names, struct freshness *fresh);
/* Notes what the head of the final response, a failure, or the end of the response says of the redirects that led to
 * it. */
void fill_moves_head(struct fill *, const struct fetch_answer *);
void fill_moves_failed(struct fill *, const struct failure *);
void fill_moves_done(struct fill *, struct object *);

/* fill_refresh.c */
/* Merges the origin's head of e with that of the newer response (stored_head_update()), within the limits of stored
 * heads. */
enum fill_head fill_merge(struct fill *, const struct entry *, const struct http_msg *newer, bool client,
    char **merged, size_t *len);
/* Handles a 304: the stored response answers with an updated head, and is stored anew with that head where it may
 * be. */
enum fetch_choice fill_refresh(struct fill *, const struct fetch_answer *, struct object *);
/* Whether the stored response is a feed that is kept yet. */
bool fill_keeps_feed(struct fill *);
/* Whether the status refuses what the client's own credentials ask for. */
bool fill_is_refusal(const struct fill *, int status);
/* Answers with the stored response in the place of the origin's, if that is allowed. status 0: the origin gave no
 * response; no_feed: it gave one that is not a feed. False: it is not allowed. */
bool fill_serve_stale(struct fill *, struct object *, int status, bool no_feed);
/* Adds If-None-Match and If-Modified-Since from what the origin sent with the stored response (RFC 9111 section 4.3.1).
 * -1: out of memory. */
int fill_add_validators(struct fill *, struct fetch_request *) __attribute__((warn_unused_result));

/* fill_parts.c */
/* Whether the response is a 206 whose part can be stored; if so, l->part is set. */
bool fill_takes_part(struct fill *, const struct http_msg *);
/* Stores a part that came complete, with the head m. NULL: it is not stored. */
struct entry *fill_store_part(struct fill *, const struct http_msg *m, struct object *);
/* Both note what a response tells of its URL: that it may be asked for in parts, or that the stored part belongs to
 * another representation. Called with the head, and when the fetch has ended. */
void fill_note_head(struct fill *, const struct http_msg *);
void fill_note_end(struct fill *);

#endif
