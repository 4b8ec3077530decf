/* Owns the interface of the libraries that pack gzip, and the list of them. Each has a file of its own, which alone
 * includes the header of its library. Must not know: who chooses among them (gzip_writer.c). */
#ifndef UTFEED_PROXY_CODING_PACKER_H
#define UTFEED_PROXY_CODING_PACKER_H

#include "proxy/coding/gzip_writer.h"

struct gzip_packer {
	void *(*open)(void);   /* NULL: out of memory */
	/* as gzip_write() */
	bool (*write)(void *state, const uint8_t **in, size_t *in_len, enum gzip_flush, uint8_t *out, size_t cap,
	    size_t *written);
	void (*close)(void *state);
};

extern const struct gzip_packer packer_isal;        /* level 1 of ISA-L, where the build has it */
extern const struct gzip_packer packer_zlib_1, packer_zlib_6;

#endif
