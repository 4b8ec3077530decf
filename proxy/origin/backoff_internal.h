/* Owns what the files of backoff share: backoff.c asks and tells, backoff_host.c spells hosts,
 * backoff_protocol.c remembers protocols, backoff_shown.c shows and ends what is remembered.
 * Must not know: what backoff.h must not. Invariant: the tables are touched between backoff_enter() and backoff_exit()
 * alone. */
#ifndef UTFEED_PROXY_ORIGIN_BACKOFF_INTERNAL_H
#define UTFEED_PROXY_ORIGIN_BACKOFF_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "conf/url.h"
#include "proxy/origin/backoff.h"
#include "proxy/origin/backoff_table.h"

struct backoff {
	atomic_size_t n;               /* changes under the lock; 0 can be seen without it: nothing is remembered */
	atomic_size_t n_protocols;     /* likewise, of protocols */
	pthread_mutex_t lock;          /* guards what follows */
	size_t tidied;                 /* the bucket that was looked through last */
	struct backoff_table urls, hosts;
	struct backoff_table protocols;        /* of hosts and of URLs; an entry counts until until_ms */
	size_t protocols_tidied;               /* as tidied */
};

/* A host as it is remembered: scheme, name and port in one spelling; bare: the name. */
struct backoff_host {
	char text[URL_MAX_HOST + 64];
	struct slice name, bare;
};

void backoff_enter(struct backoff *);
void backoff_exit(struct backoff *);
void backoff_host_of(struct backoff_host *, struct slice url);
/* Ends the pause of an entry and what it would make of the next one; the entry may be gone then. */
void backoff_end(struct backoff_table *, struct backoff_entry *, uint64_t now_ms);

#endif
