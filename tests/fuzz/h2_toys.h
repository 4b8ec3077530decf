/* Owns what the fuzz targets of both sides of HTTP/2 share. Toys own streams and write messages. The peer at the far end of h2_world.h
 * sends what the steps say and judges the frames that it hears. Must not know: which side the session is.
 * Invariants: what waits to be written is bounded. The output is frames. A stream ends by END_STREAM only if its message was written
 * whole, and has each byte of the body once. */
#ifndef UTFEED_TESTS_FUZZ_H2_TOYS_H
#define UTFEED_TESTS_FUZZ_H2_TOYS_H

#include "tests/unit/h2_world.h"

enum { TOYS = 256, SENT = 1 << 16, STEPS = 400 };

/* What a stream's owner does when it may; the act of those that come is set beforehand. */
enum { READS_ALL, READS_LITTLE, READS_NOTHING };

/* Head and foot stand around a body; a body of chunks has a line before it and one behind it. */
struct message {
	const char *head;
	size_t body;
	const char *foot;
	size_t told;                   /* what the head says of the body: it is whole if that is the same; SIZE_MAX: never */
	bool by_close;
};

struct toy {
	struct conn *conn;             /* NULL: closed */
	int32_t id;
	uint8_t reads;
	bool writes, heads, failed;    /* heads: the head is all that is written */
	const struct message *message;
	size_t written, body, got;     /* of the message; of its body, if it is whole; of that, in frames */
	bool whole, ended, heard;      /* heard: a head of it came */
};

extern struct owner {
	struct toy toys[TOYS];
	size_t n_toys;
	uint8_t reads, message;        /* of the streams that come */
	bool writes, closes;
} owner;

extern struct peer {
	bool by_socket;
	uint8_t sent[SENT];            /* its frames that were not fed yet */
	size_t n_sent;
	uint8_t head[H2_FRAME_HEAD_BYTES];
	size_t head_len, skip;         /* of the frame that it reads; bytes of others that come before it */
	/* hears of each frame that was put, if it is not NULL */
	void (*noted)(uint8_t type, uint8_t flags, uint32_t id, size_t len);
	bool crafted;                  /* bytes were sent, or lost, that put_frame() knows nothing of */
} peer;

void require(bool holds);

void toy_write(struct toy *, size_t max);
void toy_want(struct toy *);
/* Notes whether its bytes so far are a whole message, whose end is known. */
void toy_note_whole(struct toy *, bool closed);
void toy_close(struct toy *, bool abort);

void put(const void *bytes, size_t len);
void put_frame(uint8_t type, uint8_t flags, uint32_t id, const void *payload, size_t len);
void turn(size_t turns);
/* Hands the peer's bytes over, in pieces of that size. */
void deliver(size_t piece);
/* Nothing but frames comes, and they are what the streams' owners wrote. */
void peer_read(size_t max);

/* Steps of the peer: an opcode's two bytes of argument. */
void step_data(uint8_t a, uint8_t b);
void step_window(uint8_t a, uint8_t b);
void step_settings(uint8_t a, uint8_t b);
void step_frame(uint8_t a, uint8_t b);         /* any frame: its type, its flags, and four bytes */
void step_flood(uint8_t a, uint8_t b);
void step_byte(uint8_t a, uint8_t b);
void step_deliver(uint8_t a, uint8_t b);
void step_turn(uint8_t a, uint8_t b);
void step_peer(uint8_t a, uint8_t b);

#endif
