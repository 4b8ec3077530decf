/* Owns `utfeed serve`: binding, workers, signals, the orderly end. Must not know: requests.
 * SIGTERM, SIGINT: finish what is in flight, at most drain-timeout, and exit 0; a second one: at once. SIGUSR1: counters on stderr.
 * SIGHUP: certificates and keys are read again. */
#ifndef UTFEED_PROXY_SERVER_H
#define UTFEED_PROXY_SERVER_H

struct conf;

/* Runs until told to end. The process's exit status. */
int server_run(const struct conf *);
/* Whether the certificates and keys it names can be used: what the configuration alone does not say. -1: no, logged. */
int server_check(const struct conf *);

#endif
