/* TLS sessions by peer; see tls_sessions.h. */
#include "proxy/net/tls_sessions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "proxy/base/hash.h"

struct peer;
TAILQ_HEAD(kept_sessions, kept_session);

struct kept_session {
	TAILQ_ENTRY(kept_session) age;     /* of all, the one kept or used last first */
	TAILQ_ENTRY(kept_session) link;    /* of the peer, the latest first */
	struct peer *peer;
	struct tls_session kept;
};

/* Freed with its last session. */
struct peer {
	LIST_ENTRY(peer) chain;
	struct kept_sessions entries;
	size_t count, bytes;           /* bytes: of the peer itself */
	char name[];
};

LIST_HEAD(peer_bucket, peer);

struct tls_sessions {
	struct tls_sessions_limits limits;
	struct tls_session_ops ops;
	pthread_mutex_t lock;          /* guards what follows */
	size_t count, bytes;
	struct kept_sessions ages;
	struct peer_bucket buckets[];       /* as many as limits.count */
};

struct tls_sessions *tls_sessions_new(const struct tls_sessions_limits *limits, const struct tls_session_ops *ops)
{
	struct tls_sessions *sessions = calloc(1, sizeof *sessions + limits->count * sizeof(struct peer_bucket));

	if (!sessions)
		return NULL;
	sessions->limits = *limits;
	sessions->ops = *ops;
	pthread_mutex_init(&sessions->lock, NULL);
	TAILQ_INIT(&sessions->ages);
	return sessions;
}

/* The hash is keyed: a client that names many hosts can at worst push other sessions out. */
static struct peer_bucket *bucket_of(struct tls_sessions *sessions, const char *name)
{
	return &sessions->buckets[hash_keyed(name, strlen(name)) % sessions->limits.count];
}

static struct peer *peer_find(struct tls_sessions *sessions, const char *name)
{
	struct peer *peer;

	LIST_FOREACH(peer, bucket_of(sessions, name), chain)
		if (!strcmp(peer->name, name))
			return peer;
	return NULL;
}

static struct peer *peer_get(struct tls_sessions *sessions, const char *name)
{
	struct peer *peer = peer_find(sessions, name);
	size_t len = strlen(name);

	if (peer || !(peer = calloc(1, sizeof *peer + len + 1)))
		return peer;
	memcpy(peer->name, name, len + 1);
	peer->bytes = sizeof *peer + len + 1;
	sessions->bytes += peer->bytes;
	TAILQ_INIT(&peer->entries);
	LIST_INSERT_HEAD(bucket_of(sessions, name), peer, chain);
	return peer;
}

/* Its reference is the caller's. May free the peer. */
static struct tls_session session_take(struct tls_sessions *sessions, struct kept_session *entry)
{
	struct tls_session kept = entry->kept;
	struct peer *peer = entry->peer;

	TAILQ_REMOVE(&sessions->ages, entry, age);
	TAILQ_REMOVE(&peer->entries, entry, link);
	sessions->count--;
	sessions->bytes -= sizeof *entry + kept.bytes;
	free(entry);
	if (!--peer->count) {
		sessions->bytes -= peer->bytes;
		LIST_REMOVE(peer, chain);
		free(peer);
	}
	return kept;
}

static void session_drop(struct tls_sessions *sessions, struct kept_session *kept)
{
	sessions->ops.unref(session_take(sessions, kept).session);
}

/* The one kept anew, the youngest, is the last to leave. */
static void make_room(struct tls_sessions *sessions, struct peer *peer)
{
	if (peer->count > sessions->limits.of_peer)
		session_drop(sessions, TAILQ_LAST(&peer->entries, kept_sessions));
	while (sessions->count > sessions->limits.count || sessions->bytes > sessions->limits.bytes)
		session_drop(sessions, TAILQ_LAST(&sessions->ages, kept_sessions));
}

static void drop_all(struct tls_sessions *sessions, struct peer *peer)
{
	while (peer->count > 1)
		session_drop(sessions, TAILQ_FIRST(&peer->entries));
	session_drop(sessions, TAILQ_FIRST(&peer->entries));
}

static void tls_sessions_keep(struct tls_sessions *sessions, const char *name, const struct tls_session *session)
{
	struct peer *peer = peer_find(sessions, name);
	struct kept_session *kept;

	if (peer && !session->once)
		drop_all(sessions, peer);
	if (!(kept = malloc(sizeof *kept)) || !(peer = peer_get(sessions, name))) {
		free(kept);
		sessions->ops.unref(session->session);
		return;
	}
	kept->peer = peer;
	kept->kept = *session;
	TAILQ_INSERT_HEAD(&sessions->ages, kept, age);
	TAILQ_INSERT_HEAD(&peer->entries, kept, link);
	peer->count++;
	sessions->count++;
	sessions->bytes += sizeof *kept + kept->kept.bytes;
	make_room(sessions, peer);
}

void tls_sessions_put(struct tls_sessions *sessions, const char *peer, const struct tls_session *session)
{
	pthread_mutex_lock(&sessions->lock);
	tls_sessions_keep(sessions, peer, session);
	pthread_mutex_unlock(&sessions->lock);
}

/* The peer's latest session that counts now. Those that no longer do are dropped. NULL: none. */
static struct kept_session *session_pick(struct tls_sessions *sessions, const char *name, time_t now)
{
	struct kept_session *kept;
	struct peer *peer;

	while ((peer = peer_find(sessions, name))) {
		kept = TAILQ_FIRST(&peer->entries);
		if (now >= kept->kept.from && now < kept->kept.until)
			return kept;
		session_drop(sessions, kept);
	}
	return NULL;
}

bool tls_sessions_take(struct tls_sessions *sessions, const char *peer, time_t now, struct tls_session *taken)
{
	struct kept_session *kept;

	pthread_mutex_lock(&sessions->lock);
	if ((kept = session_pick(sessions, peer, now))) {
		*taken = kept->kept;
		sessions->ops.ref(taken->session);
		if (taken->once)
			session_drop(sessions, kept);
		else {
			TAILQ_REMOVE(&sessions->ages, kept, age);
			TAILQ_INSERT_HEAD(&sessions->ages, kept, age);
		}
	}
	pthread_mutex_unlock(&sessions->lock);
	return kept;
}

void tls_sessions_forget(struct tls_sessions *sessions, const char *peer)
{
	struct peer *known;

	pthread_mutex_lock(&sessions->lock);
	if ((known = peer_find(sessions, peer)))
		drop_all(sessions, known);
	pthread_mutex_unlock(&sessions->lock);
}

void tls_sessions_free(struct tls_sessions **sp)
{
	struct tls_sessions *sessions = *sp;

	*sp = NULL;
	if (!sessions)
		return;
	while (sessions->count)
		session_drop(sessions, TAILQ_FIRST(&sessions->ages));
	pthread_mutex_destroy(&sessions->lock);
	free(sessions);
}
