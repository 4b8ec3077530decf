/* The table of remembered redirects; see moves.h. */
#include "proxy/cache/moves.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "proxy/base/hash.h"
#include "proxy/http/vary.h"

enum { MOVES_BUCKETS = 1024 };

struct moves_entry {
	LIST_ENTRY(moves_entry) link;
	TAILQ_ENTRY(moves_entry) age;
	uint64_t hash, scope;          /* hash: of the URL */
	unsigned generation;
	int status;
	bool served;
	size_t bytes;
	uint64_t since_ms;             /* when it was seen first, by the monotonic clock */
	struct moves_clock learned;    /* when it came last */
	uint32_t valid_s;              /* from then on; 0: it has to be asked again */
	struct freshness freshness;
	/* in text, each with a NUL behind it; vary and variant NULL: it does not vary */
	const char *url, *to, *vary, *variant;
	char text[];
};

struct moves {
	atomic_size_t n;               /* changes under the lock; 0 can be seen without it */
	atomic_uint purges;
	pthread_mutex_t lock;          /* guards what follows */
	size_t bytes;
	TAILQ_HEAD(moves_ages, moves_entry) ages;        /* least recently used first */
	LIST_HEAD(, moves_entry) buckets[MOVES_BUCKETS];
};

struct moves *moves_new(void)
{
	struct moves *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	pthread_mutex_init(&m->lock, NULL);
	TAILQ_INIT(&m->ages);
	return m;
}

static void moves_drop(struct moves *m, struct moves_entry *e)
{
	LIST_REMOVE(e, link);
	TAILQ_REMOVE(&m->ages, e, age);
	m->bytes -= e->bytes;
	atomic_fetch_sub(&m->n, 1);
	free(e);
}

void moves_free(struct moves **mp)
{
	if (!*mp)
		return;
	while (!TAILQ_EMPTY(&(*mp)->ages))
		moves_drop(*mp, TAILQ_FIRST(&(*mp)->ages));
	pthread_mutex_destroy(&(*mp)->lock);
	free(*mp);
	*mp = NULL;
}

bool moves_is_idle(const struct moves *m)
{
	return !atomic_load_explicit(&m->n, memory_order_relaxed);
}

size_t moves_count(const struct moves *m)
{
	return atomic_load_explicit(&m->n, memory_order_relaxed);
}

unsigned moves_purges(const struct moves *m)
{
	return atomic_load(&m->purges);
}

void move_free(struct move *f)
{
	free(f->to);
	free(f->vary);
	*f = (struct move){ .to = NULL };
}

/* Called under the lock, as all that follow. NULL: it is not remembered. */
static struct moves_entry *moves_entry_of(struct moves *m, const struct moves_scope *s, const char *url)
{
	uint64_t hash = hash_keyed(url, strlen(url));
	struct moves_entry *e;

	LIST_FOREACH(e, &m->buckets[hash % MOVES_BUCKETS], link)
		if (e->hash == hash && e->scope == s->hash && !strcmp(e->url, url))
			return e;
	return NULL;
}

static void moves_touch(struct moves *m, struct moves_entry *e)
{
	TAILQ_REMOVE(&m->ages, e, age);
	TAILQ_INSERT_TAIL(&m->ages, e, age);
}

static int64_t moves_age_s(const struct moves_entry *e, const struct moves_clock *now)
{
	int64_t steady = ((int64_t)now->steady_ms - (int64_t)e->learned.steady_ms) / 1000;
	int64_t wall = now->wall_s - e->learned.wall_s, age = steady > wall ? steady : wall;

	return age > 0 ? age : 0;
}

/* Whether the request sends alike what the redirect varies by. Without memory it does not. */
static bool is_of_variant(const struct moves_entry *e, const struct moves_scope *s)
{
	struct text key = { 0 };
	bool same;

	if (!e->vary)
		return true;
	vary_key(&key, (struct slice){ e->vary, strlen(e->vary) }, s->sent);
	same = !key.failed && key.len == strlen(e->variant) && !memcmp(key.bytes, e->variant, key.len);
	text_free(&key);
	return same;
}

static struct moves_entry *moves_valid(struct moves *m, const struct moves_scope *s, const char *url,
    const struct moves_clock *now)
{
	struct moves_entry *e = moves_entry_of(m, s, url);

	return e && e->generation == s->generation && moves_age_s(e, now) < e->valid_s && is_of_variant(e, s) ?
	    e : NULL;
}

/* False: out of memory. */
static bool moves_copy(const struct moves_entry *e, const struct moves_clock *now, struct move *f)
{
	*f = (struct move){ .status = e->status, .to = strdup(e->to), .vary = e->vary ? strdup(e->vary) : NULL,
		.freshness = e->freshness };
	f->freshness.response_time = now->wall_s - moves_age_s(e, now);
	if (f->to && (f->vary || !e->vary))
		return true;
	move_free(f);
	return false;
}

bool moves_find(struct moves *m, const struct moves_scope *s, const char *url, const struct moves_clock *now,
    struct move *f)
{
	struct moves_entry *e;
	bool found = false;

	if (moves_is_idle(m))
		return false;
	pthread_mutex_lock(&m->lock);
	if ((e = moves_valid(m, s, url, now))) {
		moves_touch(m, e);
		found = moves_copy(e, now, f);
	}
	pthread_mutex_unlock(&m->lock);
	return found;
}

static const char *moves_put(char **at, const char *text)
{
	const char *start = *at;

	*at = stpcpy(*at, text) + 1;
	return start;
}

