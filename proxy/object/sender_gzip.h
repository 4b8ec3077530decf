/* Owns a response body on its way to one client as gzip: the bytes that an object's reader brings are compressed as
 * they come. This is for bodies that are not stored, or not stored yet (gzip_form.h has the others). Each such client
 * has a compressor of its own while its response lasts.
 * Must not know: connections, framing.
 * Invariant: before it is said that there are no more bytes at the moment, all bytes that the object has are out and
 * can be decoded: streams stay streams. */
#ifndef UTFEED_PROXY_OBJECT_SENDER_GZIP_H
#define UTFEED_PROXY_OBJECT_SENDER_GZIP_H

#include "proxy/coding/gzip_writer.h"
#include "proxy/object/object.h"

struct sender_gzip;

struct sender_gzip *sender_gzip_new(void);         /* NULL: out of memory */
void sender_gzip_free(struct sender_gzip **);
/* The next compressed bytes, valid until the next call; .iov_len 0: none at the moment, or not yet (see below). Takes a
 * limited number of bytes from the reader. */
struct iovec sender_gzip_peek(struct sender_gzip *, struct object_reader *);
void sender_gzip_consume(struct sender_gzip *, size_t bytes);
/* Whether the object has more bytes that sender_gzip_peek() would take at once, though it gave none. */
bool sender_gzip_is_amid(const struct sender_gzip *);
/* Whether the object is done and sender_gzip_consume() took the last compressed byte. */
bool sender_gzip_ended(const struct sender_gzip *);

#endif
