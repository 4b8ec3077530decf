/* Owns the conversion of internationalised host names, in URLs or alone, from UTF-8, also percent-encoded (RFC 3986
 * section 3.2.2), to A-labels (RFC 5891, UTS 46). The only part that knows libidn2. Must not know: what becomes of the
 * URL; url_parse() judges the result.
 * Invariant: a host that is ASCII is never changed. */
#ifndef UTFEED_CONF_IDN_H
#define UTFEED_CONF_IDN_H

#include <stddef.h>

/* The URL with its host in A-labels, which the caller frees. NULL: there is nothing to convert, the host is impossible,
 * or memory is out. The caller then judges the text as it is. */
char *idn_url(const char *text, size_t len, size_t *out_len);
/* The same for a host, or HOST:PORT. */
char *idn_host(const char *text, size_t len, size_t *out_len);

#endif
