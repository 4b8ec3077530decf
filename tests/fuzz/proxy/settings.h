/* Owns the configurations a worker is fuzzed under, and the parts of it that see requests. Must not know: what anybody sends.
 * Invariant: nothing of a worker outlives it; the configurations do. */
#ifndef UTFEED_TESTS_FUZZ_SETTINGS_H
#define UTFEED_TESTS_FUZZ_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_SETTINGS = 8, BENCH_CACHE_BYTES = 1 << 20 };

struct bench;

/* Once, before the world is entered. */
void settings_make_all(void);

struct bench *bench_new(unsigned settings);
/* Whatever has begun goes on under the former ones. */
void bench_reload(struct bench *, unsigned settings);
void bench_run(struct bench *);        /* until bench_stop() */
void bench_stop(struct bench *);
/* A client's connection from this machine, of which fd is the worker's end. */
void bench_accept(struct bench *, int fd);
/* Invariants: nobody is served, nothing is fetched, what is stored keeps to its budget and goes when it is purged. */
void bench_require_idle(struct bench *);
void bench_require_budget(struct bench *);
void bench_free(struct bench *);
/* Cookies and credentials of forward proxy requests are sent on. */
bool settings_send_credentials(unsigned settings);

#endif
