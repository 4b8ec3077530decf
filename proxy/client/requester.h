/* Owns who asks: the address that a request counts as coming from, and whether it has the rights of that address.
 * Must not know: connections, what the rights are. Pure, over configuration and the request head.
 * Invariant: only proxies that trusted-proxies names are believed; they, and whoever came through any other proxy, have
 * no rights.
 * Source: RFC 7239 (Forwarded); X-Forwarded-For, as what came before it is written by everybody. */
#ifndef UTFEED_PROXY_CLIENT_REQUESTER_H
#define UTFEED_PROXY_CLIENT_REQUESTER_H

#include "conf/conf.h"
#include "proxy/http/http_msg.h"

struct sockaddr;

struct requester {
	struct ip ip;
	uint16_t port;                 /* 0: not told */
	bool known;                    /* ip is one; not so where a trusted proxy does not say */
	bool told;                     /* by a trusted proxy: it is not the connection's own address */
	bool rights;                   /* what is open to its address is open to it: PURGE, X-Encoding-Policy */
	bool settled;                  /* nothing that the request says of the client counts */
};

enum { REQUESTER_TEXT_MAX = 64 };

/* Whoever is at the other end of a connection. */
void requester_of_peer(struct requester *, const struct sockaddr *peer);
/* Who the request comes from that was sent by r: the last address in the field of client-field that is no trusted
 * proxy's. */
void requester_read(struct requester *, const struct conf *, const struct http_msg *);
/* Is r a proxy that is believed? */
bool requester_is_trusted(const struct requester *, const struct conf *);
/* Does the list name it? Who is not known lies only in a block of all addresses. */
bool requester_in(const struct requester *, const struct cidr_list *);
bool requester_is_loopback(const struct requester *);
/* "192.0.2.7:80", "[2001:db8::1]:80"; the port "-" where it is not told; "unknown". Terminated; returns it. */
const char *requester_text(const struct requester *, char text[REQUESTER_TEXT_MAX]);

#endif
