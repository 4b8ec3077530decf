/* Asks the processor once which instructions it has; see cpu.h. */
#include "core/text/cpu.h"

#include <stdatomic.h>

static _Atomic enum cpu_level chosen = CPU_LEVELS;      /* CPU_LEVELS: not asked yet */

static enum cpu_level ask(void)
{
#if defined(__x86_64__) || defined(__i386__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"))
		return CPU_AVX2;
	if (__builtin_cpu_supports("ssse3"))
		return CPU_SSSE3;
#elif defined(__aarch64__)
	return CPU_NEON;
#endif
	return CPU_PLAIN;
}

enum cpu_level cpu_limit(enum cpu_level most)
{
	enum cpu_level level = ask();

	if (level > most)
		level = most;
	atomic_store_explicit(&chosen, level, memory_order_relaxed);
	return level;
}

enum cpu_level cpu_level(void)
{
	enum cpu_level level = atomic_load_explicit(&chosen, memory_order_relaxed);

	return level < CPU_LEVELS ? level : cpu_limit(CPU_LEVELS);
}
