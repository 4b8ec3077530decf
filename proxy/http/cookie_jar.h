/* Owns the cookies that a site sets while its redirects are followed, for the length of one fetch: a site that sets one
 * and leads back to itself expects it. Pure.
 * Must not know: clients, whose cookies never come here; stores.
 * Source: RFC 6265 sections 5.1 to 5.4. From RFC 6265bis: the prefixes of names, public suffixes and secure cookies
 * (sections 5.4 and 5.7 of the draft). A cookie needs a name, however.
 * Invariant: at most COOKIE_JAR_MAX cookies of COOKIE_JAR_BYTES in all; what has no room is left out. */
#ifndef UTFEED_PROXY_HTTP_COOKIE_JAR_H
#define UTFEED_PROXY_HTTP_COOKIE_JAR_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/http/destination.h"
#include "proxy/http/http_msg.h"

enum { COOKIE_JAR_MAX = 20, COOKIE_JAR_BYTES = 8192 };

struct cookie_jar;

/* Takes the Set-Cookie fields of a response that came from there; *jar is made with the first of them, NULL before.
 * now: in seconds since the epoch, for Expires. True: what the jar holds is another than before. A cookie that
 * memory does not suffice for is left out. */
bool cookie_jar_take(struct cookie_jar **jar, const struct destination *from, const struct http_msg *, int64_t now);
/* Whether a request to there has cookies of the jar, which may be NULL. */
bool cookie_jar_has(const struct cookie_jar *, const struct destination *to);
/* Appends their line, "Cookie: a=b; c=d" CRLF, if there are any. */
void cookie_jar_write(const struct cookie_jar *, struct text *, const struct destination *to);
void cookie_jar_free(struct cookie_jar **);            /* sets it to NULL; it may be NULL already */

#endif
