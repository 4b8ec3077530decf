/* Remembering URLs so as not to ask for them too often; see backoff.h. A URL for which there is no memory is simply not
 * remembered. */
#include "proxy/origin/backoff.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "proxy/base/hash.h"
#include "proxy/base/http_date.h"

enum { BACKOFF_BUCKETS = 4096 };

struct backoff_url {
	LIST_ENTRY(backoff_url) link;
	TAILQ_ENTRY(backoff_url) age;
	uint64_t hash, asked_ms, not_before_ms;
	int status;
	char url[];
};

struct backoff {
	atomic_size_t n;               /* changes under the lock; 0 can be seen without it: no URL is remembered */
	pthread_mutex_t lock;          /* guards what follows */
	TAILQ_HEAD(backoff_ages, backoff_url) ages;      /* least recently used first */
	LIST_HEAD(, backoff_url) buckets[BACKOFF_BUCKETS];
};

struct backoff *backoff_new(void)
{
	struct backoff *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	TAILQ_INIT(&p->ages);
	return p;
}

static void backoff_forget(struct backoff *p, struct backoff_url *u)
{
	LIST_REMOVE(u, link);
	TAILQ_REMOVE(&p->ages, u, age);
	p->n--;
	free(u);
}

void backoff_free(struct backoff **pp)
{
	if (!*pp)
		return;
	while (!TAILQ_EMPTY(&(*pp)->ages))
		backoff_forget(*pp, TAILQ_FIRST(&(*pp)->ages));
	pthread_mutex_destroy(&(*pp)->lock);
	free(*pp);
	*pp = NULL;
}

static struct backoff_url *backoff_find(struct backoff *p, const char *url, bool make)
{
	size_t len = strlen(url) + 1;
	uint64_t hash = hash_keyed(url, len);
	struct backoff_url *u;

	LIST_FOREACH(u, &p->buckets[hash % BACKOFF_BUCKETS], link)
		if (u->hash == hash && !strcmp(u->url, url))
			break;
	if (u) {
		TAILQ_REMOVE(&p->ages, u, age);
		TAILQ_INSERT_TAIL(&p->ages, u, age);
		return u;
	}
	if (!make || !(u = calloc(1, sizeof *u + len)))
		return NULL;
	u->hash = hash;
	memcpy(u->url, url, len);
	LIST_INSERT_HEAD(&p->buckets[hash % BACKOFF_BUCKETS], u, link);
	TAILQ_INSERT_TAIL(&p->ages, u, age);
	if (++p->n > BACKOFF_URLS_MAX)
		backoff_forget(p, TAILQ_FIRST(&p->ages));
	return u;
}

static bool url_waits(const struct backoff_url *u, uint64_t now_ms, uint64_t min_interval_ms, struct failure *failure)
{
	uint64_t until = u ? u->not_before_ms : 0;
	bool paused = until > now_ms;

	if (u && min_interval_ms && u->asked_ms && u->asked_ms + min_interval_ms > until)
		until = u->asked_ms + min_interval_ms;
	if (until <= now_ms)
		return false;
	if (paused)
		failure_set(failure, u->status == 429 ? FAILURE_PAUSE_429 : FAILURE_PAUSE_503,
		    "the origin asked for a pause");
	else
		failure_set(failure, FAILURE_ASKED_TOO_SOON, "asked too soon again");
	failure->retry_after_s = (unsigned)((until - now_ms + 999) / 1000);
	return true;
}

bool backoff_is_idle(const struct backoff *p)
{
	return !atomic_load_explicit(&p->n, memory_order_relaxed);
}

bool backoff_waits(struct backoff *p, const char *url, uint64_t now_ms, uint64_t min_interval_ms,
    struct failure *failure)
{
	bool waits;

	pthread_mutex_lock(&p->lock);
	waits = url_waits(backoff_find(p, url, false), now_ms, min_interval_ms, failure);
	pthread_mutex_unlock(&p->lock);
	return waits;
}

bool backoff_ask(struct backoff *p, const char *url, uint64_t now_ms, uint64_t min_interval_ms, struct failure *failure)
{
	struct backoff_url *u;
	bool waits;

	if (!min_interval_ms && backoff_is_idle(p))
		return false;
	pthread_mutex_lock(&p->lock);
	u = backoff_find(p, url, min_interval_ms);
	waits = url_waits(u, now_ms, min_interval_ms, failure);
	if (u && !waits)
		u->asked_ms = now_ms;
	pthread_mutex_unlock(&p->lock);
	return waits;
}

/* The seconds of Retry-After, which is delay-seconds or a date (RFC 9110 section 10.2.3); -1: neither. */
static int64_t retry_after_seconds(struct slice s, int64_t wall_s)
{
	int64_t n = 0;
	size_t i = 0;

	s = slice_trim(s);
	for (; i < s.len && s.at[i] >= '0' && s.at[i] <= '9'; i++)
		n = n * 10 + (s.at[i] - '0') > BACKOFF_WAIT_MAX_S ? BACKOFF_WAIT_MAX_S : n * 10 + (s.at[i] - '0');
	if (s.len && i == s.len)
		return n;
	if (!http_date_read(s, wall_s, &n))
		return -1;
	n -= wall_s;
	return n < 0 ? 0 : n > BACKOFF_WAIT_MAX_S ? BACKOFF_WAIT_MAX_S : n;
}

void backoff_told(struct backoff *p, const char *url, uint64_t now_ms, int64_t wall_s, int status,
    struct slice retry_after)
{
	int64_t seconds = status == 429 || status == 503 ? retry_after_seconds(retry_after, wall_s) : -1;
	struct backoff_url *u;

	if (seconds <= 0 && backoff_is_idle(p))
		return;
	pthread_mutex_lock(&p->lock);
	if ((u = backoff_find(p, url, seconds > 0))) {
		u->not_before_ms = seconds > 0 ? now_ms + (uint64_t)seconds * 1000 : 0;
		u->status = status;
	}
	pthread_mutex_unlock(&p->lock);
}
