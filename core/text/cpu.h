/* Owns the choice of vector instructions: those that this processor has beyond the ones the compiler may use anyway.
 * Must not know: what they are used for.
 * Invariant: for every use there is plain C that does the same, so that any answer gives the same bytes. */
#ifndef UTFEED_CORE_TEXT_CPU_H
#define UTFEED_CORE_TEXT_CPU_H

/* Each level includes all levels before it. */
enum cpu_level {
	CPU_PLAIN,
#if defined(__x86_64__) || defined(__i386__)
	CPU_SSSE3,
	CPU_AVX2,
#elif defined(__aarch64__)
	CPU_NEON,               /* every arm64 processor has it */
#endif
	CPU_LEVELS
};

enum cpu_level cpu_level(void);

/* For tests: limits the level to the lower of `most` and what the processor has. Returns the level. */
enum cpu_level cpu_limit(enum cpu_level most);

#endif
