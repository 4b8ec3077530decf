/* Owns what is remembered of origins so as not to ask them too often: pauses of URLs and of hosts, the least time
 * between two requests, and which protocol a host answers better. One for all workers, under a lock of its own.
 * Must not know: connections, caches, heads of responses. Bounded, by three tables (backoff_table).
 * Invariant: what came of a request that was sent before a pause began neither ends the pause nor makes the next one
 * longer. Source: RFC 9110 section 10.2.3, RFC 6585 section 4. */
#ifndef UTFEED_PROXY_ORIGIN_BACKOFF_H
#define UTFEED_PROXY_ORIGIN_BACKOFF_H

#include <stdint.h>

#include "proxy/base/failure.h"
#include "proxy/base/slice.h"

enum {
	BACKOFF_FIRST_S = 30,                  /* The pause after one failure; it doubles with each. */
	BACKOFF_OWN_MAX_S = 3600,              /* The longest pause that nobody asked for. */
	BACKOFF_ASKED_MAX_S = 24 * 3600,       /* The longest pause that an origin can ask for. */
	BACKOFF_TRIAL_MS = 30 * 1000,          /* How long others wait for the one that asks first behind a pause. */
	BACKOFF_SOON_MS = 2000,                /* The longest that a request itself waits for its host's interval. */
	BACKOFF_SPACE_MIN_MS = 1000, BACKOFF_SPACE_MAX_MS = 60 * 1000  /* Of an interval learned without a policy. */
};
/* For an interval: what was learned of the host. */
#define BACKOFF_LEARNED UINT64_MAX

struct backoff;

/* Under which terms a request asks. */
struct backoff_terms {
	bool pauses;                           /* It keeps pauses, and what comes of it begins and ends some. */
	/* Failures of a URL are one thing only where this is the same: another route may have other rights, and so may
	 * a client with credentials of its own. */
	uint64_t way;
	/* the least time between two requests for the URL, and to the host; 0: any */
	uint64_t url_interval_ms, host_interval_ms;
};

/* A request to an origin, as others know it. */
struct backoff_request {
	struct slice url;                      /* as destination_url() writes it */
	uint64_t parent;                       /* of the parent proxy on the way (parent_number()) */
	/* whoever asks; where a pause is over, the first to ask goes ahead, and others wait for what comes of it */
	uint64_t id;
	uint64_t asked_ms;                     /* When backoff_ask() let it go. */
	bool again;                            /* The host's interval was waited for already. */
	uint64_t soon_ms;                      /* In how many ms it may be made, where backoff_ask() says SOON. */
	/* The intervals that it had to keep, by enum backoff_of; 0: none. */
	uint64_t spaces_ms[2];
	bool changes;                          /* Its method is not safe: it keeps only pauses that were asked for. */
};

/* What an origin did: a status, or without one a failure. */
struct backoff_cause { int status; enum failure_kind why; };

struct backoff *backoff_new(void);               /* NULL: out of memory */
void backoff_free(struct backoff **);

/* Whether nothing is remembered, so that any request may be made. */
bool backoff_is_idle(const struct backoff *);
/* SOON: the request may be made in so little time that it waits itself. WAIT: it may not be made. Both: failure says
 * why, and for how long. */
enum backoff_answer { BACKOFF_GO, BACKOFF_SOON, BACKOFF_WAIT };

/* Whether the request may be made. */
enum backoff_answer backoff_waits(struct backoff *, const struct backoff_request *, const struct backoff_terms *,
    uint64_t now_ms, struct failure *);
/* Whether a request that may be made is the first behind a pause, and must carry no fields of its client. The origin
 * may refuse that client's fields alone, and the other clients must not suffer. Behind every other pause the request
 * has the fields, because the origin may refuse utfeed's own. */
bool backoff_asks_plainly(struct backoff *, const struct backoff_request *, const struct backoff_terms *);
/* As backoff_waits(); if it may be made, it counts as made now or soon, and asked_ms is set. */
enum backoff_answer backoff_ask(struct backoff *, struct backoff_request *, const struct backoff_terms *,
    uint64_t now_ms, struct failure *);

/* The kept copy of a URL: when it was fetched or confirmed, as an age, and how long it is kept. */
struct backoff_copy { uint64_t age_ms, keep_ms; };
/* The copy has answered, because the host is asked too often. The URL with the oldest copy is asked next. */
void backoff_missed(struct backoff *, const struct backoff_request *, const struct backoff_terms *,
    const struct backoff_copy *, uint64_t now_ms);
/* Whether a request that may be made leaves it to another URL of the host, whose copy is much older; for a while at
 * most. Then failure says for how long. */
bool backoff_gives_way(struct backoff *, const struct backoff_request *, const struct backoff_terms *,
    const struct backoff_copy *, uint64_t now_ms, struct failure *);

