/* Owns the request head an origin sees: written anew, from what headers.def and the route let through.
 * Must not know: connections. Source: RFC 9110 sections 7.6 and 7.7; the URL and Host are the fetch's (they change on
 * redirects). */
#ifndef UTFEED_PROXY_CACHE_REQUEST_HEAD_H
#define UTFEED_PROXY_CACHE_REQUEST_HEAD_H

#include "proxy/http/http_msg.h"
#include "proxy/origin/fetch.h"

struct conf;
struct target;

/* Whether a request's Range could go to the origin: one byte range of a GET, and If-Range, where it stands, names the
 * origin's bytes and not ours. */
bool request_head_ranged(const struct http_msg *);

/* The lines by which an origin may tell this request from another one for the same URL, as it gets them: what of a
 * client's fields goes along. Keys are computed of these (vary.h), never of what the client wrote. Without what utfeed
 * adds to all alike or asks by itself (preconditions, ranges). */
void request_head_sent(struct text *, const struct http_msg *, const struct target *);
/* What goes along though headers.def does not name it, a line each, in lower case names: the origin may heed any of it
 * and need not say so. Begins with a line's end; nothing where there is none. */
void request_head_key(struct text *, const struct http_msg *, const struct target *);

/* The request less what it says of caches: that is one client's wish of its own answer. Its fields are to be freed
 * (http_msg_free()); -1: out of memory. */
int request_head_for_anybody(struct http_msg *, const struct http_msg *from);

/* By forward proxy the client talks to the origin itself, so that all end-to-end fields go along but credentials that
 * are not to. conditional: the client's own preconditions go along (the cache adds its own instead); r->ranged: its
 * Range and If-Range do. Fills method, fields, private_fields and stage.head.etag_ours (from stage.head.etag_suffix).
 * -1: out of memory. */
int request_head_write(struct fetch_request *, const struct http_msg *, const struct conf *, const struct target *,
    bool conditional) __attribute__((warn_unused_result));

#endif
