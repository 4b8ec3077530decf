/* Packing by one of the libraries; see gzip_writer.h. */
#include "proxy/coding/gzip_writer.h"

#include <stdlib.h>

#include "proxy/coding/packer.h"

static const struct gzip_packer *const packers[] = {
#ifdef HAVE_ISAL
	[GZIP_FAST] = &packer_isal,
#else
	[GZIP_FAST] = &packer_zlib_1,
#endif
	[GZIP_SMALL] = &packer_zlib_6
};

struct gzip_writer {
	const struct gzip_packer *packer;
	void *state;
};

struct gzip_writer *gzip_writer_new(enum gzip_effort effort)
{
	struct gzip_writer *writer = malloc(sizeof *writer);

	if (!writer)
		return NULL;
	writer->packer = packers[effort];
	if ((writer->state = writer->packer->open()))
		return writer;
	free(writer);
	return NULL;
}

void gzip_writer_free(struct gzip_writer **wp)
{
	struct gzip_writer *writer = *wp;

	if (!writer)
		return;
	writer->packer->close(writer->state);
	free(writer);
	*wp = NULL;
}

bool gzip_write(struct gzip_writer *writer, const uint8_t **in, size_t *in_len, enum gzip_flush flush, uint8_t *out,
    size_t cap, size_t *written)
{
	return writer->packer->write(writer->state, in, in_len, flush, out, cap, written);
}
