/* Owns a bounded memory of what was verified lately, by digest, for all workers: it has a lock of its own.
 * Must not know: certificates. A digest covers all that the verdict depends on, except the time.
 * Invariant: a verdict counts for an hour at most, not past its own end, and not before it was made. */
#ifndef UTFEED_PROXY_NET_TLS_VERDICTS_H
#define UTFEED_PROXY_NET_TLS_VERDICTS_H

#include <stdint.h>
#include <time.h>

enum { TLS_VERDICT_DIGEST_BYTES = 32, TLS_VERDICT_SECONDS = 3600 };

struct tls_verdicts;

struct tls_verdicts *tls_verdicts_new(void);           /* NULL: out of memory */
void tls_verdicts_free(struct tls_verdicts **);

/* It was found good at the time now, and is so until then. */
void tls_verdicts_add(struct tls_verdicts *, const uint8_t digest[TLS_VERDICT_DIGEST_BYTES], time_t now, time_t until);
/* Its until; 0: it is to be verified. */
time_t tls_verdicts_find(struct tls_verdicts *, const uint8_t digest[TLS_VERDICT_DIGEST_BYTES], time_t now);

#endif
