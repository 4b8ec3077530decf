/* Owns the Accept that names feeds first, and what a client's own names. Must not know: routes, what is sent else.
 * Source: RFC 9110 sections 12.4.2 and 12.5.1. */
#ifndef UTFEED_PROXY_HTTP_ACCEPT_FEEDS_H
#define UTFEED_PROXY_HTTP_ACCEPT_FEEDS_H

#include "proxy/http/http_msg.h"

#define ACCEPT_FEEDS \
	"application/atom+xml, application/rss+xml, application/rdf+xml, application/xml;q=0.9, text/xml;q=0.9, " \
	"*/*;q=0.8"

/* Whether what the client likes best, the first of it where it likes several things alike, is a type of feeds. */
bool accept_feeds_first(const struct http_msg *);
/* The weight, in thousandths, that Accept gives to that very type, in lower case; 0: it does not name it. */
int accept_named(const struct http_msg *, const char *type);

#endif
