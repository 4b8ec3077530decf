/* Owns packing text as gzip (RFC 1952), the one coding that is made for clients. Must not know: which library packs
 * (packer.h), where bytes come from or go.
 * Invariant: what is written unpacks to the bytes that were given, however they and the room for output were cut. */
#ifndef UTFEED_PROXY_CODING_GZIP_WRITER_H
#define UTFEED_PROXY_CODING_GZIP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gzip_effort {
	GZIP_FAST,             /* what is packed for one client: about as short as by level 1 of zlib */
	GZIP_SMALL             /* what is packed once for many: as by level 6 */
};

enum gzip_flush {
	GZIP_MORE,             /* more input follows: output may be held back */
	GZIP_FLUSH,            /* all input so far becomes decodable, at the cost of some bytes */
	GZIP_FINISH            /* the end */
};

struct gzip_writer;
struct gzip_writer *gzip_writer_new(enum gzip_effort);         /* NULL: out of memory */
void gzip_writer_free(struct gzip_writer **);
/* Advances *in and *in_len. True: everything that flush asks for was written; false: out is full, call it again with
 * the same flush. */
bool gzip_write(struct gzip_writer *, const uint8_t **in, size_t *in_len, enum gzip_flush, uint8_t *out, size_t cap,
    size_t *written);

#endif
