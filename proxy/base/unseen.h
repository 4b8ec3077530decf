/* Owns the list of characters that a log or a page never shows as they are: those that end a line, turn the direction
 * of others, or are not seen. Must not know: how they are shown instead. Pure. */
#ifndef UTFEED_PROXY_BASE_UNSEEN_H
#define UTFEED_PROXY_BASE_UNSEEN_H

#include <stdbool.h>
#include <stdint.h>

bool unseen(uint32_t character);

#endif
