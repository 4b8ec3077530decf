/* Owns whether utfeed may connect to a destination that a client chose: its host as written, its port, each of its
 * addresses.
 * Must not know: sockets, lookups, routes (what an operator configures needs no guard).
 * Invariant: utfeed connects only to an address that passed guard_check_address() right before connect(), whatever its
 * name resolves to. A parent proxy gets only names and addresses that passed guard_check_unresolved(). deny counts
 * before allow, and allow before the defaults: public unicast addresses on ports 80 and 443. For tunnels the defaults
 * are the entries of connect-allow, with their ports or 443. */
#ifndef UTFEED_PROXY_SETTINGS_GUARD_H
#define UTFEED_PROXY_SETTINGS_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct conf_destination_list;
struct sockaddr;

/* The lists are borrowed. */
struct guard {
	const struct conf_destination_list *allow, *deny;
	/* NULL: the guard is not for tunnels; else only destinations that this list names pass, whatever allow says */
	const struct conf_destination_list *tunnels;
};

/* What guard_check_name() found out, for the checks after it. */
struct guard_pass {
	uint16_t port;
	bool port_open;                /* the port is open for addresses that no list names */
	bool addresses_open;           /* allow names the host: special addresses pass too */
};

/* Called before the lookup. host: as in a URL, without brackets. NULL: it may be looked up, and *pass goes with it;
 * else why not, as text for people. */
const char *guard_check_name(const struct guard *, const char *host, uint16_t port, struct guard_pass *);
/* Called before each connect(). NULL: permitted; else why not. */
const char *guard_check_address(const struct guard *, const struct guard_pass *, const struct sockaddr *);
/* The option that would open a destination which is refused for that reason; NULL: none would. */
const char *guard_opener(const char *why);
/* Called instead of guard_check_address() where a parent proxy looks the name up, so that nobody here sees its
 * addresses. A host that is an address is checked all the same. A name passes unless it means the parent's own machine,
 * or its port is open for certain addresses only. */
const char *guard_check_unresolved(const struct guard *, const struct guard_pass *, const char *host);

#endif
