/* Owns the names of this program's own functions, static ones too, as its file has them: for messages to developers.
 * Must not know: what the names are for. Invariant: a program without symbols has functions by number. */
#ifndef UTFEED_PROXY_BASE_SYMBOL_H
#define UTFEED_PROXY_BASE_SYMBOL_H

#include <stdint.h>

enum { SYMBOL_MAX = 128 };

/* Writes the name of the function at that address, or the address, and returns text. */
const char *symbol_name(uintptr_t address, char text[SYMBOL_MAX]);

#endif
