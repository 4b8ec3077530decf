/* Owns the memory that uchardet works in. It is C++: where its operator new finds none it throws, which nothing in C
 * can catch, and the process ends. So all it may need is set aside before it is called.
 * Must not know: what is detected. Invariant: between detector_memory_take() and _give() this thread's objects of C++
 * stand in the arena, and what is freed goes back only with all of it. */
#ifndef UTFEED_CORE_EVIDENCE_DETECTOR_MEMORY_H
#define UTFEED_CORE_EVIDENCE_DETECTOR_MEMORY_H

#include <stdbool.h>

bool detector_memory_take(void);               /* false: out of memory */
void detector_memory_give(void);

#endif
