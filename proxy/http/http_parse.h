/* Owns parsing HTTP/1 messages: the only file that includes llhttp's header, every lenient flag off.
 * Must not know: sockets, what a message is for.
 * Invariant: what it lets through has one meaning only (RFC 9112 section 6.3): no bare CR, no NUL, no second framing,
 * no space before a colon; after an error nothing more is read from that connection.
 *
 * The head is fed from one growing buffer, so fields come out as offsets into it and nothing is copied. Bodies are
 * handed out as they stand in whatever buffer was fed, chunk framing removed. */
#ifndef UTFEED_PROXY_HTTP_HTTP_PARSE_H
#define UTFEED_PROXY_HTTP_HTTP_PARSE_H

#include "proxy/http/http_msg.h"

enum http_parse_result {
	PARSE_MORE,             /* everything was used, the message goes on */
	PARSE_HEAD,             /* the head is complete; what follows was not looked at */
	PARSE_DONE,             /* the message is complete; what follows belongs to the next */
	PARSE_ERROR             /* http_parser_error() says why */
};

enum http_parse_error {
	HTTP_E_NONE, HTTP_E_SYNTAX, HTTP_E_METHOD, HTTP_E_VERSION, HTTP_E_FRAMING, HTTP_E_TOO_MANY_FIELDS,
	HTTP_E_INCOMPLETE, HTTP_E_BODY
};

struct http_parser;
/* body: called with each piece of the body; non-zero stops parsing with PARSE_ERROR. May be NULL. */
typedef int http_body_f(void *arg, const char *at, size_t len);

struct http_parser *http_parser_new(bool request, http_body_f *body, void *arg);     /* NULL: out of memory */
void http_parser_free(struct http_parser **);
/* Before each message. no_body: the response to a HEAD. */
void http_parser_start(struct http_parser *, struct http_msg *, bool no_body);

/* Reads on. For the head, data must be msg->base + what was used before (one buffer, which may have moved). *used says
 * how much was read. After PARSE_HEAD: call http_parser_go_on() to read the body, or start anew to give it up. */
enum http_parse_result http_parse(struct http_parser *, const char *data, size_t len, size_t *used);
void http_parser_go_on(struct http_parser *);
/* The peer closed: PARSE_DONE where that ends the message (RFC 9112 section 6.3, rule 8), else PARSE_ERROR. */
enum http_parse_result http_parse_eof(struct http_parser *);

enum http_parse_error http_parser_error(const struct http_parser *);
const char *http_parser_reason(const struct http_parser *);   /* for logs: no peer bytes in it */

#endif
