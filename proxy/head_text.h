/* Owns looking into a response head as it is sent: finding a field, copying it with some fields left out. Pure.
 * Must not know: what fields mean. For heads of our own making only: every line is NAME ": " VALUE CRLF. */
#ifndef UTFEED_PROXY_HEAD_TEXT_H
#define UTFEED_PROXY_HEAD_TEXT_H

#include "slice.h"
#include "text.h"

/* The first field of that name (lower case); at NULL: none. */
struct slice head_text_get(struct slice head, const char *name);
/* Where the closing quote of its ETag stands; 0: it has none. */
size_t head_text_etag_end(struct slice head);
/* Appends the field lines (no start line) whose name is, with keep, or is not, without, one of names (NULL at the end). */
void head_text_copy(struct text *, struct slice head, const char *const *names, bool keep);

#endif
