/* Owns internationalised host names, in URLs and alone: UTF-8, also percent-encoded (RFC 3986 section 3.2.2), to
 * A-labels (RFC 5891, UTS 46). The only part that knows libidn2. Must not know: what becomes of the URL; url_parse()
 * judges the outcome.
 * Invariant: a host that is ASCII is none of its business. */
#ifndef UTFEED_CONF_IDN_H
#define UTFEED_CONF_IDN_H

#include <stddef.h>

/* The URL with its host in A-labels, for the caller to free. NULL: nothing to convert, a host that cannot be, or out of
 * memory: then the text is best judged as it is. */
char *idn_url(const char *text, size_t len, size_t *out_len);
/* The same of a host, or HOST:PORT. */
char *idn_host(const char *text, size_t len, size_t *out_len);

#endif
