/* Owns the addresses of listening sockets: from the configuration, as text, compared. Must not know: sockets. */
#ifndef UTFEED_PROXY_SERVER_SOCKET_ADDRESS_H
#define UTFEED_PROXY_SERVER_SOCKET_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

struct conf_listen;

enum { SOCKET_TEXT_MAX = 128 };

/* Returns the length of the address. */
socklen_t socket_address(struct sockaddr_storage *, const struct conf_listen *);
/* ADDR:PORT, [ADDR]:PORT or the path of a Unix socket; returns buf. */
const char *socket_address_text(char buf[SOCKET_TEXT_MAX], const struct sockaddr_storage *);
bool socket_address_is_inet(const struct sockaddr_storage *);
/* Whether a socket on the address `there` is one that the other address asks for, whose port 0 is any port. */
bool socket_address_matches(const struct sockaddr_storage *wanted, const struct sockaddr_storage *there);

#endif
