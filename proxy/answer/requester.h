/* Owns the requester: the address that a request counts as coming from, and whether the request has the rights of that
 * address.
 * Must not know: connections, what the rights are. Pure, over configuration and the request head.
 * Invariant: utfeed believes only the proxies that trusted-proxies names. Those proxies themselves have no rights, nor
 * has a client that came through any other proxy.
 * Source: RFC 7239 (Forwarded), and X-Forwarded-For, the field before it, in the form that is in common use. */
#ifndef UTFEED_PROXY_ANSWER_REQUESTER_H
#define UTFEED_PROXY_ANSWER_REQUESTER_H

#include "conf/conf.h"
#include "proxy/http/http_msg.h"

struct sockaddr;

struct requester {
	struct ip ip;
	uint16_t port;                 /* 0: not told */
	bool known;                    /* ip is set; false where a trusted proxy does not tell the client */
	bool told;                     /* a trusted proxy named the client: ip is not the connection's own address */

	bool rights;                   /* the rights of its address are granted: PURGE, X-Encoding-Policy */
	bool settled;                  /* what the request says of the client does not count */
	bool local;                    /* it came over a Unix socket: ip is 127.0.0.1 instead of an address */
};

enum { REQUESTER_TEXT_MAX = 64 };

/* The requester at the other end of a connection. A peer on a Unix socket has no address: it is on this machine, and
 * counts as 127.0.0.1. */
void requester_of_peer(struct requester *, const struct sockaddr *peer);
/* Finds the client of a request that r sent: the last address in the field of client-field that does not belong to a
 * trusted proxy. */
void requester_read(struct requester *, const struct conf *, const struct http_msg *);
/* Whether trusted-proxies names r. */
bool requester_is_trusted(const struct requester *, const struct conf *);
/* Whether the list names it. A requester that is not known lies only in a block of all addresses. */
bool requester_in(const struct requester *, const struct cidr_list *);
bool requester_is_loopback(const struct requester *);
/* Writes "192.0.2.7:80", "[2001:db8::1]:80", "unix:" or "unknown"; the port is "-" if it is not known. Terminated.
 * Returns the text. */
const char *requester_text(const struct requester *, char text[REQUESTER_TEXT_MAX]);
/* Writes the address alone, as the configuration names it; "" if it is not known. Returns text. */
const char *requester_address(const struct requester *, char text[REQUESTER_TEXT_MAX]);

#endif
