/* Owns the request head that an origin sees: it is written anew, from what headers.def and the route let through.
 * Must not know: connections. Source: RFC 9110 sections 7.6 and 7.7. The fetch writes the URL and Host, which change on
 * redirects. */
#ifndef UTFEED_PROXY_ANSWER_REQUEST_HEAD_H
#define UTFEED_PROXY_ANSWER_REQUEST_HEAD_H

#include "proxy/http/http_msg.h"
#include "proxy/origin/fetch.h"

struct conf;
struct target;
struct trace;

/* Whether a request's Range could go to the origin: it is a GET for one byte range, and If-Range, if there is one, does
 * not name an entity tag of ours. */
bool request_head_ranged(const struct http_msg *);

/* Writes the field lines by which an origin may tell this request from another one for the same URL: those of the
 * client's fields that go along. Keys are computed from these lines (vary.h), never from what the client wrote. Left
 * out are fields that utfeed sends alike with every request or for its own purposes (preconditions, ranges). Returns
 * how many bytes of them, from the first one on, any origin may see: request_head_write() begins with these. */
size_t request_head_sent(struct text *, const struct http_msg *, const struct target *);
/* Adds to the key the fields that go along though headers.def does not name them, one line each, with names in lower
 * case: the origin may heed any of them without saying so. Begins with a newline; adds nothing where there is no such
 * field. */
void request_head_key(struct text *, const struct http_msg *, const struct target *);

/* Copies the request without what it says to caches, which is meant for one client's own answer alone. The caller frees
 * its fields (http_msg_free()); -1: out of memory. */
int request_head_for_anybody(struct http_msg *, const struct http_msg *from);
/* The same without all that any origin would see of the client, except the fields in vary and those of the route that
 * are in the key. */
int request_head_plain(struct http_msg *, const struct http_msg *from, const struct target *, const char *vary);

/* Writes the head of a fetch. Through the forward proxy the client talks to the origin itself, so all end-to-end fields
 * go along. Credentials go along only if they are let through. conditional: the client's own preconditions go along
 * (not so if the cache adds its own). r->ranged: its Range and If-Range go along. A route with traceparent sends the
 * trace to its own origin (NULL: there is none). begin: the lines that request_head_sent() wrote; at NULL: they are not
 * written yet. Fills method, fields, private_fields and transform.head.etag_ours (from transform.head.etag_suffix). -1:
 * out of memory. */
int request_head_write(struct fetch_request *, const struct http_msg *, const struct conf *, const struct target *,
    bool conditional, struct trace *, struct slice begin) __attribute__((warn_unused_result));

#endif
