/* Owns undoing content codings: the chain a response's Content-Encoding names, with the caps that stop bombs.
 * Must not know: which library undoes one (codec.h), where bytes come from or go.
 * Invariant: output does not depend on how input was cut; a stream that stopped early is never taken for complete; no
 * layer of the chain unpacks to more of its own input than the limits say, and no call works for longer than a turn of
 * the loop may take. */
#ifndef UTFEED_PROXY_CODING_CONTENT_CODING_H
#define UTFEED_PROXY_CODING_CONTENT_CODING_H

#include "proxy/http/http_msg.h"

enum { CONTENT_CODING_LAYERS = 2 };

/* What an upstream request says it accepts. */
#define CONTENT_CODING_ACCEPT "gzip, deflate, br, zstd"

/* Of each layer, and of the chain. */
struct content_coding_limits {
	uint64_t ratio, ratio_after;   /* more than ratio times the input, once past ratio_after bytes of output */
	uint64_t max;                  /* of output; 0: none */
};

enum content_coding_kind { CODING_NONE, CODING_KNOWN, CODING_UNKNOWN };
/* What the message's Content-Encoding is to us. */
enum content_coding_kind content_coding_kind(const struct http_msg *);

/* The codings a client said it accepts, of those we know. */
struct content_coding_codings { unsigned accepted; };
struct content_coding_codings content_coding_accepts(const struct http_msg *request);
/* Whether it accepts every coding that the response has. */
bool content_coding_accepted(const struct http_msg *response, const struct content_coding_codings *client);

enum content_coding_result {
	DECODE_MORE,           /* input used up */
	DECODE_ROOM,           /* output full: call again, with what is left of the input */
	DECODE_PAUSE,          /* worked long enough: likewise, but let others have their turn before */
	DECODE_DAMAGED,
	DECODE_TOO_LARGE,
	DECODE_NO_MEMORY
};

struct content_coding;
/* For CODING_KNOWN messages. NULL: out of memory. */
struct content_coding *content_coding_new(const struct http_msg *, const struct content_coding_limits *);
void content_coding_free(struct content_coding **);
enum content_coding_result content_coding_run(struct content_coding *, const uint8_t **in, size_t *in_len, uint8_t *out,
    size_t cap,
    size_t *written);
/* At the end of the body: was the coded stream complete? An empty body is. */
bool content_coding_complete(const struct content_coding *);
/* At the end of an incomplete one: did what came announce more than limits.ratio allows it to unpack to? */
bool content_coding_withheld(const struct content_coding *);

#endif