/* An entry with the texts of the redirect. NULL: it is too long, or out of memory. */
static struct moves_entry *moves_make(const struct moves_scope *s, const struct move_learned *l)
{
	struct text names = { 0 }, key = { 0 };
	struct moves_entry *e = NULL;
	size_t bytes;
	char *at;

	if (l->vary.at) {
		text_add(&names, l->vary.at, l->vary.len);
		vary_key(&key, l->vary, s->sent);
	}
	text_add(&names, "", 1);
	text_add(&key, "", 1);
	bytes = sizeof *e + strlen(l->url) + strlen(l->to) + 2 + names.len + key.len;
	if (!names.failed && !key.failed && bytes <= MOVES_ONE_MAX && (e = calloc(1, bytes))) {
		at = e->text;
		e->bytes = bytes;
		e->url = moves_put(&at, l->url);
		e->to = moves_put(&at, l->to);
		e->vary = l->vary.at ? moves_put(&at, names.bytes) : NULL;
		e->variant = l->vary.at ? moves_put(&at, key.bytes) : NULL;
	}
	text_free(&names);
	text_free(&key);
	return e;
}

static void moves_insert(struct moves *m, struct moves_entry *e)
{
	LIST_INSERT_HEAD(&m->buckets[e->hash % MOVES_BUCKETS], e, link);
	TAILQ_INSERT_TAIL(&m->ages, e, age);
	m->bytes += e->bytes;
	atomic_fetch_add(&m->n, 1);
	while (m->bytes > MOVES_BYTES_MAX)
		moves_drop(m, TAILQ_FIRST(&m->ages));
}

/* A redirect that is seen again keeps its history if it leads to the same place. */
static void moves_inherit(struct moves_entry *e, const struct moves_entry *former)
{
	if (strcmp(former->to, e->to))
		return;
	e->since_ms = former->since_ms;
	e->served = former->served;
}

void moves_learn(struct moves *m, const struct moves_scope *s, const struct move_learned *l,
    const struct moves_clock *now)
{
	struct moves_entry *e = l->valid_s ? moves_make(s, l) : NULL, *former;
	bool learned = false;

	if (!e && moves_is_idle(m))
		return;
	pthread_mutex_lock(&m->lock);
	former = moves_entry_of(m, s, l->url);
	if (e && moves_purges(m) == l->purges) {
		e->hash = hash_keyed(l->url, strlen(l->url));
		e->scope = s->hash;
		e->generation = s->generation;
		e->status = l->status;
		e->valid_s = l->valid_s;
		e->freshness = l->freshness;
		e->learned = *now;
		e->since_ms = now->steady_ms;
		if (former)
			moves_inherit(e, former);
		learned = true;
	}
	if (former)
		moves_drop(m, former);
	if (learned)
		moves_insert(m, e);
	else
		free(e);
	pthread_mutex_unlock(&m->lock);
}

void moves_note(struct moves *m, const struct moves_scope *s, const char *url, enum move_event event)
{
	struct moves_entry *e;

	if (moves_is_idle(m))
		return;
	pthread_mutex_lock(&m->lock);
	if ((e = moves_entry_of(m, s, url)) && event == MOVE_GONE)
		moves_drop(m, e);
	else if (e) {
		e->served = event == MOVE_SERVED;
		e->valid_s = event == MOVE_FAILED ? 0 : e->valid_s;
	}
	pthread_mutex_unlock(&m->lock);
}

bool moves_told(struct moves *m, const struct moves_scope *s, const char *url, uint64_t after_ms,
    const struct moves_clock *now, struct move *to)
{
	struct moves_entry *e;
	bool told = false;

	if (moves_is_idle(m))
		return false;
	pthread_mutex_lock(&m->lock);
	if ((e = moves_valid(m, s, url, now)) && e->served && now->steady_ms >= e->since_ms + after_ms) {
		moves_touch(m, e);
		told = moves_copy(e, now, to);
	}
	pthread_mutex_unlock(&m->lock);
	return told;
}

static bool moves_covers(enum store_purge what, const char *url, size_t len, const char *of)
{
	size_t n = strlen(of);

	return what == PURGE_ALL || (n >= len && !memcmp(of, url, len) && (what == PURGE_PREFIX || n == len));
}

/* The redirects of one URL are all in one bucket, so that a purge of it need not look at the others. */
static void moves_purge_url(struct moves *m, const char *url, size_t len)
{
	struct moves_entry *e = LIST_FIRST(&m->buckets[hash_keyed(url, len) % MOVES_BUCKETS]), *next;

	for (; e; e = next) {
		next = LIST_NEXT(e, link);
		if (moves_covers(PURGE_URL, url, len, e->url))
			moves_drop(m, e);
	}
}

static void moves_purge_many(struct moves *m, enum store_purge what, const char *url, size_t len)
{
	struct moves_entry *e, *next;

	for (e = TAILQ_FIRST(&m->ages); e; e = next) {
		next = TAILQ_NEXT(e, age);
		if (moves_covers(what, url, len, e->url))
			moves_drop(m, e);
	}
}

/* The lock is taken even if the table is empty: a redirect that is just being learned is then either in the table, or
 * moves_learn() sees the purge. */
void moves_purge(struct moves *m, enum store_purge what, const char *url, size_t len)
{
	atomic_fetch_add(&m->purges, 1);
	pthread_mutex_lock(&m->lock);
	if (what == PURGE_URL)
		moves_purge_url(m, url, len);
	else
		moves_purge_many(m, what, url, len);
	pthread_mutex_unlock(&m->lock);
}
