/* Owns entity tags of transformed responses: such a tag is the origin's with a suffix that stands for the output
 * settings. So our tags can be told from the origin's, and the origin's tag can be got out of ours without a store.
 * Must not know: the settings themselves. Source: RFC 9110 sections 8.8.3 and 7.7. */
#ifndef UTFEED_PROXY_HTTP_ETAG_H
#define UTFEED_PROXY_HTTP_ETAG_H

#include <stdint.h>

#include "proxy/base/text.h"

enum { ETAG_SUFFIX_MAX = 24 };

/* Writes the suffix: ";utf-" and eight hexadecimal digits of a hash of the settings. */
void etag_suffix(char buf[ETAG_SUFFIX_MAX], uint64_t settings);
/* "abc" becomes "abc;utf-0123abcd"; W/ stays. If upstream is not an entity tag, a weak tag is made from all its text:
 * W/"own-0123456789abcdef;utf-0123abcd". Writes nothing for an empty text. */
void etag_transform(struct text *, struct slice upstream, const char *suffix);
bool etag_is_valid(struct slice);      /* RFC 9110 section 8.8.3 */
/* Follows the suffix in the tag of the gzip form. */
#define ETAG_GZIP ";gz"

/* Whether the tag is one of ours, under any settings. */
bool etag_is_ours(struct slice);

enum etag_owner { ETAG_THEIRS, ETAG_OURS, ETAG_OURS_GZIP, ETAG_STALE };
/* Appends a tag of a client's If-None-Match as the origin knows it, and returns whose tag it is. A tag of ours under
 * these settings loses its suffix. A tag of ours under other settings names bytes that are no longer served: nothing is
 * appended (ETAG_STALE). Any other tag stays as it is. */
enum etag_owner etag_restore(struct text *, struct slice member, const char *suffix);

#endif
