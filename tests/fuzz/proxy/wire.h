/* Owns reading what goes over a connection as a sequence of messages, by llhttp with every lenient flag off and nothing of utfeed's own
 * parser. Must not know: what the messages mean.
 * Invariant: a message's fields stand there from its head on, its body when it has ended. */
#ifndef UTFEED_TESTS_FUZZ_WIRE_H
#define UTFEED_TESTS_FUZZ_WIRE_H

#include <llhttp.h>
#include <stdbool.h>

#include "proxy/base/text.h"

struct wire_field { size_t name, value; };     /* of the message's texts, each terminated */

enum { WIRE_FIELDS_MAX = 128 };

struct message {
	struct text texts;
	struct wire_field fields[WIRE_FIELDS_MAX];
	size_t n_fields;
	size_t method, target;         /* likewise; of a request */
	int status;                    /* of a response */
	bool ended, until_close;       /* its body came whole; nothing but the connection's end ends it */
	struct text body;
};

struct wire;

struct wire_hooks {
	void (*head)(void *arg, struct wire *, struct message *);      /* a response: w->no_body may be set */
	void (*end)(void *arg, struct wire *, struct message *);       /* whole, or cut: m->ended */
	void *arg;
};

struct wire {
	llhttp_t parser;
	struct wire_hooks hooks;
	struct message now;
	bool in_field;                 /* a name or value is being read */
	bool in_message, headed;       /* a message has begun and not ended; its head was whole */
	bool no_body;                  /* the response to a HEAD */
	bool tunnel;                   /* what comes is no HTTP any more */
	const char *wrong;             /* NULL: well-formed so far */
	char room[64];
};

void wire_init(struct wire *, bool requests, const struct wire_hooks *);
void wire_free(struct wire *);
void wire_read(struct wire *, const char *, size_t);
/* Nothing more comes; reset: not in order. */
void wire_close(struct wire *, bool reset);

const char *message_text(const struct message *, size_t at);
/* Where there are several their values with ", " between; "": none. Of the caller's room. */
const char *message_field(const struct message *, const char *name, char *room, size_t cap);
size_t message_count(const struct message *, const char *name);

#endif
