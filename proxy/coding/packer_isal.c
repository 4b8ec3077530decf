/* Owns packing gzip by ISA-L (igzip), level 1: five to twenty times as fast as zlib's level 6, and about as short as by
 * its level 1. The only file that includes ISA-L's header. */
#include "proxy/coding/packer.h"

#ifdef HAVE_ISAL
#include <assert.h>
#include <isa-l/igzip_lib.h>

#include "proxy/base/heap.h"

/* With less than ISAL_DEF_LVL1_SMALL for the symbols of a block it is half as fast, with more no faster. */
struct isal_state {
	struct isal_zstream z;
	uint8_t symbols[ISAL_DEF_LVL1_SMALL];
};

/* 165 KiB: the memory of transfers is used again while it is still there. */
static void *isal_open(void)
{
	struct isal_state *self = heap_take(HEAP_TRANSIT, sizeof *self);

	if (!self)
		return NULL;
	isal_deflate_init(&self->z);
	self->z.level = 1;
	self->z.level_buf = self->symbols;
	self->z.level_buf_size = sizeof self->symbols;
	self->z.gzip_flag = IGZIP_GZIP;
	return self;
}

static void isal_close(void *state)
{
	heap_give(state);
}

static bool isal_write(void *state, const uint8_t **in, size_t *in_len, enum gzip_flush flush, uint8_t *out, size_t cap,
    size_t *written)
{
	static const uint16_t modes[] = { [GZIP_MORE] = NO_FLUSH, [GZIP_FLUSH] = SYNC_FLUSH, [GZIP_FINISH] = NO_FLUSH };
	struct isal_state *self = state;

	assert(*in_len <= UINT32_MAX && cap <= UINT32_MAX);
	self->z.next_in = (uint8_t *)(uintptr_t)*in;      /* which is not written to */
	self->z.avail_in = (uint32_t)*in_len;
	self->z.next_out = out;
	self->z.avail_out = (uint32_t)cap;
	self->z.flush = modes[flush];
	self->z.end_of_stream = flush == GZIP_FINISH;
	int r = isal_deflate(&self->z);
	assert(r == COMP_OK);
	(void)r;
	*in = self->z.next_in;
	*in_len = self->z.avail_in;
	*written = cap - self->z.avail_out;
	return flush == GZIP_FINISH ? self->z.internal_state.state == ZSTATE_END
				    : !self->z.avail_in && self->z.avail_out;
}

const struct gzip_packer packer_isal = { isal_open, isal_write, isal_close };
#endif
