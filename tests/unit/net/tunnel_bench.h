/* Owns the bench of test_tunnel.c: a tunnel between two far ends, turns of the loop until something has happened, and how an end is judged.
 * Must not know: the cases. */
#ifndef UTFEED_TESTS_UNIT_NET_TUNNEL_BENCH_H
#define UTFEED_TESTS_UNIT_NET_TUNNEL_BENCH_H

#include "proxy/net/conn.h"
#include "proxy/net/loop.h"
#include "proxy/net/tunnel.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum {
	TURNS_MAX = 2000000,           /* After so many turns the test gives up. */
	TURNS_QUIET = 1000,            /* After so many turns without a byte both ends are silent. */
	/* The buffers of sockets; the kernel doubles them. They hold more than one read of the tunnel, and less for a far end. */
	KERNEL_SENDS = 128 * 1024,
	KERNEL_RECEIVES = 128 * 1024,
	KERNEL_RECEIVES_FAR = 32 * 1024,
	PIECE = 16 * 1024,             /* A far end writes and reads so much in a turn. */
	LAST_WORDS = 100 * 1024,       /* More than the kernel receives for a deaf far end, less than it takes from a sender. */
	MANY = 1 << 20,                /* More than the tunnel and the sockets on one way hold. */
	FLOOD = 4 * MANY,
	IDLE_MS = 20, MINUTE_MS = 60 * 1000, HOUR_MS = 60 * MINUTE_MS
};

/* The client or the origin: the end of its connection that the test has. It sends a stream whose bytes follow from their places
 * (stream_byte()). `early` and `head` are the beginnings of the two streams, so that each is right only in its place. */
struct far_end {
	int fd;                        /* -1: It has reset its connection. */
	uint64_t said, says;           /* Bytes of its stream: sent so far, and to be sent in all. */
	bool ends, ended;              /* It is to shut down its side after them, and has done so. */
	bool deaf;                     /* It reads nothing. */
	uint64_t came;                 /* Bytes of the other end's stream that it has read. */
	bool differs, eof;
	int error;
};

struct scene {
	size_t early, head;
	bool client_ended;
	uint64_t client_says, origin_says;     /* behind those two */
	bool client_ends, origin_ends, client_deaf, origin_deaf;
	uint64_t idle_ms;                      /* 0: an hour */
};

#define BOTH_SAY_MUCH .client_says = FLOOD, .origin_says = FLOOD
#define BOTH_END .client_ends = true, .origin_ends = true
#define BOTH_DEAF .client_deaf = true, .origin_deaf = true

/* A tunnel between two far ends, and what became of it. */
struct bench {
	struct loop *loop;
	struct conn *client;                   /* lent to the tunnel */
	struct tunnel *tunnel;
	int fds[TUNNEL_SIDES];                 /* of the tunnel's connections */
	struct far_end far[TUNNEL_SIDES];
	uint64_t opening[TUNNEL_SIDES];        /* bytes of `early` and `head` */
	bool keeps;                            /* the tunnel outlives its end, else it goes within end() */
	unsigned ended;
	enum tunnel_end end;
	uint64_t bytes[TUNNEL_SIDES];          /* as tunnel_bytes() had them then */
	struct task turn;
	bool (*until)(const struct bench *);
	unsigned turns, quiet;                 /* quiet: those since a far end said or heard something ... */
	unsigned writes_before;                /* ... and the tunnel's writes until then */
	struct timer ticker;
	unsigned ticks, ticks_before_end;
};

/* What the linker puts in the place of others (tests/include.am): a clock to set forward, memory to refuse, and writes to count. */
extern unsigned refused;                       /* counts down to the request that is refused; 0: none is */
extern unsigned writes;

enum tunnel_side other(enum tunnel_side side);

/* Begins a tunnel. refuse: which of its requests for memory is refused; 0: none is. */
void bench_open(struct bench *b, const struct scene *s, unsigned refuse);
void bench_new(struct bench *b, const struct scene *s);
void bench_free(struct bench *b);
void let_go(struct bench *b);

/* Takes turns of the loop. False: it never happened. */
bool run(struct bench *b, bool (*until)(const struct bench *));
/* So long passes at once. What that makes due has run when the ticker has run twice. */
bool run_for(struct bench *b, unsigned ms);

/* What turns are taken for. */
/* Says nothing for certain: what is asserted behind it holds at any time. */
bool is_quiet(const struct bench *b);
bool has_ended(const struct bench *b);
bool is_over(const struct bench *b);
bool origin_is_over(const struct bench *b);
bool client_is_over(const struct bench *b);
bool have_all_but_the_deaf(const struct bench *b);
/* Both have heard all that there was, and of each end. */
bool is_settled(const struct bench *b);

/* The far ends. */
void far_reset(struct bench *b, enum tunnel_side side);
bool far_is_over(const struct far_end *f);
/* A read says ECONNRESET; of a reset behind an orderly end the socket says EPIPE. */
bool far_was_reset(const struct far_end *f);
bool far_has_all(const struct bench *b, enum tunnel_side side);

/* The events of a connection: no bits asks for an error, which a reset is. */
bool comes_to_be(struct bench *b, enum tunnel_side side, short events);
/* The client's connection is its owner's again: it says one more byte of the origin's stream. */
bool client_is_left(struct bench *b);
/* The one orderly end: all came, each heard of the other's end, nobody of a reset, and what was said was counted. */
void judge_done(struct bench *b, const char *name);
/* Any other end, of which the origin hears as a reset. */
void judge_cut(struct bench *b, enum tunnel_end end, const char *name);

#endif
