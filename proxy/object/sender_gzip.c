/* Bodies as gzip; see sender_gzip.h. */
#include "proxy/object/sender_gzip.h"

#include <assert.h>
#include <stdlib.h>

#include "proxy/coding/codec.h"

enum { GZIP_OUT_BYTES = 16 * 1024, GZIP_IOV = 8 };

struct sender_gzip {
	struct gzip_writer *writer;
	bool dirty;                    /* the compressor may hold input that is not in out yet */
	bool finished;
	size_t at, len;
	uint8_t out[GZIP_OUT_BYTES];
};

struct sender_gzip *sender_gzip_new(void)
{
	struct sender_gzip *g = malloc(sizeof *g);

	if (!g)
		return NULL;
	g->dirty = g->finished = false;
	g->at = g->len = 0;
	if (!(g->writer = gzip_writer_new()))
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

/* Compresses the bytes that the reader has, as far as out has room. */
static void gzip_take(struct sender_gzip *g, struct object_reader *r)
{
	struct iovec iov[GZIP_IOV];
	size_t bytes;
	int n;

	while (g->len < sizeof g->out && (n = object_peek(r, iov, GZIP_IOV, SIZE_MAX, &bytes))) {
		size_t used = 0;

		for (int i = 0; i < n && g->len < sizeof g->out; i++) {
			const uint8_t *at = iov[i].iov_base;
			size_t left = iov[i].iov_len;

			gzip_step(g, &at, &left, GZIP_MORE);
			used += iov[i].iov_len - left;
		}
		object_consume(r, used);
		g->dirty |= used != 0;
	}
}

struct iovec sender_gzip_peek(struct sender_gzip *g, struct object_reader *r)
{
	const uint8_t *none = NULL;
	bool done = object_phase(r->object) == OBJECT_DONE;        /* read before the bytes are taken */
	size_t no_len = 0;

	if (g->at == g->len && !object_is_cut(r)) {
		g->at = g->len = 0;
		gzip_take(g, r);
		if (g->len < sizeof g->out && done)
			g->finished = g->finished || gzip_step(g, &none, &no_len, GZIP_FINISH);
		else if (g->len < sizeof g->out && g->dirty)
			g->dirty = !gzip_step(g, &none, &no_len, GZIP_FLUSH);
	}
	return (struct iovec){ g->out + g->at, g->len - g->at };
}

void sender_gzip_consume(struct sender_gzip *g, size_t bytes)
{
	g->at += bytes;
	assert(g->at <= g->len);
}

bool sender_gzip_ended(const struct sender_gzip *g)
{
	return g->finished && g->at == g->len;
}
