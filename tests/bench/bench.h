/* Owns how the micro benchmarks measure and print: one line "what TAB contender TAB bytes TAB nanoseconds" a measurement, which
 * micro.py reads. Must not know: what is measured. */
#ifndef UTFEED_TESTS_BENCH_H
#define UTFEED_TESTS_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { BENCH_LEAST_NS = 20000000 };

typedef void bench_f(void *arg);

/* Processor time: what else the machine does is not counted. */
static inline uint64_t bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Runs f for at least BENCH_LEAST_NS. count: how often f itself does what is measured; bytes: how many each time, 0: none. */
static inline void bench(const char *what, const char *contender, size_t bytes, size_t count, bench_f *f, void *arg)
{
	uint64_t start = bench_now(), runs = 0, taken;

	do {
		f(arg);
		runs++;
		taken = bench_now() - start;
	} while (taken < BENCH_LEAST_NS);
	printf("%s\t%s\t%zu\t%.3f\n", what, contender, bytes, (double)taken / (double)runs / (double)count);
}

#endif
