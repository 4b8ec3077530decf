/* Owns the choice of vector instructions: what this processor has beyond what the compiler was told it may use anyway.
 * Must not know: what they are used for.
 * Invariant: wherever it is asked there is plain C that does the same, so any answer gives the same bytes. */
#ifndef UTFEED_CORE_TEXT_CPU_H
#define UTFEED_CORE_TEXT_CPU_H

/* Each has all that stands before it. */
enum cpu_level {
	CPU_PLAIN,
#if defined(__x86_64__) || defined(__i386__)
	CPU_SSSE3,
	CPU_AVX2,
	CPU_AVX512,             /* with BW, VL, VBMI and VBMI2: no processor that has them slows down for it */
#elif defined(__aarch64__)
	CPU_NEON,               /* all of them have it */
#endif
	CPU_LEVELS
};

enum cpu_level cpu_level(void);

/* For tests: from now on no more than this, nor more than there is. Returns what it has come to. */
enum cpu_level cpu_limit(enum cpu_level most);

#endif
