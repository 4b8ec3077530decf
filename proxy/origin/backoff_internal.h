/* Owns what the files of backoff share: backoff.c asks and tells, backoff_host.c spells hosts, backoff_turn.c has feeds
 * of one host take turns, backoff_protocol.c remembers protocols, backoff_shown.c shows and ends what is remembered.
 * In backoff_hear.c are the news for other processes and from them; backoff_fleet.c brings them there.
 * Must not know: what backoff.h must not. Invariant: the tables are touched between backoff_enter() and backoff_exit()
 * alone. */
#ifndef UTFEED_PROXY_ORIGIN_BACKOFF_INTERNAL_H
#define UTFEED_PROXY_ORIGIN_BACKOFF_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "conf/url.h"
#include "proxy/origin/backoff_news.h"
#include "proxy/origin/backoff_table.h"

struct backoff {
	atomic_size_t n;               /* changes under the lock; 0 can be seen without it: nothing is remembered */
	atomic_size_t n_protocols;     /* likewise, of protocols */
	pthread_mutex_t lock;          /* guards what follows */
	size_t tidied;                 /* the bucket that was looked through last */
	struct backoff_table urls, hosts;
	struct backoff_table protocols;        /* of hosts and of URLs; an entry counts until until_ms */
	size_t protocols_tidied;               /* as tidied */
	/* Set before others use it; NULL: there are no other processes. */
	void (*told)(void *arg, const struct backoff_news *);
	void *told_arg;
	/* of backoff_fleet.c alone; share_due_ms: when the next news would be due at the highest rate */
	struct fleet *fleet;
	uint64_t share_due_ms;
	_Atomic uint64_t share_told, share_untold, share_heard, share_misheard;
};

/* A host as it is remembered: scheme, name and port in one spelling; bare: the name. */
struct backoff_host {
	char text[URL_MAX_HOST + 64];
	struct slice name, bare;
};

/* The entries that a request looks at. */
struct backoff_pair { struct backoff_entry *host, *url; };

void backoff_enter(struct backoff *);
void backoff_exit(struct backoff *);
void backoff_host_of(struct backoff_host *, struct slice url);
/* Ends the pause of an entry and what it would make of the next one; the entry may be gone then. */
void backoff_end(struct backoff_table *, struct backoff_entry *, uint64_t now_ms);

/* backoff.c */
struct backoff_entry *backoff_host_entry(struct backoff *, const struct backoff_request *, bool make);
struct backoff_entry *backoff_url_entry(struct backoff *, const struct backoff_request *, const struct backoff_terms *,
    bool make);
/* Whether another URL of the host has asked for a pause that lasts. If not, this is the first. */
bool backoff_is_second(struct backoff_entry *host, struct slice url, uint64_t until_ms, uint64_t now_ms);

/* What a request has to wait for but the host's interval: until when, and for which entry; NULL: nothing. too_soon: not
 * for a pause. */
struct backoff_wait { uint64_t until_ms; struct backoff_entry *entry; enum failure_kind too_soon; };
struct backoff_wait backoff_wait_of(const struct backoff_pair *, const struct backoff_request *,
    const struct backoff_terms *, uint64_t now_ms);
/* The least time between two requests to a host; 0: any. host NULL: nothing is remembered of it. */
uint64_t backoff_space_ms(const struct backoff_entry *host, const struct backoff_terms *, uint64_t now_ms);

/* backoff_turn.c */
/* Whether the entry is needed for turns. */
bool backoff_has_turn(const struct backoff_entry *, uint64_t now_ms);
/* The URL is asked. Entries of URLs may be gone then. */
void backoff_turn_taken(struct backoff *, struct backoff_entry *host, const struct backoff_request *, uint64_t now_ms);
void backoff_turn_forget(struct backoff_entry *);

/* backoff_fleet.c */
void backoff_share_stats(struct backoff *, struct stats_gauges *);

/* backoff_hear.c */
/* Tells other processes, unless the news has no URL. Not between backoff_enter() and backoff_exit(). */
void backoff_tell(struct backoff *, const struct backoff_news *);
/* Whether the origin itself failed. Else it may be the way to it, which other processes do not share. */
bool backoff_is_news(struct backoff_cause);
struct backoff_news backoff_news_of(enum backoff_news_kind, enum backoff_of, const struct backoff_request *,
    const struct backoff_terms *);
/* The entry's pause is news unless it ends as before, at until_ms. */
void backoff_news_pause(struct backoff_news *, struct backoff_entry *, uint64_t until_ms, enum backoff_of,
    const struct backoff_request *, const struct backoff_terms *);

/* backoff_protocol.c, backoff_shown.c: what others tell */
void backoff_protocol_hear(struct backoff *, const struct backoff_news *);
/* Ends the pauses that began until then. */
size_t backoff_resume_before(struct backoff *, enum backoff_scope, struct slice url, uint64_t before_ms,
    uint64_t now_ms);

#endif
