/* Owns the question how much memory this process may have: the least of its control groups' limits, nested ones and
 * those of both versions, and what the machine has. Must not know: what it is for.
 * Sources: cgroups(7); the kernel's cgroup-v2 (memory.max, memory.high) and cgroup-v1/memory (memory.limit_in_bytes).
 * The hierarchies are looked for where systems and containers mount them, below /sys/fs/cgroup. */
#ifndef UTFEED_PROXY_BASE_MEMORY_LIMIT_H
#define UTFEED_PROXY_BASE_MEMORY_LIMIT_H

#include <stdint.h>

/* UINT64_MAX: no group limits it. root: "", or a folder in whose proc and sys to look, for tests. */
uint64_t memory_limit_group(const char *root);
uint64_t memory_limit_machine(void);

#endif
