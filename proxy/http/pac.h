/* Owns the file that tells browsers and systems what to ask utfeed for (proxy auto-config): made of the configuration,
 * for a client that named utfeed in its Host field.
 * Must not know: requests. Pure. Invariant: what it sends to utfeed is what utfeed would serve, by scheme, host and
 * port; everything else goes direct. */
#ifndef UTFEED_PROXY_HTTP_PAC_H
#define UTFEED_PROXY_HTTP_PAC_H

#include "conf/conf.h"
#include "proxy/base/text.h"

#define PAC_CONTENT_TYPE "Content-Type: application/x-ns-proxy-autoconfig\r\n"

/* Whether a request's target asks for it. */
bool pac_is(const struct conf *, struct slice target);
/* host, port: by which clients reach utfeed; the host with its brackets. tls: they speak TLS to it. */
void pac_write(struct text *, const struct conf *, struct slice host, uint16_t port, bool tls);

#endif
