/* Owns the page that answers a request for "/", unless a route does: what utfeed is, and how to ask it.
 * Must not know: how the page is sent. Pure, over configuration.
 * Invariants: the page names ways in that are switched on, and neither routes nor versions. The only text of a client
 * in it is the name in Host, escaped. It runs no script and fetches nothing from elsewhere.
 * Sources: RFC 9110 section 12.5.1, CSP Level 3. */
#ifndef UTFEED_PROXY_HTTP_START_PAGE_H
#define UTFEED_PROXY_HTTP_START_PAGE_H

#include "conf/conf.h"
#include "proxy/base/text.h"
#include "proxy/http/http_msg.h"

/* HTML for clients whose Accept names it, plain text for others, such as curl. */
enum start_page { START_PAGE_TEXT, START_PAGE_HTML };

/* Whether a request's target is that of the page: "/", also with an empty query, which a form without values sends. */
bool start_page_is(struct slice target);
enum start_page start_page_of(const struct http_msg *);

/* own: the URL by which clients reach utfeed, without a slash at its end. No line feed ends what is written. */
void start_page_write(struct text *, enum start_page, const struct conf *, struct slice own);
/* The lines of the head that belong to the page; Content-Type is the first of them. */
const char *start_page_fields(enum start_page);

#endif
