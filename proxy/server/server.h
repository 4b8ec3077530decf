/* Owns `utfeed serve`: the order in which it starts, workers, signals, the orderly end. Must not know: requests, where
 * sockets come from (sockets.h), how they go to the next process (takeover.h).
 * SIGTERM, SIGINT: the server finishes what is in flight, within drain-timeout, and exits with 0; a second signal ends
 * it at once. SIGUSR1: it prints the counters on stderr. SIGUSR2: it opens the access log anew.
 * SIGHUP: it reads the configuration, certificates and keys again. They come into force for new requests, or not at
 * all if anything in the configuration is wrong. An option that needs a restart keeps its value. If a certificate, a
 * key or an authority cannot be used, the listeners or routes that it is for stay as they were. */
#ifndef UTFEED_PROXY_SERVER_SERVER_H
#define UTFEED_PROXY_SERVER_SERVER_H

struct conf;
struct settings;

/* Runs until a signal ends it; returns the exit status of the process, 2 where the configuration has a mistake. Takes
 * over conf; argv is what conf was loaded from, and is used to load it again. */
int server_run(struct conf *, int argc, char **argv) __attribute__((warn_unused_result));
/* Looks for every mistake that a start would find before it opens anything. Takes over conf. One reference; NULL: the
 * configuration has a mistake (logged). */
struct settings *server_check(struct conf *) __attribute__((warn_unused_result));

#endif
