/* Owns the slice: a view of text whose memory belongs to somebody else. Must not know: what the text means. */
#ifndef UTFEED_PROXY_BASE_SLICE_H
#define UTFEED_PROXY_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>

struct slice { const char *at; size_t len; };       /* at NULL: absent */

bool slice_is(struct slice, const char *lower_case);         /* ASCII case ignored */
struct slice slice_unquoted(struct slice);                   /* without the double quotes at its ends */
struct slice slice_trim(struct slice);                       /* blanks and tabs off both ends */
/* The part before `by`, trimmed; *rest gets what follows it (at NULL where `by` does not occur). */
struct slice slice_until(struct slice, char by, struct slice *rest);

#endif
