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

struct sender_gzip *sender_gzip_new(enum gzip_effort effort)
{
	struct sender_gzip *g = malloc(sizeof *g);

	if (!g)
		return NULL;
	g->dirty = g->finished = g->amid = false;
	g->at = g->len = 0;
	if (!(g->writer = gzip_writer_new(effort)))
		sender_gzip_free(&g);
	return g;
}

void sender_gzip_free(struct sender_gzip **gp)
{
	if (!*gp)
		return;
	gzip_writer_free(&(*gp)->writer);
	free(*gp);
	*gp = NULL;
}

static bool gzip_step(struct sender_gzip *g, const uint8_t **in, size_t *in_len, enum gzip_flush flush)
{
	size_t n;
	bool all = gzip_write(g->writer, in, in_len, flush, g->out + g->len, sizeof g->out - g->len, &n);

	g->len += n;
	return all;
}

/* Compresses the bytes that the reader has, as far as out has room, and no more than a step. True: that was all the
 * reader has. */
static bool gzip_take(struct sender_gzip *g, struct object_reader *r)
{
	size_t bytes, left = GZIP_STEP_BYTES;
	struct iovec iov[GZIP_IOV];
	int n;

	while (g->len < sizeof g->out && left) {
		size_t used = 0;

		if (!(n = object_peek(r, iov, GZIP_IOV, left, &bytes)))
			return true;
		for (int i = 0; i < n && g->len < sizeof g->out; i++) {
			const uint8_t *at = iov[i].iov_base;
			size_t rest = iov[i].iov_len;

			gzip_step(g, &at, &rest, GZIP_MORE);
			used += iov[i].iov_len - rest;
		}
		object_consume(r, used);
		g->dirty |= used != 0;
		left -= used;
	}
	return false;
}

/* Goes on filling out, until it is full or has all there is at the moment. */
static void gzip_fill(struct sender_gzip *g, struct object_reader *r)
{
	const uint8_t *none = NULL;
	bool done = object_phase(r->object) == OBJECT_DONE;        /* read before the bytes are taken */
	bool all = gzip_take(g, r);
	size_t no_len = 0;

	g->amid = !all && g->len < sizeof g->out;
	if (!all || g->len == sizeof g->out)
		return;
	if (done)
		g->finished = g->finished || gzip_step(g, &none, &no_len, GZIP_FINISH);
	else if (g->dirty)
		g->dirty = !gzip_step(g, &none, &no_len, GZIP_FLUSH);
}

struct iovec sender_gzip_peek(struct sender_gzip *g, struct object_reader *r)
{
	if (!g->amid && g->at == g->len)
		g->at = g->len = 0;
	if ((!g->len || g->amid) && !object_is_cut(r))
		gzip_fill(g, r);
	return (struct iovec){ g->out + g->at, g->amid ? 0 : g->len - g->at };
}

void sender_gzip_consume(struct sender_gzip *g, size_t bytes)
{
	g->at += bytes;
	assert(g->at <= g->len);
}

bool sender_gzip_is_amid(const struct sender_gzip *g)
{
	return g->amid;
}

bool sender_gzip_ended(const struct sender_gzip *g)
{
	return g->finished && g->at == g->len;
}
