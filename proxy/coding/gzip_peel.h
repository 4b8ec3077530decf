/* Owns unpacking a stream that is gzip with a feed in it though nothing says so, for whoever reads a body outside the
 * proxy. Must not know: what becomes of a body. The proxy does the same for its responses (object/transform_peel).
 * Invariant: all bytes of the input go on, or all that they unpack to, and it does not depend on how the input was cut;
 * the memory until it is decided is bounded. */
#ifndef UTFEED_PROXY_CODING_GZIP_PEEL_H
#define UTFEED_PROXY_CODING_GZIP_PEEL_H

#include "core/normalise/normalise.h"

/* The gzip of a feed is damaged or unpacks to too much, and a part of the feed has gone on. */
enum { GZIP_PEEL_DAMAGED = -16 };

struct gzip_peel;
/* The options say what the body's type is. Both are borrowed. NULL: out of memory. */
struct gzip_peel *gzip_peel_new(const struct normalise_options *, struct sink);
void gzip_peel_free(struct gzip_peel **);
/* 0, what the sink returned, NORMALISE_NO_MEMORY or GZIP_PEEL_DAMAGED. */
int gzip_peel_feed(struct gzip_peel *, const uint8_t *, size_t len) __attribute__((warn_unused_result));
int gzip_peel_finish(struct gzip_peel *) __attribute__((warn_unused_result));
/* Whether what has gone on was unpacked. */
bool gzip_peel_has_unpacked(const struct gzip_peel *);

#endif
