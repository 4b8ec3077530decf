/* Owns a bounded memory of TLS sessions by peer, for all workers: it has a lock of its own.
 * Must not know: TLS; a session is a pointer with counted references. A peer is whatever a session must not leave, as a
 * text: what proves itself with a session is that peer, and no other.
 * Invariant: never more sessions, in all or of one peer, nor more bytes, than its limits; the one kept or resumed
 * least recently leaves first. */
#ifndef UTFEED_PROXY_NET_TLS_SESSIONS_H
#define UTFEED_PROXY_NET_TLS_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct tls_sessions;

struct tls_sessions_limits { size_t count, bytes, of_peer; };

struct tls_session {
	void *session;
	size_t bytes;                  /* what it takes, beside what the table adds for itself. */
	time_t from, until;            /* It may be resumed between these, even if a clock goes back. */
	time_t proven_until;           /* Until when the peer has proven who it is; resumed sessions inherit this. */
	bool once;                     /* A ticket of TLS 1.3, for one connection (RFC 8446 appendix C.4). */
};

/* Of a session, from any thread. */
struct tls_session_ops {
	void (*ref)(void *session);
	void (*unref)(void *session);
};

/* NULL: out of memory. */
struct tls_sessions *tls_sessions_new(const struct tls_sessions_limits *, const struct tls_session_ops *);
void tls_sessions_free(struct tls_sessions **);

/* Takes over one reference of the session. One that many connections may resume takes the place of all that is kept of
 * the peer. If memory or room runs out, the session is dropped. */
void tls_sessions_put(struct tls_sessions *, const char *peer, const struct tls_session *);
/* Gives the peer's latest session that may be resumed now, with a reference for the caller; one that may be resumed
 * once is no longer kept. False: none. */
bool tls_sessions_take(struct tls_sessions *, const char *peer, time_t now, struct tls_session *);
/* Drops all that is kept of the peer. */
void tls_sessions_forget(struct tls_sessions *, const char *peer);

#endif
