/* Owns the client's side of SOCKS5: choosing a method, user and password if the server asks for them, and one CONNECT.
 * The server looks up the name in it.
 * Must not know: sockets, time, which server it is. Pure. Sources: RFC 1928, RFC 1929.
 * Invariant: it never asks for a byte behind the server's last answer, however that is cut. It never asks for more than
 * SOCKS_ANSWER_MAX bytes at a time. */
#ifndef UTFEED_PROXY_NET_SOCKS_H
#define UTFEED_PROXY_NET_SOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "proxy/base/failure.h"
#include "proxy/base/text.h"

enum { SOCKS_ANSWER_MAX = 4 + 1 + 255 + 2 };

enum socks_step { SOCKS_METHOD, SOCKS_LOGIN, SOCKS_CONNECT };

struct socks {
	enum socks_step step;
	const char *login;             /* the request of RFC 1929; NULL: there is none */
	const char *host;              /* without brackets */
	uint16_t port;
	size_t len;                    /* of answer */
	uint8_t answer[SOCKS_ANSWER_MAX];
};

enum socks_result {
	SOCKS_MORE,            /* further bytes are needed */
	SOCKS_SAYS,            /* the answer was right: `out` is to be sent, and further bytes are needed */
	SOCKS_OPEN,            /* the connection leads to the destination */
	SOCKS_FAILED           /* the failure says why */
};

/* login and host are borrowed. Appends the first message. */
void socks_begin(struct socks *, const char *login, const char *host, uint16_t port, struct text *out);
/* Where the next bytes of the server belong, and how many of them may be read: at least one. */
uint8_t *socks_room(struct socks *, size_t *len);
/* Takes so many bytes that were read there. */
enum socks_result socks_take(struct socks *, size_t len, struct text *out, struct failure *);

#endif
