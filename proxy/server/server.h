/* Owns `utfeed serve`: binding, workers, signals, the orderly end. Must not know: requests.
 * SIGTERM, SIGINT: finish what is in flight, at most drain-timeout, and exit 0; a second one: at once. SIGUSR1:
 * counters on stderr.
 * SIGHUP: the configuration, certificates and keys are read again: in force for new requests, or, where anything is
 * wrong or needs a restart, not at all. */
#ifndef UTFEED_PROXY_SERVER_SERVER_H
#define UTFEED_PROXY_SERVER_SERVER_H

struct conf;

/* Runs until told to end. The process's exit status. Takes over conf; argv: what it was loaded from, to load it
 * again. */
int server_run(struct conf *, int argc, char **argv) __attribute__((warn_unused_result));
/* Whether the certificates and keys it names can be used: what the configuration alone does not say. -1: no, logged. */
int server_check(const struct conf *) __attribute__((warn_unused_result));

#endif
