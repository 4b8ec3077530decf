/* Owns the other ends of a fuzzed worker's connections: clients and origins. Must not know: what they are made to say.
 * Invariants: bytes to a client are well-formed responses, in order, never more than it asked for and none after the last was announced;
 * bytes to an origin are well-formed requests, one at a time; no connection is used again on which something came unasked. */
#ifndef UTFEED_TESTS_FUZZ_PEERS_H
#define UTFEED_TESTS_FUZZ_PEERS_H

#include "judge.h"
#include "wire.h"

enum { PEERS_CLIENTS = 4, PEERS_ORIGINS = 24, PEERS_PIPELINED = 64 };

/* What one says that its connection has not taken, or that is held back. */
struct speech {
	struct text bytes;
	size_t at, until;              /* said; may be said now */
	unsigned mark;                 /* the response that is whole when so much is said; 0: none */
	size_t whole_at;
	bool final;                    /* it is a final response, or ends with one */
	bool close;                    /* its end follows */
};

struct peer {
	int fd, theirs;                /* -1: not open; the worker's end, to know it by */
	bool reset, over;              /* the worker reset it; nothing comes from it any more */
	struct wire in;
	struct speech speech;
	/* A client's: */
	struct wire said;              /* its own requests */
	const struct asked *asked[PEERS_PIPELINED];
	size_t n_asked, n_answered;
	bool asleep;                   /* it does not read */
	bool last;                     /* the response that ends the connection has come */
	/* An origin's: */
	const struct asked *got;       /* the latest request; NULL: answered, or none yet */
	unsigned number;               /* of its latest response */
	uint16_t port;
	size_t n_got;
	bool unread;                   /* got is not whole yet */
	bool unasked;                  /* it said what nobody asked for */
	bool wild;                     /* it said bytes of which nobody knows what they are */
};

struct peers {
	struct judge *judge;
	struct peer clients[PEERS_CLIENTS], origins[PEERS_ORIGINS];
	size_t n_origins;              /* the latest ones of all that were connected to are kept */
	void (*on_request)(void *arg, struct peer *origin);            /* it has a request's head */
	void *arg;
};

void peers_init(struct peers *, struct judge *);
/* Reads what has come and says what may be said. False: there was nothing. */
bool peers_turn(struct peers *);
void peers_connected(struct peers *, int fd, int theirs, uint16_t port);
void peers_reset(struct peers *, int theirs);

/* Opens it where it is not open; then fd is the worker's end, else -1. */
int peer_open(struct peers *, struct peer *client, bool small);
/* Behind what waits to be said. */
void peer_say(struct peer *, const char *, size_t);
void peer_close(struct peers *, struct peer *);
void peer_end(struct peer *);          /* of its own bytes only */
/* Whether any connection is open. */
bool peers_are_left(const struct peers *);
void peers_free(struct peers *);

#endif
