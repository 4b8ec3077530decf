/* Owns the shape every content coding's decoder has, and the list of them. Each lives in its own file, the only one
 * that includes its library's header. Must not know: HTTP messages, limits (content_coding). */
#ifndef UTFEED_PROXY_CODING_CODEC_H
#define UTFEED_PROXY_CODING_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum codec_result {
	CODEC_MORE,            /* all input used, or no output room left */
	CODEC_END,             /* the coded stream ended properly; input left over is not part of it */
	CODEC_BAD,             /* not this coding, or damaged */
	CODEC_NO_MEMORY
};

struct codec {
	/* the content coding and its aliases (RFC 9110 section 8.4.1); NULL-terminated */
	const char *names[3];
	/* NULL: out of memory. ratio: what output per byte of input is tolerated in the end, for decoders that work
	 * ahead of it. */
	void *(*open)(uint64_t ratio);
	/* Advances *in and *in_len by what was used, writes at most cap bytes, sets *written. */
	enum codec_result (*run)(void *state, const uint8_t **in, size_t *in_len, uint8_t *out, size_t cap,
	    size_t *written);
	void (*close)(void *state);
	/* Whether output waits for input that makes up for it under ratio; NULL: never. */
	bool (*withholds)(const void *state);
};

extern const struct codec codec_gzip, codec_deflate, codec_brotli, codec_zstd;

/* The other way round, for clients: gzip only. */
struct gzip_writer;
enum gzip_flush {
	GZIP_MORE,             /* more follows: output may wait */
	GZIP_FLUSH,            /* all input so far becomes decodable (at a byte boundary, some bytes of cost) */
	GZIP_FINISH            /* the end */
};
struct gzip_writer *gzip_writer_new(void);     /* NULL: out of memory */
void gzip_writer_free(struct gzip_writer **);
/* Advances *in and *in_len. True: all that was asked for is out; false: out is full, call again with the same flush. */
bool gzip_write(struct gzip_writer *, const uint8_t **in, size_t *in_len, enum gzip_flush, uint8_t *out, size_t cap,
    size_t *written);

#endif
