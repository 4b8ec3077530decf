/* Not asking too often; see polite.h. Without memory for a URL it is simply not remembered. */
#include "polite.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "http_date.h"

enum { POLITE_BUCKETS = 4096 };

struct polite_url {
	LIST_ENTRY(polite_url) link;
	TAILQ_ENTRY(polite_url) age;
	uint64_t asked_ms, not_before_ms;
	int status;
	char url[];
};

struct polite {
	size_t n;
	TAILQ_HEAD(polite_ages, polite_url) ages;      /* least lately used first */
	LIST_HEAD(, polite_url) buckets[POLITE_BUCKETS];
};

struct polite *polite_new(void)
{
	struct polite *p = calloc(1, sizeof *p);

	if (p)
		TAILQ_INIT(&p->ages);
	return p;
}

static void polite_forget(struct polite *p, struct polite_url *u)
{
	LIST_REMOVE(u, link);
	TAILQ_REMOVE(&p->ages, u, age);
	p->n--;
	free(u);
}

void polite_free(struct polite **pp)
{
	if (!*pp)
		return;
	while (!TAILQ_EMPTY(&(*pp)->ages))
		polite_forget(*pp, TAILQ_FIRST(&(*pp)->ages));
	free(*pp);
	*pp = NULL;
}

static size_t polite_hash(const char *url)
{
	size_t h = 5381;

	for (; *url; url++)
		h = h * 33 + (unsigned char)*url;
	return h % POLITE_BUCKETS;
}

static struct polite_url *polite_find(struct polite *p, const char *url, bool make)
{
	size_t bucket = polite_hash(url), len = strlen(url) + 1;
	struct polite_url *u;

	LIST_FOREACH(u, &p->buckets[bucket], link)
		if (!strcmp(u->url, url))
			break;
	if (u) {
		TAILQ_REMOVE(&p->ages, u, age);
		TAILQ_INSERT_TAIL(&p->ages, u, age);
		return u;
	}
	if (!make || !(u = calloc(1, sizeof *u + len)))
		return NULL;
	memcpy(u->url, url, len);
	LIST_INSERT_HEAD(&p->buckets[bucket], u, link);
	TAILQ_INSERT_TAIL(&p->ages, u, age);
	if (++p->n > POLITE_URLS_MAX)
		polite_forget(p, TAILQ_FIRST(&p->ages));
	return u;
}

uint64_t polite_wait(struct polite *p, const char *url, uint64_t now_ms, uint64_t min_interval_ms, int *status)
{
	const struct polite_url *u = polite_find(p, url, false);
	uint64_t until;

	*status = 0;
	if (!u)
		return 0;
	until = u->not_before_ms;
	if (until > now_ms)
		*status = u->status;
	if (min_interval_ms && u->asked_ms && u->asked_ms + min_interval_ms > until)
		until = u->asked_ms + min_interval_ms;
	return until > now_ms ? (until - now_ms + 999) / 1000 : 0;
}

void polite_asked(struct polite *p, const char *url, uint64_t now_ms)
{
	struct polite_url *u = polite_find(p, url, true);

	if (u)
		u->asked_ms = now_ms;
}

/* delay-seconds or a date (RFC 9110 section 10.2.3); -1: neither. */
static int64_t retry_after_seconds(struct slice s, int64_t wall_s)
{
	int64_t n = 0;
	size_t i = 0;

	s = slice_trim(s);
	for (; i < s.len && s.at[i] >= '0' && s.at[i] <= '9'; i++)
		n = n * 10 + (s.at[i] - '0') > POLITE_WAIT_MAX_S ? POLITE_WAIT_MAX_S : n * 10 + (s.at[i] - '0');
	if (s.len && i == s.len)
		return n;
	if (!http_date_read(s, wall_s, &n))
		return -1;
	n -= wall_s;
	return n < 0 ? 0 : n > POLITE_WAIT_MAX_S ? POLITE_WAIT_MAX_S : n;
}

void polite_told(struct polite *p, const char *url, uint64_t now_ms, int64_t wall_s, int status, struct slice retry_after)
{
	int64_t seconds = status == 429 || status == 503 ? retry_after_seconds(retry_after, wall_s) : -1;
	struct polite_url *u = seconds > 0 ? polite_find(p, url, true) : polite_find(p, url, false);

	if (!u)
		return;
	u->not_before_ms = seconds > 0 ? now_ms + (uint64_t)seconds * 1000 : 0;
	u->status = status;
}
