/* Owns unpacking gzip bodies (RFC 1952) that lie in memory as a whole, which costs a third of unpacking them in pieces.
 * Must not know: where they come from, what becomes of them.
 * Invariant: no body holds its caller for more than a few milliseconds, whoever wrote it. */
#ifndef UTFEED_PROXY_CODING_GZIP_WHOLE_H
#define UTFEED_PROXY_CODING_GZIP_WHOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes that a body says it unpacks to, if it is one plain member with a header of ten bytes. 0: none, or it is not
 * such a member. A liar may have written it. */
size_t gzip_unpacked_size(const uint8_t *gzip, size_t len);
/* Unpacks such a member, to the same bytes as codec_gzip does. False: it is damaged, has other bytes behind it, is of
 * another size or in very many blocks, or memory ran out. codec_gzip has the last word then. */
bool gzip_unpack(const uint8_t *gzip, size_t len, uint8_t *text, size_t size);

/* The same for bodies of any length, by zlib (codec_zlib.c): gzip_unpack() chooses. */
bool gzip_unpack_blocks(const uint8_t *gzip, size_t len, uint8_t *text, size_t size);

#endif
