/* Owns looking up host names: c-ares on this worker's loop; the only file that includes its header.
 * Must not know: what an address is for. Callbacks always come from the loop, never from within resolve_start(). */
#ifndef UTFEED_PROXY_RESOLVE_H
#define UTFEED_PROXY_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct loop;
struct resolver;
struct resolve;

enum { RESOLVE_ADDRESSES_MAX = 16 };

struct resolve_address {
	struct sockaddr_storage address;
	socklen_t len;
};

enum resolve_status { RESOLVE_OK, RESOLVE_NOT_FOUND, RESOLVE_TIMEOUT, RESOLVE_FAILED };

struct resolve_result {
	enum resolve_status status;
	const char *reason;            /* c-ares' words; "" for RESOLVE_OK */
	size_t n;
	struct resolve_address addresses[RESOLVE_ADDRESSES_MAX];
};

/* The result and the handle are gone when done returns; the handle must not be cancelled from within it. */
typedef void resolve_done_f(void *arg, const struct resolve_result *);

struct resolver *resolver_new(struct loop *);          /* NULL: out of memory or no usable system configuration */
void resolver_free(struct resolver **);                /* no lookup may be under way that was not cancelled */

/* host: a name or an address as text, without brackets. NULL: out of memory. */
struct resolve *resolve_start(struct resolver *, const char *host, uint16_t port, resolve_done_f *done, void *arg);
/* done will not be called. Nulls. */
void resolve_cancel(struct resolve **);

#endif
