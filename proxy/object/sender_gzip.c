/* Bodies as gzip; see sender_gzip.h. */
#include "proxy/object/sender_gzip.h"

#include <assert.h>
#include <stdlib.h>

/* GZIP_STEP_BYTES are compressed in a fraction of a millisecond. */
enum { GZIP_OUT_BYTES = 16 * 1024, GZIP_STEP_BYTES = 16 * 1024, GZIP_IOV = 8 };

struct sender_gzip {
	struct gzip_writer *writer;
	bool dirty;                    /* the compressor may hold input that is not in out yet */
	bool finished;
	bool amid;                     /* out is being filled: the latest step ended before the reader's bytes did */
	size_t at, len;
	uint8_t out[GZIP_OUT_BYTES];
};

struct sender_gzip *sender_gzip_new(void)
{
	struct sender_gzip *gzip = malloc(sizeof *gzip);

	if (!gzip)
		return NULL;
	gzip->dirty = gzip->finished = gzip->amid = false;
	gzip->at = gzip->len = 0;
	if (!(gzip->writer = gzip_writer_new(GZIP_FAST)))
		sender_gzip_free(&gzip);
	return gzip;
}

void sender_gzip_free(struct sender_gzip **gp)
{
	if (!*gp)
		return;
	gzip_writer_free(&(*gp)->writer);
	free(*gp);
	*gp = NULL;
}

static bool gzip_step(struct sender_gzip *gzip, const uint8_t **in, size_t *in_len, enum gzip_flush flush)
{
	size_t n;
	bool all = gzip_write(gzip->writer, in, in_len, flush, gzip->out + gzip->len, sizeof gzip->out - gzip->len, &n);

	gzip->len += n;
	return all;
}

/* Compresses the bytes that the reader has, as far as out has room, and no more than a step. True: that was all the
 * reader has. */
static bool gzip_take(struct sender_gzip *gzip, struct object_reader *r)
{
	size_t bytes, left = GZIP_STEP_BYTES;
	struct iovec iov[GZIP_IOV];
	int n;

	while (gzip->len < sizeof gzip->out && left) {
		size_t used = 0;

		if (!(n = object_peek(r, iov, GZIP_IOV, left, &bytes)))
			return true;
		for (int i = 0; i < n && gzip->len < sizeof gzip->out; i++) {
			const uint8_t *at = iov[i].iov_base;
			size_t rest = iov[i].iov_len;

			gzip_step(gzip, &at, &rest, GZIP_MORE);
			used += iov[i].iov_len - rest;
		}
		object_consume(r, used);
		gzip->dirty |= used != 0;
		left -= used;
	}
	return false;
}

/* Goes on filling out, until it is full or has all there is at the moment. */
static void gzip_fill(struct sender_gzip *gzip, struct object_reader *r)
{
	const uint8_t *none = NULL;
	bool done = object_phase(r->object) == OBJECT_DONE;        /* read before the bytes are taken */
	bool all = gzip_take(gzip, r);
	size_t no_len = 0;

	gzip->amid = !all && gzip->len < sizeof gzip->out;
	if (!all || gzip->len == sizeof gzip->out)
		return;
	if (done)
		gzip->finished = gzip->finished || gzip_step(gzip, &none, &no_len, GZIP_FINISH);
	else if (gzip->dirty)
		gzip->dirty = !gzip_step(gzip, &none, &no_len, GZIP_FLUSH);
}

struct iovec sender_gzip_peek(struct sender_gzip *gzip, struct object_reader *r)
{
	if (!gzip->amid && gzip->at == gzip->len)
		gzip->at = gzip->len = 0;
	if ((!gzip->len || gzip->amid) && !object_is_cut(r))
		gzip_fill(gzip, r);
	return (struct iovec){ gzip->out + gzip->at, gzip->amid ? 0 : gzip->len - gzip->at };
}

void sender_gzip_consume(struct sender_gzip *gzip, size_t bytes)
{
	gzip->at += bytes;
	assert(gzip->at <= gzip->len);
}

bool sender_gzip_is_amid(const struct sender_gzip *gzip)
{
	return gzip->amid;
}

bool sender_gzip_ended(const struct sender_gzip *gzip)
{
	return gzip->finished && gzip->at == gzip->len;
}
