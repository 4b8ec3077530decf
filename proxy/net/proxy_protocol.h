/* Owns the header of the PROXY protocol, versions 1 and 2, which a proxy sends first on a connection that it passes on.
 * Must not know: sockets, which proxies are trusted. Pure.
 * Source: HAProxy's doc/proxy-protocol.txt, sections 2.1 and 2.2. */
#ifndef UTFEED_PROXY_NET_PROXY_PROTOCOL_H
#define UTFEED_PROXY_NET_PROXY_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#include "conf/cidr.h"

enum {
	PROXY_PROTOCOL_V1_MAX = 107,           /* with its line end */
	PROXY_PROTOCOL_V2_FIXED = 16,
	PROXY_PROTOCOL_MAX = PROXY_PROTOCOL_V1_MAX     /* the reader never needs more bytes of a header than this */
};

enum proxy_protocol_whose {
	PROXY_PROTOCOL_CLIENT,     /* ip and port are the client's */
	PROXY_PROTOCOL_LOCAL,      /* the proxy speaks for itself */
	PROXY_PROTOCOL_UNKNOWN     /* the proxy does not know */
};

struct proxy_protocol {
	enum proxy_protocol_whose whose;
	struct ip ip;
	uint16_t port;
	/* of the whole header, with all that follows the addresses; may be more than the bytes that were given */
	size_t length;
};

enum proxy_protocol_result { PROXY_PROTOCOL_MORE, PROXY_PROTOCOL_DONE, PROXY_PROTOCOL_BAD };

/* bytes: the first bytes of a connection. MORE: all of them belong to the header and more are needed, which never
 * happens with PROXY_PROTOCOL_MAX bytes. */
enum proxy_protocol_result proxy_protocol_read(struct proxy_protocol *, const uint8_t *bytes, size_t len);

#endif
