/* Owns a response body on its way to one client as gzip: what an object's reader brings, compressed as it comes: of
 * what is not stored, or not stored yet (gzip_form.h has the rest). Each such client has a compressor of its own while
 * its response lasts.
 * Must not know: connections, framing.
 * Invariant: what the object has at the moment is out, decodable, before the reader is said to have no more: streams
 * stay streams. */
#ifndef UTFEED_PROXY_OBJECT_SENDER_GZIP_H
#define UTFEED_PROXY_OBJECT_SENDER_GZIP_H

#include "proxy/object/object.h"

struct sender_gzip;

struct sender_gzip *sender_gzip_new(void);       /* NULL: out of memory */
void sender_gzip_free(struct sender_gzip **);
/* The next bytes, valid until the next call; .iov_len 0: none at the moment. Consumes from the reader. */
struct iovec sender_gzip_peek(struct sender_gzip *, struct object_reader *);
void sender_gzip_consume(struct sender_gzip *, size_t bytes);
/* The object is done and its last byte was consumed here. */
bool sender_gzip_ended(const struct sender_gzip *);

#endif
