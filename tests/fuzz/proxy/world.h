/* Owns what stands around a worker that is fuzzed: its clock, its waiting, its names and its connections to origins.
 * Must not know: HTTP, what anybody sends.
 * Invariant: nothing of it depends on the machine. No time passes but world_pass()'s, no packet leaves the process, and nobody
 * connects to an address that is not the Internet's. */
#ifndef UTFEED_TESTS_FUZZ_WORLD_H
#define UTFEED_TESTS_FUZZ_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* An invariant that does not hold ends the run and says its name. */
#define REQUIRE(holds, name, ...) \
	do { \
		if (!(holds)) { \
			fprintf(stderr, "fuzz_proxy: " name ": " __VA_ARGS__); \
			fputc('\n', stderr); \
			abort(); \
		} \
	} while (0)

struct world_hooks {
	/* The worker has nothing to do for so many ms; -1: for ever. */
	void (*quiet)(void *arg, int wait_ms);
	/* It connects to that port: fd is the origin's end, theirs the worker's. */
	void (*connected)(void *arg, int fd, int theirs, uint16_t port);
	/* It wants its end theirs to be reset when it is closed. */
	void (*reset)(void *arg, int theirs);
	void *arg;
};

/* From now on the process lives in this world, at its beginning; NULL: in the machine's. */
void world_enter(const struct world_hooks *);
void world_pass(uint64_t ms);
/* Seconds since the epoch. */
int64_t world_wall_s(void);
/* So many connections are refused from now on. */
void world_refuse(unsigned connections);
/* Sockets of this world: two ends, the second for the worker; small: it takes a few KiB at a time. */
void world_pair(int ends[2], bool small);
/* How many descriptors are open. */
unsigned world_descriptors(void);

#endif
