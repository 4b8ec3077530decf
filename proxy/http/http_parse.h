/* Owns parsing HTTP/1 messages, by llhttp with every lenient flag off; http_parse.c alone includes its header.
 * Must not know: sockets, what a message is for.
 * Invariant: an accepted message has one meaning only (RFC 9112 section 6.3): no bare CR, no NUL, no second framing, no
 * space before a colon. After an error the parser reads nothing more from that connection.
 *
 * The head is parsed in one growing buffer, so that its fields are offsets into that buffer and nothing is copied. A
 * body is handed out piece by piece from the buffer that is being parsed, with chunk framing removed. */
#ifndef UTFEED_PROXY_HTTP_HTTP_PARSE_H
#define UTFEED_PROXY_HTTP_HTTP_PARSE_H

#include "proxy/http/http_msg.h"

enum http_parse_result {
	PARSE_MORE,             /* all bytes were used; the message is not complete */
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
/* Call it before each message. no_body: the message is the response to a HEAD. */
void http_parser_start(struct http_parser *, struct http_msg *, bool no_body);

/* Parses more of the message; *used is set to the bytes that were parsed. While the head is parsed, data must be
 * msg->base plus the bytes used before (one buffer, which may have moved). After PARSE_HEAD call http_parser_go_on() to
 * parse the body, or http_parser_start() to give the message up. */
enum http_parse_result http_parse(struct http_parser *, const char *data, size_t len, size_t *used);
void http_parser_go_on(struct http_parser *);
/* Call it when the peer has closed: PARSE_DONE where that ends the message (RFC 9112 section 6.3, rule 8), else
 * PARSE_ERROR. */
enum http_parse_result http_parse_eof(struct http_parser *);

enum http_parse_error http_parser_error(const struct http_parser *);
const char *http_parser_reason(const struct http_parser *);   /* for logs: no peer bytes in it */

#endif
