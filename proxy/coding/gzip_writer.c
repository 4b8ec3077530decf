/* Packing by one of the libraries; see gzip_writer.h. */
#include "proxy/coding/gzip_writer.h"

#include <stdlib.h>

#include "proxy/coding/packer.h"

static const struct packer *const packers[] = {
#ifdef HAVE_ISAL
	[GZIP_FAST] = &packer_isal,
#else
	[GZIP_FAST] = &packer_zlib_1,
#endif
	[GZIP_SMALL] = &packer_zlib_6
};

struct gzip_writer {
	const struct packer *packer;
	void *state;
};

struct gzip_writer *gzip_writer_new(enum gzip_effort effort)
{
	struct gzip_writer *w = malloc(sizeof *w);

	if (!w)
		return NULL;
	w->packer = packers[effort];
	if ((w->state = w->packer->open()))
		return w;
	free(w);
	return NULL;
}

void gzip_writer_free(struct gzip_writer **wp)
{
	struct gzip_writer *w = *wp;

	if (!w)
		return;
	w->packer->close(w->state);
	free(w);
	*wp = NULL;
}

bool gzip_write(struct gzip_writer *w, const uint8_t **in, size_t *in_len, enum gzip_flush flush, uint8_t *out,
    size_t cap, size_t *written)
{
	return w->packer->write(w->state, in, in_len, flush, out, cap, written);
}
