/* Owns the request head an origin sees: written anew, from what headers.def and the route let through.
 * Must not know: connections. Source: RFC 9110 sections 7.6 and 7.7; the URL and Host are the fetch's (they change on redirects). */
#ifndef UTFEED_PROXY_UPSTREAM_H
#define UTFEED_PROXY_UPSTREAM_H

#include "fetch.h"
#include "http_msg.h"

struct conf;
struct target;

/* Whether a request's Range could go to the origin: one byte range of a GET, and If-Range, where it stands, names the origin's bytes and
 * not ours. */
bool upstream_range(const struct http_msg *);

/* By forward proxy the client talks to the origin itself, so that all end-to-end fields go along but credentials that are not to.
 * conditional: the client's own preconditions go along (the cache adds its own instead); r->ranged: its Range and If-Range
 * do. Fills method, fields, private_fields and stage.head.etag_ours (from stage.head.etag_suffix). -1: out of memory. */
int upstream_head(struct fetch_request *, const struct http_msg *, const struct conf *, const struct target *, bool conditional);

#endif
