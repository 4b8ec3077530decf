/* Owns whether a destination that a client chose may be connected to: its host as written, its port, each address it
 * has.
 * Must not know: sockets, lookups, routes (what an operator configures needs no guard).
 * Invariant: only an address that passed guard_check_address() right before connect() is connected to, whatever its
 * name was or resolves to later; a parent proxy gets only names and addresses that passed guard_check_unresolved().
 * deny counts before allow, allow before the defaults: public unicast addresses, ports 80 and 443 (for tunnels: what
 * their own list names, on its ports, else 443). */
#ifndef UTFEED_PROXY_SETTINGS_GUARD_H
#define UTFEED_PROXY_SETTINGS_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct conf_destination_list;
struct sockaddr;

/* The lists are borrowed. */
struct guard {
	const struct conf_destination_list *allow, *deny;
	/* NULL: not for tunnels; else nothing but what it names, allow or not */
	const struct conf_destination_list *tunnels;
};

/* What the name settled. */
struct guard_pass {
	uint16_t port;
	bool port_open;                /* for addresses that no list names */
	bool addresses_open;           /* allow names the host: its addresses may be closed ones */
};

/* Before the lookup. host: as in a URL, without brackets. NULL: go on, with pass; else why not, for people. */
const char *guard_check_name(const struct guard *, const char *host, uint16_t port, struct guard_pass *);
/* Before each connect(). NULL: permitted; else why not. */
const char *guard_check_address(const struct guard *, const struct guard_pass *, const struct sockaddr *);
/* Instead, where a parent proxy looks the name up and nobody here sees its addresses: an address is checked all the
 * same, a name passes unless it means the parent's own machine, or its port is open for certain addresses only. */
const char *guard_check_unresolved(const struct guard *, const struct guard_pass *, const char *host);

#endif