/* What a response or a failure speaks of. BUSY: the URL asks for a pause because its host is busy. Once a second URL
 * does so within the pause of the first, the host has one as well. */
enum backoff_of { BACKOFF_OF_URL, BACKOFF_OF_HOST, BACKOFF_OF_BUSY };

struct text;
/* The name under which a fleet keeps an interval: for URL or HOST. */
void backoff_pace_name(struct text *, enum backoff_of, const struct backoff_request *, const struct backoff_terms *);
/* In the fleet the URL or the host was asked, or will be, at that time. */
void backoff_paced(struct backoff *, enum backoff_of, const struct backoff_request *, const struct backoff_terms *,
    uint64_t asked_ms);

/* It is not asked for seconds; 0: for twice as long as the time before, with jitter. True: a pause begins. */
bool backoff_pause(struct backoff *, enum backoff_of, const struct backoff_request *, const struct backoff_terms *,
    uint64_t now_ms, struct backoff_cause, uint32_t seconds);
/* The host answered 429; space_ms: the interval that its policy asks for, 0: none. */
void backoff_learn(struct backoff *, const struct backoff_request *, const struct backoff_terms *, uint64_t now_ms,
    uint64_t space_ms);
/* The request had success: the doubling ends. */
void backoff_works(struct backoff *, enum backoff_of, const struct backoff_request *, const struct backoff_terms *);
/* Nothing came of the request: the next one goes ahead. */
void backoff_leave(struct backoff *, const struct backoff_request *, const struct backoff_terms *, uint64_t now_ms);

/* Which protocol an https host answers better, for an hour. REQUIRED: the host itself has said that it has to be
 * HTTP/1.1. */
enum backoff_protocol {
	BACKOFF_PROTOCOL_ANY, BACKOFF_PROTOCOL_HTTP_1, BACKOFF_PROTOCOL_HTTP_2, BACKOFF_PROTOCOL_REQUIRED
};

/* ANY: nothing is remembered. What the URL itself answered better counts more than what others of its host did. */
enum backoff_protocol backoff_protocol(struct backoff *, const struct backoff_request *, uint64_t now_ms);
/* The same for a URL behind any parent proxy, to be shown. */
enum backoff_protocol backoff_protocol_shown(struct backoff *, struct slice url, uint64_t now_ms);
/* Whether a URL that gets an error over one protocol may be asked over the other: once an hour. */
bool backoff_asks_twice(struct backoff *, const struct backoff_request *, uint64_t now_ms);
/* The URL was asked by both; ANY: neither answer is better. REQUIRED: it was asked by HTTP/2 alone. */
void backoff_learn_protocol(struct backoff *, const struct backoff_request *, enum backoff_protocol better,
    uint64_t now_ms);

/* What is remembered of a URL, or of a host as http://name:port. */
struct backoff_shown {
	bool host;
	struct slice name;
	struct backoff_cause cause;            /* of the last pause */
	bool asked_for;                        /* the origin asked for it */
	uint64_t began_ms, until_ms;           /* monotonic clock */
	uint32_t saved;                        /* requests that were not made because of pauses */
};
/* Calls each() for all that have a pause now, or had one since the last success. each() must not call backoff; what it
 * is given is gone when it returns. */
void backoff_each(struct backoff *, void (*each)(void *arg, const struct backoff_shown *), void *arg);
/* The pause that holds for a URL the longest: its own by any way, or its host's. True: there is one now. */
bool backoff_find(struct backoff *, struct slice url, uint64_t now_ms, struct backoff_shown *);
struct stats_gauges;
void backoff_stats(struct backoff *, uint64_t now_ms, struct stats_gauges *);

/* Which pauses end: that of a URL and its host's; those of all URLs that begin so, and that host's; those of all URLs
 * of the host; all. */
enum backoff_scope { BACKOFF_URL, BACKOFF_PREFIX, BACKOFF_HOST, BACKOFF_ALL };
/* Ends them, with what they would make of the next ones. How many there were. url: of BACKOFF_HOST any URL of it. An
 * http URL stands for its https one, too, to which upgrade-https may lead. */
size_t backoff_resume(struct backoff *, enum backoff_scope, struct slice url, uint64_t now_ms);

/* Calls told() for all news for other processes (backoff_news.h) from now on, on any thread. */
struct backoff_news;
void backoff_listen(struct backoff *, void (*told)(void *arg, const struct backoff_news *), void *arg);
struct fleet;
/* From now on the news go to the fleet's other processes, and theirs are heard. NULL: there are none. */
void backoff_share(struct backoff *, struct fleet *);
/* Takes over what another process tells, and tells nobody else of it. */
void backoff_hear(struct backoff *, const struct backoff_news *, uint64_t now_ms);

#endif
