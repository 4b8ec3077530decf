/* Owns the first bytes by which known file formats are recognised that are not text, such as pictures and archives.
 * Private to core, but for container_is_gzip(), which those ask who can unpack it.
 * Must not know: Content-Type, charsets. Pure functions over the first bytes. */
#ifndef UTFEED_CORE_EVIDENCE_CONTAINER_H
#define UTFEED_CORE_EVIDENCE_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes after which the answer is final. */
enum { CONTAINER_WINDOW = 512 };

/* The kind of file that the bytes begin ("png"); NULL: none that is known. */
const char *container_name(const uint8_t *, size_t len);
/* True if further bytes may still make them the beginning of such a file: false from CONTAINER_WINDOW bytes on. */
bool container_may_come(const uint8_t *, size_t len);

/* Whether the bytes begin a member of gzip (RFC 1952 section 2.3). GZIP_MAGIC bytes tell, the first is GZIP_FIRST. */
enum { GZIP_MAGIC = 4, GZIP_FIRST = 0x1f };
bool container_is_gzip(const uint8_t *, size_t len);

#endif
