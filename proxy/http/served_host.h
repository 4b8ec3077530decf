/* Owns the host names that utfeed answers to. A web page must not reach utfeed by a name of the page's own site that
 * its DNS points here (DNS rebinding).
 * Must not know: what is asked for. Pure, over configuration.
 * Source: RFC 6761, RFC 6762 appendix G, RFC 8375, ICANN's .internal: names that no stranger can register. */
#ifndef UTFEED_PROXY_HTTP_SERVED_HOST_H
#define UTFEED_PROXY_HTTP_SERVED_HOST_H

#include "conf/conf.h"
#include "proxy/base/text.h"

/* text: a Host field, with asked parsed from it. A request whose Host is empty or absent comes from no browser and is
 * served. tls: the client knows from our certificate that the name is ours. */
bool served_host(const struct conf *, const char *text, const struct url_host *asked, bool tls);
/* Likewise for the admin listener, which has names of its own: addresses, names that no stranger can register, and the
 * names of hosts. The hosts of routes are not among them. */
bool served_admin_host(const struct conf *, const char *text, const struct url_host *asked, bool tls);
/* Writes the sentence for a client whose valid Host is not served, with the line of the configuration that would serve
 * it. */
void served_host_refusal(struct text *, const struct conf *, struct slice host);

#endif
