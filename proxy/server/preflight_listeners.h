/* Owns the look at the places to accept clients on, before they are bound. Must not know: sockets that were given.
 * Invariant: no place is taken; who listens there now is no fault. */
#ifndef UTFEED_PROXY_SERVER_PREFLIGHT_LISTENERS_H
#define UTFEED_PROXY_SERVER_PREFLIGHT_LISTENERS_H

struct conf;

/* Whether this machine has the addresses, the files of Unix sockets can be made, and no two are the same. -1: logged. */
int preflight_listeners(const struct conf *) __attribute__((warn_unused_result));

#endif
