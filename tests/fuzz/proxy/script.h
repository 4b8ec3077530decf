/* Owns the language of the inputs: what a byte of them makes clients and origins say. Must not know: how that is judged.
 * Invariant: every input means something, and the same bytes mean the same. A few bytes make a well-formed message, so that changing one
 * of them makes another. */
#ifndef UTFEED_TESTS_FUZZ_SCRIPT_H
#define UTFEED_TESTS_FUZZ_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include "judge.h"
#include "proxy/base/text.h"

struct script { const uint8_t *at, *end; };

/* What comes next; 0 behind the end. */
uint8_t script_take(struct script *);
/* Up to most bytes, as many as the next one says; *len of them. As they are, but for the words that only the harness may say. */
const char *script_take_bytes(struct script *, size_t most, size_t *len);

/* A request. */
void script_request(struct script *, struct text *);
/* One that purges. */
void script_purge(struct script *, struct text *);

/* A response to a request: what is known of it before its number is. */
struct reply {
	struct given given;
	uint8_t control, fields, body, type, framing, cut, place;
	bool interim;                  /* a 103 goes before it */
	bool until_close;
	bool short_of;                 /* it says that more comes than does */
	bool surplus;                  /* another response follows that nobody asked for */
	char extra[64];                /* a field line of the input's own */
};

void script_reply(struct script *, struct reply *);
/* The same bytes for each request that has no other: given.to is set, then its number is known. */
void reply_about(struct reply *, const struct asked *);
/* Returns how much of it is the response; the rest nobody asked for. */
size_t reply_write(const struct reply *, unsigned number, struct text *);
/* So many bytes of it are said now. */
size_t reply_cut(const struct reply *, size_t len);
/* A response that answers nothing. */
void script_forge(struct text *);

#endif
