/* Owns the look at the places to accept clients on, before they are bound. Must not know: sockets that were given.
 * Invariant: nothing is bound to a place that another program could want; a place that another program has is fine. */
#ifndef UTFEED_PROXY_SERVER_PREFLIGHT_LISTENERS_H
#define UTFEED_PROXY_SERVER_PREFLIGHT_LISTENERS_H

struct conf;

/* Whether this machine has the addresses, the files of Unix sockets can be made, and no two are the same. -1: it is
 * logged. */
int preflight_listeners(const struct conf *) __attribute__((warn_unused_result));

#endif
