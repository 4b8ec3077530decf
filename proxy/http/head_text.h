/* Owns looking into a response head as it is sent: finding a field, copying it with some fields left out. Pure.
 * Must not know: what fields mean. For heads of our own making only: a start line, then every line is NAME ": " VALUE
 * CRLF, none of them about framing, and no empty line ends it. */
#ifndef UTFEED_PROXY_HTTP_HEAD_TEXT_H
#define UTFEED_PROXY_HTTP_HEAD_TEXT_H

#include "proxy/base/slice.h"
#include "proxy/base/text.h"

/* Whether it is such a head, of that status: what a store brings back need not be. */
bool head_text_valid(struct slice head, int status);
/* The first field of that name (lower case); at NULL: none. */
struct slice head_text_get(struct slice head, const char *name);
/* Where the closing quote of its ETag stands; 0: it has none. */
size_t head_text_etag_end(struct slice head);
/* Appends the field lines (no start line) whose name is, with keep, or is not, without, one of names (NULL at the
 * end). */
void head_text_copy(struct text *, struct slice head, const char *const *names, bool keep);

#endif
