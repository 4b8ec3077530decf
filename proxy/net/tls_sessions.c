/* TLS sessions by peer; see tls_sessions.h. */
#include "proxy/net/tls_sessions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "proxy/base/hash.h"

struct peer;
TAILQ_HEAD(entries, entry);

struct entry {
	TAILQ_ENTRY(entry) age;        /* of all, the one kept or used last first */
	TAILQ_ENTRY(entry) link;       /* of the peer, the latest first */
	struct peer *peer;
	struct tls_session kept;
};

/* Freed with its last session. */
struct peer {
	LIST_ENTRY(peer) chain;
	struct entries entries;
	size_t count, bytes;           /* bytes: of the peer itself */
	char name[];
};

LIST_HEAD(bucket, peer);

struct tls_sessions {
	struct tls_sessions_limits limits;
	struct tls_session_ops ops;
	pthread_mutex_t lock;          /* guards what follows */
	size_t count, bytes;
	struct entries ages;
	struct bucket buckets[];       /* as many as limits.count */
};

struct tls_sessions *tls_sessions_new(const struct tls_sessions_limits *limits, const struct tls_session_ops *ops)
{
	struct tls_sessions *s = calloc(1, sizeof *s + limits->count * sizeof(struct bucket));

	if (!s)
		return NULL;
	s->limits = *limits;
	s->ops = *ops;
	pthread_mutex_init(&s->lock, NULL);
	TAILQ_INIT(&s->ages);
	return s;
}

/* The hash is keyed: a client that names many hosts can at worst push other sessions out. */
static struct bucket *bucket_of(struct tls_sessions *s, const char *name)
{
	return &s->buckets[hash_keyed(name, strlen(name)) % s->limits.count];
}

static struct peer *peer_find(struct tls_sessions *s, const char *name)
{
	struct peer *p;

	LIST_FOREACH(p, bucket_of(s, name), chain)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static struct peer *peer_get(struct tls_sessions *s, const char *name)
{
	struct peer *p = peer_find(s, name);
	size_t len = strlen(name);

	if (p || !(p = calloc(1, sizeof *p + len + 1)))
		return p;
	memcpy(p->name, name, len + 1);
	p->bytes = sizeof *p + len + 1;
	s->bytes += p->bytes;
	TAILQ_INIT(&p->entries);
	LIST_INSERT_HEAD(bucket_of(s, name), p, chain);
	return p;
}

static void peer_put(struct tls_sessions *s, struct peer *p)
{
	if (p->count)
		return;
	s->bytes -= p->bytes;
	LIST_REMOVE(p, chain);
	free(p);
}

/* Its reference is the caller's. May free the peer. */
static struct tls_session entry_take(struct tls_sessions *s, struct entry *e)
{
	struct tls_session kept = e->kept;
	struct peer *p = e->peer;

	TAILQ_REMOVE(&s->ages, e, age);
	TAILQ_REMOVE(&p->entries, e, link);
	s->count--;
	s->bytes -= sizeof *e + kept.bytes;
	free(e);
	p->count--;
	peer_put(s, p);
	return kept;
}

static void entry_drop(struct tls_sessions *s, struct entry *e)
{
	s->ops.unref(entry_take(s, e).session);
}

/* The one kept anew, the youngest, is the last to leave. */
static void make_room(struct tls_sessions *s, struct peer *p)
{
	if (p->count > s->limits.of_peer)
		entry_drop(s, TAILQ_LAST(&p->entries, entries));
	while (s->count > s->limits.count || s->bytes > s->limits.bytes)
		entry_drop(s, TAILQ_LAST(&s->ages, entries));
}

static void drop_all(struct tls_sessions *s, struct peer *p)
{
	while (p->count > 1)
		entry_drop(s, TAILQ_FIRST(&p->entries));
	entry_drop(s, TAILQ_FIRST(&p->entries));
}

static void tls_sessions_keep(struct tls_sessions *s, const char *name, const struct tls_session *session)
{
	struct peer *p = peer_find(s, name);
	struct entry *e;

	if (p && !session->once)
		drop_all(s, p);
	if (!(e = malloc(sizeof *e)) || !(p = peer_get(s, name))) {
		free(e);
		s->ops.unref(session->session);
		return;
	}
	e->peer = p;
	e->kept = *session;
	TAILQ_INSERT_HEAD(&s->ages, e, age);
	TAILQ_INSERT_HEAD(&p->entries, e, link);
	p->count++;
	s->count++;
	s->bytes += sizeof *e + e->kept.bytes;
	make_room(s, p);
}

void tls_sessions_put(struct tls_sessions *s, const char *peer, const struct tls_session *session)
{
	pthread_mutex_lock(&s->lock);
	tls_sessions_keep(s, peer, session);
	pthread_mutex_unlock(&s->lock);
}

/* The peer's latest session that counts now. Those that no longer do are dropped. NULL: none. */
static struct entry *entry_pick(struct tls_sessions *s, const char *name, time_t now)
{
	struct entry *e;
	struct peer *p;

	while ((p = peer_find(s, name))) {
		e = TAILQ_FIRST(&p->entries);
		if (now >= e->kept.from && now < e->kept.until)
			return e;
		entry_drop(s, e);
	}
	return NULL;
}

bool tls_sessions_take(struct tls_sessions *s, const char *peer, time_t now, struct tls_session *taken)
{
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	if ((e = entry_pick(s, peer, now))) {
		*taken = e->kept;
		s->ops.ref(taken->session);
		if (taken->once)
			entry_drop(s, e);
		else {
			TAILQ_REMOVE(&s->ages, e, age);
			TAILQ_INSERT_HEAD(&s->ages, e, age);
		}
	}
	pthread_mutex_unlock(&s->lock);
	return e;
}

void tls_sessions_forget(struct tls_sessions *s, const char *peer)
{
	struct peer *p;

	pthread_mutex_lock(&s->lock);
	if ((p = peer_find(s, peer)))
		drop_all(s, p);
	pthread_mutex_unlock(&s->lock);
}

void tls_sessions_free(struct tls_sessions **sp)
{
	struct tls_sessions *s = *sp;

	*sp = NULL;
	if (!s)
		return;
	while (s->count)
		entry_drop(s, TAILQ_FIRST(&s->ages));
	pthread_mutex_destroy(&s->lock);
	free(s);
}
