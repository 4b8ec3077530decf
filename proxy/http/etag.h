/* Owns entity tags of transformed responses: the origin's opaque tag with a suffix that names the output settings, so
 * that the origin's tag can be told from ours and got back out of it without a store.
 * Must not know: settings themselves. Source: RFC 9110 sections 8.8.3 and 7.7. */
#ifndef UTFEED_PROXY_HTTP_ETAG_H
#define UTFEED_PROXY_HTTP_ETAG_H

#include <stdint.h>

#include "proxy/base/text.h"
#include "proxy/http/http_msg.h"

enum { ETAG_SUFFIX_MAX = 24 };

/* ";utf-" and eight hexadecimal digits of settings. */
void etag_suffix(char buf[ETAG_SUFFIX_MAX], uint64_t settings);
/* "abc" becomes "abc;utf-0123abcd"; W/ stays. Writes nothing where upstream is no entity tag. */
void etag_transform(struct text *, struct slice upstream, const char *suffix);
/* What stands behind the suffix in the tag of the gzip form. */
#define ETAG_GZIP ";gz"

/* Whether the tag is one of ours, under whatever settings. */
bool etag_is_ours(struct slice);

enum etag_owner { ETAG_THEIRS, ETAG_OURS, ETAG_OURS_GZIP, ETAG_STALE };
/* A client's If-None-Match member as the origin knows it, and whose it is: ours under these settings gets its suffix
 * off; ours under other settings names bytes nobody can have now and writes nothing (ETAG_STALE); any other stays as it
 * is. */
enum etag_owner etag_restore(struct text *, struct slice member, const char *suffix);

#endif
