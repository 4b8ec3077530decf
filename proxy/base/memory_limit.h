/* Owns how much memory this process may have: the lowest limit of its control groups, of nested ones and of both
 * versions, and the memory of the machine. Must not know: what it is for.
 * Sources: cgroups(7); the kernel's cgroup-v2 (memory.max, memory.high) and cgroup-v1/memory (memory.limit_in_bytes).
 * The hierarchies are looked for where systems and containers mount them, below /sys/fs/cgroup. */
#ifndef UTFEED_PROXY_BASE_MEMORY_LIMIT_H
#define UTFEED_PROXY_BASE_MEMORY_LIMIT_H

#include <stdint.h>

/* UINT64_MAX: no group has a limit. root: "", or for tests a folder that has proc and sys. */
uint64_t memory_limit_group(const char *root);
uint64_t memory_limit_machine(void);

#endif
