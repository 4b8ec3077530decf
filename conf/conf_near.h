/* Owns comparing a word with names that somebody may have meant who wrote it. See conf_near.c. */
#ifndef UTFEED_CONF_CONF_NEAR_H
#define UTFEED_CONF_CONF_NEAR_H

#include <stdbool.h>
#include <stddef.h>

/* text: what was written; name: the nearest one so far, NULL: none is near enough. of_route: the names are those of a
 * route's options. */
struct conf_near { const char *text; size_t len; const char *name; size_t distance; bool of_route; };
/* Takes the name if it is nearer: at most one letter differs, in a text of six and more two. */
void conf_near_try(struct conf_near *, const char *name);

#endif
