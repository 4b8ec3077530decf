/* Owns the question whether a domain is a public suffix, below which anybody gets a name: com, co.uk, github.io. Pure.
 * Must not know: cookies. Source: the Public Suffix List that libpsl has built in. No file is read, so that a sandboxed
 * process and an image without files ask the same list. */
#ifndef UTFEED_PROXY_HTTP_PUBLIC_SUFFIX_H
#define UTFEED_PROXY_HTTP_PUBLIC_SUFFIX_H

#include <stdbool.h>

#include "proxy/base/slice.h"

/* The domain is a name in ASCII (IDNA), in any case, with or without a dot at its end. A name that the list does not
 * have is one if it has no dot inside. True also where that cannot be known: the name is too long, or libpsl was built
 * without a list. */
bool public_suffix(struct slice domain);

#endif
