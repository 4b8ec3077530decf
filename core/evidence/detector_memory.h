/* Owns the memory that uchardet works in. uchardet is C++: where its operator new has no memory it throws, which C code
 * cannot catch, and the process ends. So all memory that it may need, an arena, is set aside before it is called.
 * Must not know: what is detected. Invariant: between detector_memory_take() and _give() the C++ objects of this thread
 * stand in the arena, and their memory is freed only with the arena as a whole. */
#ifndef UTFEED_CORE_EVIDENCE_DETECTOR_MEMORY_H
#define UTFEED_CORE_EVIDENCE_DETECTOR_MEMORY_H

#include <stdbool.h>

bool detector_memory_take(void);               /* false: out of memory */
void detector_memory_give(void);

#endif
