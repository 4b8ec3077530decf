/* Owns undoing content codings: the chain a response's Content-Encoding names, with the caps that stop bombs.
 * Must not know: which library undoes one (codec.h), where bytes come from or go.
 * Invariant: output does not depend on how input was cut; a stream that stopped early is never taken for complete; no layer of the chain
 * unpacks to more of its own input than the limits say, and no call works for longer than a turn of the loop may take. */
#ifndef UTFEED_PROXY_CODING_CONTENT_CODING_H
#define UTFEED_PROXY_CODING_CONTENT_CODING_H

#include "proxy/http/http_msg.h"

enum { STAGE_DECODE_LAYERS = 2 };

/* What an upstream request says it accepts. */
#define STAGE_DECODE_ACCEPT "gzip, deflate, br, zstd"

/* Of each layer, and of the chain. */
struct stage_decode_limits {
	uint64_t ratio, ratio_after;   /* more than ratio times the input, once past ratio_after bytes of output */
	uint64_t max;                  /* of output; 0: none */
};

enum stage_decode_coding { CODING_NONE, CODING_KNOWN, CODING_UNKNOWN };
/* What the message's Content-Encoding is to us. */
enum stage_decode_coding stage_decode_coding(const struct http_msg *);

/* The codings a client said it accepts, of those we know. */
struct stage_decode_codings { unsigned accepted; };
struct stage_decode_codings stage_decode_accepts(const struct http_msg *request);
/* Whether it accepts every coding that the response has. */
bool stage_decode_accepted(const struct http_msg *response, const struct stage_decode_codings *client);

enum stage_decode_result {
	DECODE_MORE,           /* input used up */
	DECODE_ROOM,           /* output full: call again, with what is left of the input */
	DECODE_PAUSE,          /* worked long enough: likewise, but let others have their turn before */
	DECODE_DAMAGED,
	DECODE_TOO_LARGE,
	DECODE_NO_MEMORY
};

struct stage_decode;
/* For CODING_KNOWN messages. NULL: out of memory. */
struct stage_decode *stage_decode_new(const struct http_msg *, const struct stage_decode_limits *);
void stage_decode_free(struct stage_decode **);
enum stage_decode_result stage_decode_run(struct stage_decode *, const uint8_t **in, size_t *in_len, uint8_t *out, size_t cap,
    size_t *written);
/* At the end of the body: was the coded stream complete? An empty body is. */
bool stage_decode_complete(const struct stage_decode *);
/* At the end of an incomplete one: did what came announce more than limits.ratio allows it to unpack to? */
bool stage_decode_withheld(const struct stage_decode *);

#endif
