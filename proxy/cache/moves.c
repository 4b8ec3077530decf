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
	struct moves *moves = calloc(1, sizeof *moves);

	if (!moves)
		return NULL;
	pthread_mutex_init(&moves->lock, NULL);
	TAILQ_INIT(&moves->ages);
	return moves;
}

static void moves_drop(struct moves *moves, struct moves_entry *entry)
{
	LIST_REMOVE(entry, link);
	TAILQ_REMOVE(&moves->ages, entry, age);
	moves->bytes -= entry->bytes;
	atomic_fetch_sub(&moves->n, 1);
	free(entry);
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

bool moves_is_idle(const struct moves *moves)
{
	return !atomic_load_explicit(&moves->n, memory_order_relaxed);
}

size_t moves_count(const struct moves *moves)
{
	return atomic_load_explicit(&moves->n, memory_order_relaxed);
}

unsigned moves_purges(const struct moves *moves)
{
	return atomic_load(&moves->purges);
}

void move_free(struct move *move)
{
	free(move->to);
	free(move->vary);
	*move = (struct move){ .to = NULL };
}

/* Called under the lock, as all that follow. NULL: it is not remembered. */
static struct moves_entry *moves_entry_of(struct moves *moves, const struct moves_scope *scope, const char *url)
{
	uint64_t hash = hash_keyed(url, strlen(url));
	struct moves_entry *entry;

	LIST_FOREACH(entry, &moves->buckets[hash % MOVES_BUCKETS], link)
		if (entry->hash == hash && entry->scope == scope->hash && !strcmp(entry->url, url))
			return entry;
	return NULL;
}

static void moves_touch(struct moves *moves, struct moves_entry *entry)
{
	TAILQ_REMOVE(&moves->ages, entry, age);
	TAILQ_INSERT_TAIL(&moves->ages, entry, age);
}

static int64_t moves_age_s(const struct moves_entry *entry, const struct moves_clock *now)
{
	int64_t steady = ((int64_t)now->steady_ms - (int64_t)entry->learned.steady_ms) / 1000;
	int64_t wall = now->wall_s - entry->learned.wall_s, age = steady > wall ? steady : wall;

	return age > 0 ? age : 0;
}

/* Whether the request sends alike what the redirect varies by. Without memory it does not. */
static bool is_of_variant(const struct moves_entry *entry, const struct moves_scope *scope)
{
	struct text key = { 0 };

	if (!entry->vary)
		return true;
	vary_key(&key, (struct slice){ entry->vary, strlen(entry->vary) }, scope->sent);
	bool same = !key.failed && key.len == strlen(entry->variant) && !memcmp(key.bytes, entry->variant, key.len);
	text_free(&key);
	return same;
}

static struct moves_entry *moves_valid(struct moves *moves, const struct moves_scope *scope, const char *url,
    const struct moves_clock *now)
{
	struct moves_entry *entry = moves_entry_of(moves, scope, url);

	return entry && entry->generation == scope->generation && moves_age_s(entry, now) < entry->valid_s &&
	        is_of_variant(entry, scope)
	    ? entry
	    : NULL;
}

/* False: out of memory. */
static bool moves_copy(const struct moves_entry *entry, const struct moves_clock *now, struct move *move)
{
	*move = (struct move){ .status = entry->status,
		.to = strdup(entry->to),
		.vary = entry->vary ? strdup(entry->vary) : NULL,
		.freshness = entry->freshness };
	move->freshness.response_time = now->wall_s - moves_age_s(entry, now);
	if (move->to && (move->vary || !entry->vary))
		return true;
	move_free(move);
	return false;
}

bool moves_find(struct moves *moves, const struct moves_scope *scope, const char *url, const struct moves_clock *now,
    struct move *move)
{
	struct moves_entry *entry;
	bool found = false;

	if (moves_is_idle(moves))
		return false;
	pthread_mutex_lock(&moves->lock);
	if ((entry = moves_valid(moves, scope, url, now))) {
		moves_touch(moves, entry);
		found = moves_copy(entry, now, move);
	}
	pthread_mutex_unlock(&moves->lock);
	return found;
}

static const char *moves_put(char **at, const char *text)
{
	const char *start = *at;

	*at = stpcpy(*at, text) + 1;
	return start;
}

/* An entry with the texts of the redirect. NULL: it is too long, or out of memory. */
static struct moves_entry *moves_make(const struct moves_scope *scope, const struct move_learned *learned)
{
	struct text names = { 0 }, key = { 0 };
	struct moves_entry *entry = NULL;
	char *at;

	if (learned->vary.at) {
		text_add(&names, learned->vary.at, learned->vary.len);
		vary_key(&key, learned->vary, scope->sent);
	}
	text_add(&names, "", 1);
	text_add(&key, "", 1);
	size_t bytes = sizeof *entry + strlen(learned->url) + strlen(learned->to) + 2 + names.len + key.len;
	if (!names.failed && !key.failed && bytes <= MOVES_ONE_MAX && (entry = calloc(1, bytes))) {
		at = entry->text;
		entry->bytes = bytes;
		entry->url = moves_put(&at, learned->url);
		entry->to = moves_put(&at, learned->to);
		entry->vary = learned->vary.at ? moves_put(&at, names.bytes) : NULL;
		entry->variant = learned->vary.at ? moves_put(&at, key.bytes) : NULL;
	}
	text_free(&names);
	text_free(&key);
	return entry;
}

static void moves_insert(struct moves *moves, struct moves_entry *entry)
{
	LIST_INSERT_HEAD(&moves->buckets[entry->hash % MOVES_BUCKETS], entry, link);
	TAILQ_INSERT_TAIL(&moves->ages, entry, age);
	moves->bytes += entry->bytes;
	atomic_fetch_add(&moves->n, 1);
	while (moves->bytes > MOVES_BYTES_MAX)
		moves_drop(moves, TAILQ_FIRST(&moves->ages));
}

/* A redirect that is seen again keeps its history if it leads to the same place. */
static void moves_inherit(struct moves_entry *entry, const struct moves_entry *former)
{
	if (strcmp(former->to, entry->to))
		return;
	entry->since_ms = former->since_ms;
	entry->served = former->served;
}

void moves_learn(struct moves *moves, const struct moves_scope *scope, const struct move_learned *move_learned,
    const struct moves_clock *now)
{
	struct moves_entry *entry = move_learned->valid_s ? moves_make(scope, move_learned) : NULL;
	bool learned = false;

	if (!entry && moves_is_idle(moves))
		return;
	pthread_mutex_lock(&moves->lock);
	struct moves_entry *former = moves_entry_of(moves, scope, move_learned->url);
	if (entry && moves_purges(moves) == move_learned->purges) {
		entry->hash = hash_keyed(move_learned->url, strlen(move_learned->url));
		entry->scope = scope->hash;
		entry->generation = scope->generation;
		entry->status = move_learned->status;
		entry->valid_s = move_learned->valid_s;
		entry->freshness = move_learned->freshness;
		entry->learned = *now;
		entry->since_ms = now->steady_ms;
		if (former)
			moves_inherit(entry, former);
		learned = true;
	}
	if (former)
		moves_drop(moves, former);
	if (learned)
		moves_insert(moves, entry);
	else
		free(entry);
	pthread_mutex_unlock(&moves->lock);
}

void moves_note(struct moves *moves, const struct moves_scope *scope, const char *url, enum move_event event)
{
	struct moves_entry *entry;

	if (moves_is_idle(moves))
		return;
	pthread_mutex_lock(&moves->lock);
	if ((entry = moves_entry_of(moves, scope, url)) && event == MOVE_GONE)
		moves_drop(moves, entry);
	else if (entry) {
		entry->served = event == MOVE_SERVED;
		entry->valid_s = event == MOVE_FAILED ? 0 : entry->valid_s;
	}
	pthread_mutex_unlock(&moves->lock);
}

bool moves_told(struct moves *moves, const struct moves_scope *scope, const char *url, uint64_t after_ms,
    const struct moves_clock *now, struct move *to)
{
	struct moves_entry *entry;
	bool told = false;

	if (moves_is_idle(moves))
		return false;
	pthread_mutex_lock(&moves->lock);
	if ((entry = moves_valid(moves, scope, url, now)) && entry->served &&
	    now->steady_ms >= entry->since_ms + after_ms) {
		moves_touch(moves, entry);
		told = moves_copy(entry, now, to);
	}
	pthread_mutex_unlock(&moves->lock);
	return told;
}

static bool moves_covers(enum store_purge what, const char *url, size_t len, const char *of)
{
	size_t n = strlen(of);

	return what == PURGE_ALL || (n >= len && !memcmp(of, url, len) && (what == PURGE_PREFIX || n == len));
}

/* The redirects of one URL are all in one bucket, so that a purge of it need not look at the others. */
static void moves_purge_url(struct moves *moves, const char *url, size_t len)
{
	struct moves_entry *entry = LIST_FIRST(&moves->buckets[hash_keyed(url, len) % MOVES_BUCKETS]), *next;

	for (; entry; entry = next) {
		next = LIST_NEXT(entry, link);
		if (moves_covers(PURGE_URL, url, len, entry->url))
			moves_drop(moves, entry);
	}
}

static void moves_purge_many(struct moves *moves, enum store_purge what, const char *url, size_t len)
{
	struct moves_entry *entry, *next;

	for (entry = TAILQ_FIRST(&moves->ages); entry; entry = next) {
		next = TAILQ_NEXT(entry, age);
		if (moves_covers(what, url, len, entry->url))
			moves_drop(moves, entry);
	}
}

/* The lock is taken even if the table is empty: a redirect that is just being learned is then either in the table, or
 * moves_learn() sees the purge. */
void moves_purge(struct moves *moves, enum store_purge what, const char *url, size_t len)
{
	atomic_fetch_add(&moves->purges, 1);
	pthread_mutex_lock(&moves->lock);
	if (what == PURGE_URL)
		moves_purge_url(moves, url, len);
	else
		moves_purge_many(moves, what, url, len);
	pthread_mutex_unlock(&moves->lock);
}
