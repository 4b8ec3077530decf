/* Owns the interface of the decoders of content codings, and the list of them. Each decoder has a file of its own,
 * which alone includes the header of its library. Must not know: HTTP messages, limits (content_coding). */
#ifndef UTFEED_PROXY_CODING_CODEC_H
#define UTFEED_PROXY_CODING_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum codec_result {
	CODEC_MORE,            /* All input used, or no output room left. */
	CODEC_END,             /* The coded stream has ended properly; input left over is not part of it. */
	CODEC_BAD,             /* The input is not of this coding, or damaged. */
	CODEC_CROWDED,         /* Other decoders have the memory that it needs (decoding_memory.h). */
	CODEC_NO_MEMORY
};

struct codec_limits {
	/* how many bytes of output a byte of input may come to, for decoders that decode more than they return */
	uint64_t ratio;
	uint64_t memory;       /* the most that the windows of all decoders may take together */
};

struct codec {
	/* the content coding and its aliases (RFC 9110 section 8.4.1); NULL-terminated */
	const char *names[3];
	/* NULL: out of memory */
	void *(*open)(const struct codec_limits *);
	/* Advances *in and *in_len by the bytes used, writes at most cap bytes, sets *written. A call does what takes
	 * about a millisecond at most, and may leave the rest of the input. */
	enum codec_result (*run)(void *state, const uint8_t **in, size_t *in_len, uint8_t *out, size_t cap,
	    size_t *written);
	void (*close)(void *state);
	/* Whether output is held back until enough input has come to allow it under ratio; NULL: it never is. */
	bool (*withholds)(const void *state);
	/* Whether it has input of its own to go on with, so that it is to be called though there is no other; NULL: it
	 * never has. */
	bool (*goes_on)(const void *state);
};

extern const struct codec codec_gzip, codec_deflate, codec_brotli, codec_zstd;

#endif
