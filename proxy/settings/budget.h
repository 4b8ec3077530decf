/* Owns the sum of what the configuration lets this process keep in memory, and whether that fits into the memory there
 * is.
 * Must not know: control groups, stores. Pure: numbers in, numbers out. */
#ifndef UTFEED_PROXY_SETTINGS_BUDGET_H
#define UTFEED_PROXY_SETTINGS_BUDGET_H

#include <stddef.h>
#include <stdint.h>

struct budget {
	uint64_t group;                /* what the control groups allow; UINT64_MAX: no limit */
	uint64_t machine;              /* memory of the machine */
	size_t cache_bytes;            /* 0: auto */
	size_t clients;                /* of all workers together */
	size_t workers;
	size_t decoding_bytes;
};

/* The value of cache_bytes in force. auto is a quarter of what the control groups allow, which is for this process
 * alone. Without such a limit other processes share the machine: auto is 64 MiB then, or a quarter of the machine's
 * memory if that is less. */
size_t budget_cache_bytes(const struct budget *);
/* What stored responses, workers, that many clients and their transfers may take in all. */
uint64_t budget_sum(const struct budget *);
/* The memory there is for that. */
uint64_t budget_limit(const struct budget *);

#endif
