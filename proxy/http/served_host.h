/* Owns which names utfeed answers to, so that no web page reaches it by a name of its own that it lets lead here (DNS
 * rebinding).
 * Must not know: what is asked for. Pure, over configuration.
 * Source: RFC 6761, RFC 6762 appendix G, RFC 8375, ICANN's .internal: names that no stranger can register. */
#ifndef UTFEED_PROXY_HTTP_SERVED_HOST_H
#define UTFEED_PROXY_HTTP_SERVED_HOST_H

#include "conf/conf.h"

/* text: a Host field, read as asked says; one that is empty or not there is no browser's, and served. tls: the client
 * knows from our certificate that the name is ours. */
bool served_host(const struct conf *, const char *text, const struct url_host *asked, bool tls);

#endif
