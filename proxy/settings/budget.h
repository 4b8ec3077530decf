/* Owns the sum of what an operator allows this process to keep in memory, and whether it fits into what there is.
 * Must not know: control groups, stores. Pure: numbers in, numbers out. */
#ifndef UTFEED_PROXY_SETTINGS_BUDGET_H
#define UTFEED_PROXY_SETTINGS_BUDGET_H

#include <stddef.h>
#include <stdint.h>

struct budget {
	uint64_t group;                /* what its control groups allow; UINT64_MAX: all there is */
	uint64_t machine;              /* what there is */
	size_t cache_bytes;            /* 0: auto */
	size_t clients;                /* of all workers together */
	size_t workers;
};

/* cache_bytes as it counts. auto is a quarter of what the group allows: it is there for this process. Without such a
 * limit others live on the machine too: 64 MiB, or a quarter of a machine that has less than four times as much. */
size_t budget_cache_bytes(const struct budget *);
/* What all of them may come to, with as many clients. */
uint64_t budget_sum(const struct budget *);
/* What there is for it. */
uint64_t budget_limit(const struct budget *);

#endif
