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
	struct isal_state *s = heap_take(HEAP_TRANSIT, sizeof *s);

	if (!s)
		return NULL;
	isal_deflate_init(&s->z);
	s->z.level = 1;
	s->z.level_buf = s->symbols;
	s->z.level_buf_size = sizeof s->symbols;
	s->z.gzip_flag = IGZIP_GZIP;
	return s;
}

static void isal_close(void *state)
{
	heap_give(state);
}

static bool isal_write(void *state, const uint8_t **in, size_t *in_len, enum gzip_flush flush, uint8_t *out, size_t cap,
    size_t *written)
{
	static const uint16_t modes[] = { [GZIP_MORE] = NO_FLUSH, [GZIP_FLUSH] = SYNC_FLUSH, [GZIP_FINISH] = NO_FLUSH };
	struct isal_state *s = state;
	int r;

	assert(*in_len <= UINT32_MAX && cap <= UINT32_MAX);
	s->z.next_in = (uint8_t *)(uintptr_t)*in;      /* which is not written to */
	s->z.avail_in = (uint32_t)*in_len;
	s->z.next_out = out;
	s->z.avail_out = (uint32_t)cap;
	s->z.flush = modes[flush];
	s->z.end_of_stream = flush == GZIP_FINISH;
	r = isal_deflate(&s->z);
	assert(r == COMP_OK);
	(void)r;
	*in = s->z.next_in;
	*in_len = s->z.avail_in;
	*written = cap - s->z.avail_out;
	return flush == GZIP_FINISH ? s->z.internal_state.state == ZSTATE_END : !s->z.avail_in && s->z.avail_out;
}

const struct packer packer_isal = { isal_open, isal_write, isal_close };
#endif
