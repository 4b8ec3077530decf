/* Owns undoing content codings: the chain that a response's Content-Encoding names, with the limits that stop bombs.
 * Must not know: which library undoes a coding (codec.h), where bytes come from or go.
 * Invariants: the output does not depend on how the input was cut. A stream that stopped early is never taken for
 * complete. No layer produces more output from its input than the limits allow. A call takes a few milliseconds at
 * most. */
#ifndef UTFEED_PROXY_CODING_CONTENT_CODING_H
#define UTFEED_PROXY_CODING_CONTENT_CODING_H

#include "proxy/http/http_msg.h"

enum { CONTENT_CODING_LAYERS = 2 };

/* Accept-Encoding of requests to origins. */
#define CONTENT_CODING_ACCEPT "gzip, deflate, br, zstd"

/* A short body may unpack to any number of times its size: it cannot take much memory. */
enum { CONTENT_CODING_RATIO_AFTER = 1 << 20 };

/* Limits for each layer, and for the chain as a whole. */
struct content_coding_limits {
	uint64_t ratio, ratio_after;   /* output may be ratio times the input; checked past ratio_after bytes of it */
	uint64_t max;                  /* bytes of output; 0: no limit */
	uint64_t memory;               /* the most that the windows of all decoders may take together */
};

enum content_coding_kind { CODING_NONE, CODING_KNOWN, CODING_UNKNOWN };
/* Whether the message's Content-Encoding names no coding, codings we know, or others. */
enum content_coding_kind content_coding_kind(const struct http_msg *);

/* Whether it names gzip and nothing else. */
bool content_coding_is_gzip(const struct http_msg *);
/* Whether so much output is allowed for so much input. */
bool content_coding_allows(const struct content_coding_limits *, uint64_t in, uint64_t out);

/* The codings that a client accepts, of those we know. */
struct content_coding_codings { unsigned accepted; };
struct content_coding_codings content_coding_accepts(const struct http_msg *request);
/* Whether it accepts gzip, the one coding that is made for clients. */
bool content_coding_takes_gzip(const struct http_msg *request);
/* Whether the client accepts every coding that the response has. */
bool content_coding_accepted(const struct http_msg *response, const struct content_coding_codings *client);

enum content_coding_result {
	DECODE_MORE,           /* the input is used up */
	DECODE_ROOM,           /* the output is full: call again with the rest of the input */
	DECODE_PAUSE,          /* likewise; this call has worked for a while, and others may come first */
	DECODE_DAMAGED,
	DECODE_TOO_LARGE,
	DECODE_CROWDED,        /* other decoders have the memory that this one needs */
	DECODE_NO_MEMORY
};

struct content_coding;
/* For CODING_KNOWN messages. NULL: out of memory. */
struct content_coding *content_coding_new(const struct http_msg *, const struct content_coding_limits *);
/* For a body that is gzip though its message names no coding. Likewise. */
struct content_coding *content_coding_gzip(const struct content_coding_limits *);
void content_coding_free(struct content_coding **);
enum content_coding_result content_coding_run(struct content_coding *, const uint8_t **in, size_t *in_len, uint8_t *out,
    size_t cap,
    size_t *written);
/* At the end of the body: whether the coded stream is complete. An empty body is. */
bool content_coding_complete(const struct content_coding *);
/* At the end of an incomplete stream: whether it announced more output than limits.ratio allows for its input. */
bool content_coding_withheld(const struct content_coding *);

#endif
