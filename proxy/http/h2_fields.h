/* Owns the translation between header lists of HTTP/2 and heads of HTTP/1.1, both ways, for servers and for clients.
 * Must not know: frames, streams, HPACK; nghttp2 has checked the order of pseudo-header fields and the characters.
 * Source: RFC 9113 sections 8.1 to 8.5. Pure. Invariant: no field can add a line, end the head or change the framing of
 * the message that is written. */
#ifndef UTFEED_PROXY_HTTP_H2_FIELDS_H
#define UTFEED_PROXY_HTTP_H2_FIELDS_H

#include "proxy/net/h2.h"

/* A server's side, as net/h2.h says. A request for the scheme of its connection (https if secure) gets a target in
 * origin form, one for another scheme the absolute form, CONNECT the authority (section 8.5). Host comes from
 * :authority; a Host that differs from it is malformed (section 8.3.1). Crumbs of Cookie become one line (section
 * 8.2.3). */
enum h2_body h2_request_body(const struct h2_field *, size_t n);
enum h2_fault h2_request_head(const struct h2_field *, size_t n, bool secure, bool ends, struct text *head);
/* Finds method and target, however malformed the rest is. at NULL: the list has none. */
void h2_known_line(const struct h2_field *, size_t n, struct slice *method, struct slice *target);
enum h2_fault h2_trailer_lines(const struct h2_field *, size_t n, struct text *lines);
int h2_response_fields(struct slice head, struct text *names, struct h2_field *, size_t max, struct h2_framing *);
int h2_trailer_fields(struct slice lines, struct text *names, struct h2_field *, size_t max);

extern const struct h2_translation h2_server_side;

/* A client's side: the same for requests that utfeed writes and responses that it gets. scheme: "https" or "http". */
int h2_request_fields(struct slice head, const char *scheme, struct text *names, struct h2_field *, size_t max,
    struct h2_framing *);
enum h2_fault h2_response_head(const struct h2_field *, size_t n, bool ends, struct text *head, struct h2_framing *);

extern const struct h2_translation h2_client_side;

#endif
