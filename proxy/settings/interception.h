/* Owns what is made of the options of interception: the authority, its leaves, and the TLS that is spoken to clients in
 * opened tunnels.
 * Must not know: connections, requests. All workers share it by the settings that it belongs to.
 * Invariant: it never changes once made, except the leaves, which lock themselves. A reload takes all of it
 * or nothing. */
#ifndef UTFEED_PROXY_SETTINGS_INTERCEPTION_H
#define UTFEED_PROXY_SETTINGS_INTERCEPTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct conf;
struct leaves;
struct tls_context;

/* The most leaves that are kept; one is about 4 KB. */
enum { INTERCEPTION_LEAVES_MAX = 1024 };

struct interception {
	atomic_uint refs;
	struct leaves *leaves;
	struct tls_context *tls;
};

/* Makes it of conf's options, with one reference. If nothing is intercepted, *made is NULL. Returns -1 if files cannot
 * be used, or out of memory (logged). A reload sets former: if the files cannot be used, it goes back to that,
 * with its options, and adds 1 to *kept. At the start former is NULL. */
struct interception_former { const struct conf *conf; struct interception *made; };
int interception_new(struct conf *conf, const struct interception_former *former, struct interception **made,
    size_t *kept) __attribute__((warn_unused_result));
void interception_unref(struct interception **);

/* Whether the CONNECT to this host (lower case, without brackets and the root's dot) is opened. */
bool interception_wants(const struct conf *, const char *host);

#endif
