/* Owns what is looked at before anything is started, and for --check-config instead: whether the system has what the
 * configuration asks for. Must not know: how it is used then.
 * Invariant: nothing is changed, made or connected to. */
#ifndef UTFEED_PROXY_SERVER_PREFLIGHT_H
#define UTFEED_PROXY_SERVER_PREFLIGHT_H

struct conf;

/* Everything but certificates and keys of routes, listeners and interception, which settings_new() reads. Each fault is
 * logged, with the place of its option; what works but may not be meant is a warning. Called before there are other
 * threads. -1: the configuration has a mistake. */
int preflight(const struct conf *) __attribute__((warn_unused_result));

#endif
