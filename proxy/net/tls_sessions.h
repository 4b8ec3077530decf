/* Owns a bounded memory of TLS sessions, one per peer; the one added least recently leaves first. It has no lock.
 * Must not know: TLS; a session is bytes. Invariant: never more than its cap of entries. */
#ifndef UTFEED_PROXY_NET_TLS_SESSIONS_H
#define UTFEED_PROXY_NET_TLS_SESSIONS_H

#include <stddef.h>

struct tls_sessions;

struct tls_sessions *tls_sessions_new(size_t cap);     /* NULL: out of memory */
void tls_sessions_free(struct tls_sessions **);
void tls_sessions_clear(struct tls_sessions *);

/* Takes over session (malloc'd), replacing the peer's former one. Where there is no memory the session is dropped. */
void tls_sessions_put(struct tls_sessions *, const char *peer, unsigned char *session, size_t len);
/* Takes the peer's session out, for the caller to free; NULL: none. A ticket is used once (RFC 8446 appendix C.4). */
unsigned char *tls_sessions_take(struct tls_sessions *, const char *peer, size_t *len);

#endif
