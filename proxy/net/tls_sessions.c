/* TLS sessions by peer; see tls_sessions.h. */
#include "proxy/net/tls_sessions.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "proxy/base/hash.h"

struct entry {
	TAILQ_ENTRY(entry) age;        /* youngest first */
	LIST_ENTRY(entry) chain;
	unsigned char *session;
	size_t len;
	char peer[];
};

LIST_HEAD(bucket, entry);

struct tls_sessions {
	size_t cap, count;
	TAILQ_HEAD(ages, entry) ages;
	struct bucket buckets[];       /* as many as cap */
};

struct tls_sessions *tls_sessions_new(size_t cap)
{
	struct tls_sessions *s = calloc(1, sizeof *s + cap * sizeof(struct bucket));

	if (!s)
		return NULL;
	s->cap = cap;
	TAILQ_INIT(&s->ages);
	return s;
}

/* The hash is keyed: a client that names many hosts can at worst push other sessions out. */
static struct bucket *tls_sessions_bucket_of(struct tls_sessions *s, const char *peer)
{
	return &s->buckets[hash_keyed(peer, strlen(peer)) % s->cap];
}

static struct entry *tls_sessions_entry_find(struct tls_sessions *s, const char *peer)
{
	struct entry *e;

	LIST_FOREACH(e, tls_sessions_bucket_of(s, peer), chain)
		if (!strcmp(e->peer, peer))
			return e;
	return NULL;
}

/* The caller frees the entry's session. */

static void entry_drop(struct tls_sessions *s, struct entry *e)
{
	TAILQ_REMOVE(&s->ages, e, age);
	LIST_REMOVE(e, chain);
	s->count--;
	free(e);
}

unsigned char *tls_sessions_take(struct tls_sessions *s, const char *peer, size_t *len)
{
	struct entry *e = tls_sessions_entry_find(s, peer);
	unsigned char *session;

	if (!e)
		return NULL;
	session = e->session;
	*len = e->len;
	entry_drop(s, e);
	return session;
}

void tls_sessions_put(struct tls_sessions *s, const char *peer, unsigned char *session, size_t len)
{
	size_t ignored, peer_len = strlen(peer);
	struct entry *e;

	free(tls_sessions_take(s, peer, &ignored));
	if (s->count == s->cap) {
		e = TAILQ_LAST(&s->ages, ages);
		free(e->session);
		entry_drop(s, e);
	}
	if (!(e = malloc(sizeof *e + peer_len + 1))) {
		free(session);
		return;
	}
	memcpy(e->peer, peer, peer_len + 1);
	e->session = session;
	e->len = len;
	TAILQ_INSERT_HEAD(&s->ages, e, age);
	LIST_INSERT_HEAD(tls_sessions_bucket_of(s, peer), e, chain);
	s->count++;
}

void tls_sessions_clear(struct tls_sessions *s)
{
	struct entry *e;

	while ((e = TAILQ_FIRST(&s->ages))) {
		free(e->session);
		entry_drop(s, e);
	}
}

void tls_sessions_free(struct tls_sessions **sp)
{
	if (!*sp)
		return;
	tls_sessions_clear(*sp);
	free(*sp);
	*sp = NULL;
}
