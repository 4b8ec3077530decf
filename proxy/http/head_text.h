/* Owns reading a response head that utfeed wrote: finding a field, copying the head without some fields. Pure.
 * Must not know: what fields mean. Invariant: the heads have a start line, then lines of NAME ": " VALUE CRLF, none of
 * them about framing, and no empty line at the end. */
#ifndef UTFEED_PROXY_HTTP_HEAD_TEXT_H
#define UTFEED_PROXY_HTTP_HEAD_TEXT_H

#include "proxy/base/slice.h"
#include "proxy/base/text.h"

/* Whether text is such a head with this status. A head that comes from a store has to be checked. */
bool head_text_valid(struct slice head, int status);
/* The first field of that name (lower case); at NULL: none. */
struct slice head_text_get(struct slice head, const char *name);
/* The offset of the closing quote of ETag; 0: the head has no ETag. */
size_t head_text_etag_end(struct slice head);
/* Appends field lines, without the start line. keep: those whose name is one of names (NULL at the end); else all
 * others. */
void head_text_copy(struct text *, struct slice head, const char *const *names, bool keep);
/* The same for the names that takes() says. */
void head_text_copy_if(struct text *, struct slice head, bool (*takes)(struct slice name));

#endif
