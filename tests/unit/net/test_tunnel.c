/* Owns the cases of proxy/net/tunnel.c: what comes out at either end of a tunnel, and how the tunnel ends. Must not know: HTTP, TLS.
 * Invariant: nothing is said about how long anything takes. The loop takes turns until something has happened, and the turns are counted
 * only so that what never happens is a failure and no hanging; that the kernel is slow changes the number of turns and nothing else. */
#include "proxy/net/tunnel.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "proxy/base/container_of.h"
#include "proxy/net/conn.h"
#include "proxy/net/loop.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum {
	TURNS_MAX = 2000000,           /* after which what did not happen never will */
	TURNS_QUIET = 1000,            /* without a byte, after which nobody speaks */
	/* What the kernel is to keep for a socket (it keeps twice as much): more than one read of the tunnel, and little for a far end. */
	KERNEL_SENDS = 128 * 1024,
	KERNEL_RECEIVES = 128 * 1024,
	KERNEL_RECEIVES_FAR = 32 * 1024,
	PIECE = 16 * 1024,             /* what a far end says and hears in a turn */
	LAST_WORDS = 100 * 1024,       /* more than the kernel receives for a far end that is deaf, less than it takes to send */
	MANY = 1 << 20,                /* more than the four sockets on a way keep, and the tunnel between them */
	FLOOD = 4 * MANY,
	IDLE_MS = 20, MINUTE_MS = 60 * 1000, HOUR_MS = 60 * MINUTE_MS
};

/* The client or the origin: the end of its connection that the test has. What it says is a stream whose bytes follow from their places
 * (stream_byte()). `early` and `head` are the beginnings of the two streams, so that each is right only in its place. */
struct far_end {
	int fd;                        /* -1: it has reset its connection */
	uint64_t said, says;           /* how far it got in its stream, and how far it is to get */
	bool ends, ended;              /* then no more comes from it, and it has told so */
	bool deaf;                     /* it reads nothing */
	uint64_t came;                 /* of the other one's stream */
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

/* ---- what the linker puts in place of others (tests/include.am): a clock to set forward, memory to refuse, and writes to count ---- */

int __real_clock_gettime(clockid_t, struct timespec *);
int __wrap_clock_gettime(clockid_t, struct timespec *);
void *__real_malloc(size_t);
void *__wrap_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__wrap_calloc(size_t, size_t);
ssize_t __real_conn_writev(struct conn *, struct iovec *, int n);
ssize_t __wrap_conn_writev(struct conn *, struct iovec *, int n);

static time_t clock_ahead;                     /* seconds */
static unsigned refused;                       /* counts down to the request that is refused; 0: none is */
static unsigned writes;

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	int r = __real_clock_gettime(id, t);

	t->tv_sec += clock_ahead;
	return r;
}

void *__wrap_malloc(size_t len)
{
	return refused && !--refused ? NULL : __real_malloc(len);
}

void *__wrap_calloc(size_t n, size_t len)
{
	return refused && !--refused ? NULL : __real_calloc(n, len);
}

ssize_t __wrap_conn_writev(struct conn *c, struct iovec *iov, int n)
{
	writes++;
	return __real_conn_writev(c, iov, n);
}

/* ---- the two far ends ---- */

static enum tunnel_side other(enum tunnel_side side)
{
	return side == TUNNEL_CLIENT ? TUNNEL_ORIGIN : TUNNEL_CLIENT;
}

static char stream_byte(enum tunnel_side side, uint64_t place)
{
	return (char)((place + ((uint64_t)side << 40)) * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

static bool is_waiting(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

static void far_failed(struct far_end *f, int error)
{
	if (!f->error)
		f->error = error;
}

static bool far_say(struct bench *b, enum tunnel_side side)
{
	struct far_end *f = &b->far[side];
	char piece[PIECE];
	size_t len = f->says - f->said < PIECE ? f->says - f->said : PIECE;
	ssize_t n;

	if (!len && f->ends && !f->ended) {
		f->ended = true;
		shutdown(f->fd, SHUT_WR);
		return true;
	}
	if (!len || f->error)
		return false;
	for (size_t i = 0; i < len; i++)
		piece[i] = stream_byte(side, f->said + i);
	n = send(f->fd, piece, len, MSG_NOSIGNAL);
	if (n > 0)
		f->said += (uint64_t)n;
	else if (!is_waiting(n))
		far_failed(f, errno);
	return n > 0;
}

/* Where the end came, a read tells nothing of a reset behind it. */
static void far_heard_end(struct far_end *f)
{
	socklen_t len = sizeof(int);
	int error = 0;

	f->eof = true;
	far_failed(f, getsockopt(f->fd, SOL_SOCKET, SO_ERROR, &error, &len) ? errno : error);
}

static bool far_hear(struct bench *b, enum tunnel_side side)
{
	struct far_end *f = &b->far[side];
	char piece[PIECE];
	ssize_t n;

	if (f->deaf || f->error)
		return false;
	n = recv(f->fd, piece, sizeof piece, 0);
	for (ssize_t i = 0; i < n; i++)
		f->differs |= piece[i] != stream_byte(other(side), f->came++);
	if (!n)
		far_heard_end(f);
	else if (n < 0 && !is_waiting(n))
		far_failed(f, errno);
	return n > 0;
}

static void far_reset(struct bench *b, enum tunnel_side side)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	struct far_end *f = &b->far[side];

	CU_ASSERT(!setsockopt(f->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset));
	close(f->fd);
	f->fd = -1;
}

static bool far_is_over(const struct far_end *f)
{
	return f->fd < 0 || f->eof || f->error;
}

/* A read says ECONNRESET; of a reset behind an orderly end the socket says EPIPE. */
static bool far_was_reset(const struct far_end *f)
{
	return f->error == (f->eof ? EPIPE : ECONNRESET);
}

static bool far_has_all(const struct bench *b, enum tunnel_side side)
{
	return b->far[side].came == b->far[other(side)].says && !b->far[side].differs;
}

/* ---- turns of the loop ---- */

static unsigned patience = TURNS_MAX;

static void quiet_begins(struct bench *b)
{
	b->quiet = 0;
	b->writes_before = writes;
}

static void on_turn(struct task *t)
{
	struct bench *b = container_of(t, struct bench, turn);
	bool moved = false;

	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++) {
		if (b->far[side].fd < 0)
			continue;
		moved |= far_say(b, side);
		moved |= far_hear(b, side);
	}
	b->quiet++;
	if (moved)
		quiet_begins(b);
	if (b->until(b) || ++b->turns >= patience)
		loop_stop(b->loop);
	else
		loop_defer(b->loop, t);
}

/* Where one thing never happened, whatever else does not happen is not waited for as long. */
static bool run(struct bench *b, bool (*until)(const struct bench *))
{
	b->until = until;
	b->turns = 0;
	quiet_begins(b);
	loop_defer(b->loop, &b->turn);
	CU_ASSERT_EQUAL(loop_run(b->loop), 0);
	if (b->turns < patience)
		return true;
	patience = TURNS_MAX / 8;
	return false;
}

/* Says nothing for certain: what is asserted behind it holds at any time. */
static bool is_quiet(const struct bench *b)
{
	return b->quiet >= TURNS_QUIET;
}

static bool has_ended(const struct bench *b)
{
	return b->ended;
}

static bool is_over(const struct bench *b)
{
	return b->ended && far_is_over(&b->far[TUNNEL_CLIENT]) && far_is_over(&b->far[TUNNEL_ORIGIN]);
}

static bool origin_is_over(const struct bench *b)
{
	return far_is_over(&b->far[TUNNEL_ORIGIN]);
}

static bool client_is_over(const struct bench *b)
{
	return far_is_over(&b->far[TUNNEL_CLIENT]);
}

static bool client_has_all(const struct bench *b)
{
	return far_has_all(b, TUNNEL_CLIENT);
}

static bool have_all_but_the_deaf(const struct bench *b)
{
	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++)
		if (!b->far[side].deaf && !far_has_all(b, side))
			return false;
	return true;
}

/* Both have heard all that there was, and of each end. */
static bool is_settled(const struct bench *b)
{
	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++)
		if (!far_has_all(b, side) || b->far[side].eof != b->far[other(side)].ends)
			return false;
	return true;
}

static bool has_ticked_twice(const struct bench *b)
{
	return b->ticks >= 2;
}

static void on_tick(struct timer *t)
{
	struct bench *b = container_of(t, struct bench, ticker);

	b->ticks++;
	b->ticks_before_end += !b->ended;
	loop_arm(b->loop, t, IDLE_MS);
}

/* So long passes at once. What that makes due has run when the ticker has run twice. */
static bool run_for(struct bench *b, unsigned ms)
{
	clock_ahead += ms / 1000;
	b->ticks = 0;
	return run(b, has_ticked_twice);
}

/* ---- the tunnel between them ---- */

static void on_conn(void *arg, enum conn_event event)
{
	(void)arg, (void)event;
	CU_FAIL("nothing is wanted of the client's connection outside the tunnel");
}

static void let_go(struct bench *b)
{
	tunnel_free(&b->tunnel);
	CU_ASSERT_PTR_NULL(b->tunnel);
	conn_set_owner(b->client, on_conn, NULL);
	conn_want(b->client, false, false);
}

static void on_end(void *arg, enum tunnel_end end)
{
	struct bench *b = arg;

	CU_ASSERT_PTR_NOT_NULL_FATAL(b->tunnel);
	b->ended++;
	b->end = end;
	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++)
		b->bytes[side] = tunnel_bytes(b->tunnel, side);
	if (!b->keeps)
		let_go(b);
}

/* Sockets that keep what was said to them, and no more than the kernel is told to. */
static int narrow_socket(int receive)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), send = KERNEL_SENDS, on = 1;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_FATAL(!setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, sizeof send));
	CU_ASSERT_FATAL(!setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof receive));
	CU_ASSERT_FATAL(!setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
	return fd;
}

/* What accept() returns has the options of the socket that listens. */
static struct conn *connected(struct bench *b, enum tunnel_side side)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof at;
	int listening = narrow_socket(KERNEL_RECEIVES), fd = narrow_socket(KERNEL_RECEIVES_FAR), on = 1;
	struct conn *c;

	CU_ASSERT_FATAL(!bind(listening, (struct sockaddr *)&at, len) && !listen(listening, 1));
	CU_ASSERT_FATAL(!getsockname(listening, (struct sockaddr *)&at, &len) && !connect(fd, (struct sockaddr *)&at, len));
	CU_ASSERT_FATAL(!ioctl(fd, FIONBIO, &on));
	b->far[side].fd = fd;
	CU_ASSERT_FATAL((b->fds[side] = accept4(listening, NULL, NULL, SOCK_NONBLOCK)) >= 0);
	close(listening);
	CU_ASSERT_PTR_NOT_NULL_FATAL(c = conn_new(b->loop, b->fds[side], (struct sockaddr *)&at, len, on_conn, NULL));
	return c;
}

/* The beginning of that side's stream. */
static struct slice opening(const struct bench *b, enum tunnel_side side)
{
	size_t len = b->opening[side];
	char *at = len ? malloc(len) : NULL;

	for (size_t i = 0; i < len; i++)
		at[i] = stream_byte(side, i);
	return (struct slice){ at, len };
}

/* What was to begin the streams goes at once: the tunnel has it. */
static void open_tunnel(struct bench *b, const struct scene *s, struct conn *origin, unsigned refuse)
{
	struct tunnel_settings settings = { .client = b->client, .origin = origin, .head = opening(b, TUNNEL_ORIGIN),
		.early = opening(b, TUNNEL_CLIENT), .client_ended = s->client_ended, .end = on_end, .arg = b,
		.idle_timeout_ms = s->idle_ms ? s->idle_ms : HOUR_MS };

	refused = refuse;
	b->tunnel = tunnel_new(b->loop, &settings);
	refused = 0;
	free((char *)(uintptr_t)settings.head.at);
	free((char *)(uintptr_t)settings.early.at);
}

/* The events of a connection: no bits asks for an error, which a reset is. */
static bool comes_to_be(struct bench *b, enum tunnel_side side, short events)
{
	struct pollfd fd = { .fd = b->fds[side], .events = events };

	return poll(&fd, 1, MINUTE_MS) == 1;
}

/* The far ends speak, and are heard, before there is a tunnel: what comes first is not what came first. */
static void speak(struct bench *b)
{
	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++)
		if (far_say(b, side)) {
			far_say(b, side);
			CU_ASSERT(comes_to_be(b, side, POLLIN));
		}
}

static void bench_open(struct bench *b, const struct scene *s, unsigned refuse)
{
	struct far_end *client = &b->far[TUNNEL_CLIENT], *origin = &b->far[TUNNEL_ORIGIN];
	struct conn *to_origin;

	memset(b, 0, sizeof *b);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b->loop = loop_new());
	b->turn.run = on_turn;
	b->ticker.fire = on_tick;
	b->opening[TUNNEL_CLIENT] = s->early;
	b->opening[TUNNEL_ORIGIN] = s->head;
	*client = (struct far_end){ .said = s->early, .says = s->early + s->client_says, .ends = s->client_ends, .deaf = s->client_deaf };
	*origin = (struct far_end){ .said = s->head, .says = s->head + s->origin_says, .ends = s->origin_ends, .deaf = s->origin_deaf };
	b->client = connected(b, TUNNEL_CLIENT);
	to_origin = connected(b, TUNNEL_ORIGIN);
	speak(b);
	open_tunnel(b, s, to_origin, refuse);
	loop_arm(b->loop, &b->ticker, IDLE_MS);
}

static void bench_new(struct bench *b, const struct scene *s)
{
	bench_open(b, s, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b->tunnel);
}

static void bench_free(struct bench *b)
{
	tunnel_free(&b->tunnel);
	tunnel_free(&b->tunnel);
	conn_close(&b->client);
	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++)
		if (b->far[side].fd >= 0)
			close(b->far[side].fd);
	loop_free(&b->loop);
}

/* The client's connection is its owner's again: it says one more byte of the origin's stream. */
static bool client_is_left(struct bench *b)
{
	struct iovec more = { (char[]){ stream_byte(TUNNEL_ORIGIN, b->far[TUNNEL_ORIGIN].says++) }, 1 };

	return conn_writev(b->client, &more, 1) == 1 && run(b, client_has_all) && !far_is_over(&b->far[TUNNEL_CLIENT]);
}

/* The one orderly end: all came, each heard of the other's end, nobody of a reset, and what was said was counted. */
static void judge_done(struct bench *b, const char *name)
{
	const struct far_end *client = &b->far[TUNNEL_CLIENT], *origin = &b->far[TUNNEL_ORIGIN];
	_Atomic uint64_t *counted = loop_stats(b->loop)->value;
	uint64_t up = client->says, down = origin->says - b->opening[TUNNEL_ORIGIN];

	UNIT_ROW(b->ended == 1 && b->end == TUNNEL_DONE, "%s: ended %u times, at last as %d", name, b->ended, (int)b->end);
	UNIT_ROW(far_has_all(b, TUNNEL_CLIENT) && client->eof && !client->error, "%s: %zu came to the client", name, (size_t)client->came);
	UNIT_ROW(far_has_all(b, TUNNEL_ORIGIN) && origin->eof && !origin->error, "%s: %zu came to the origin", name, (size_t)origin->came);
	UNIT_ROW(b->bytes[TUNNEL_CLIENT] == up && counted[STAT_TUNNEL_BYTES_UP] == up, "%s", name);
	UNIT_ROW(b->bytes[TUNNEL_ORIGIN] == down && counted[STAT_TUNNEL_BYTES_DOWN] == down, "%s", name);
}

/* Any other end, of which the origin hears as a reset. */
static void judge_cut(struct bench *b, enum tunnel_end end, const char *name)
{
	const struct far_end *origin = &b->far[TUNNEL_ORIGIN];

	UNIT_ROW(b->ended == 1 && b->end == end, "%s: ended %u times, at last as %d", name, b->ended, (int)b->end);
	UNIT_ROW(!b->far[TUNNEL_CLIENT].differs && !origin->differs, "%s", name);
	if (origin->fd >= 0)
		UNIT_ROW(run(b, origin_is_over) && far_was_reset(origin), "%s: error %d", name, origin->error);
}

/* ---- the cases ---- */

static void done(void)
{
	static const struct { const char *name; struct scene scene; } rows[] = {
		{ "two ends, and nothing said", { BOTH_END } },
		{ "bytes of the client", { .client_says = 5, BOTH_END } },
		{ "bytes of the origin", { .origin_says = 7, BOTH_END } },
		{ "bytes both ways", { .client_says = 100000, .origin_says = 70000, BOTH_END } },
		{ "many both ways", { BOTH_SAY_MUCH, BOTH_END } },
		{ "the head alone, not counted", { .head = 50, BOTH_END } },
		{ "the head before what the origin said", { .head = 50, .origin_says = 7, BOTH_END } },
		{ "a head that the client's socket does not take at once", { .head = MANY, .origin_says = 70000, BOTH_END } },
		{ "what came early, counted", { .early = 60, BOTH_END } },
		{ "what came early before what came then", { .early = 60, .client_says = 5, BOTH_END } },
		{ "more early than the origin's socket takes at once", { .early = MANY, .client_says = 70000, BOTH_END } },
		{ "all of it", { .head = 50, .early = 60, .client_says = 5, .origin_says = 7, BOTH_END } },
		{ "the client ended before", { .client_ended = true, .origin_says = 7, .origin_ends = true } },
		{ "and said something early", { .client_ended = true, .head = 50, .early = 60, .origin_says = 7, .origin_ends = true } },
		{ "and much of it", { .client_ended = true, .early = MANY, .origin_ends = true } },
	};
	struct bench b;

	for (size_t i = 0; i < COUNT(rows); i++) {
		bench_new(&b, &rows[i].scene);
		UNIT_ROW(run(&b, is_over), "%s", rows[i].name);
		judge_done(&b, rows[i].name);
		bench_free(&b);
	}
}

/* Whoever keeps the tunnel behind its end hears of no other one, and its connections stay orderly. */
static void done_once(void)
{
	struct scene s = { .head = 50, .client_says = 5, .origin_says = 7, BOTH_END };
	struct bench b;

	bench_new(&b, &s);
	b.keeps = true;
	CU_ASSERT(run(&b, is_over) && run(&b, is_quiet) && run_for(&b, MINUTE_MS));
	let_go(&b);
	CU_ASSERT(run(&b, is_quiet));
	judge_done(&b, "kept");
	bench_free(&b);
}

/* One side ends behind what it said; the other one goes on, and ends later. */
static void half_close_of(enum tunnel_side first, uint64_t says)
{
	struct bench b;
	struct far_end *from = &b.far[first], *to = &b.far[other(first)];

	bench_new(&b, &(struct scene){ .head = 0 });
	from->says = says;
	from->ends = true;
	CU_ASSERT(run(&b, first == TUNNEL_CLIENT ? origin_is_over : client_is_over));
	UNIT_ROW(to->eof && far_has_all(&b, other(first)), "of side %d, %zu", (int)first, (size_t)says);
	CU_ASSERT(run(&b, is_quiet) && !b.ended && !far_is_over(from));
	to->says = says;
	CU_ASSERT(run(&b, is_settled) && !b.ended && !far_is_over(from));
	to->ends = true;
	CU_ASSERT(run(&b, is_over));
	judge_done(&b, first == TUNNEL_CLIENT ? "the client ends first" : "the origin ends first");
	bench_free(&b);
}

static void half_close(void)
{
	static const uint64_t says[] = { 0, 5, FLOOD };

	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++)
		for (size_t i = 0; i < COUNT(says); i++)
			half_close_of(side, says[i]);
}

/* The tunnel is done when the kernel has all of it: the origin's connection goes, and what the kernel still has arrives. */
static void done_before_it_arrived(void)
{
	struct scene s = { .client_says = LAST_WORDS, BOTH_END, .origin_deaf = true };
	struct bench b;

	bench_new(&b, &s);
	CU_ASSERT(run(&b, has_ended) && !b.tunnel && !b.far[TUNNEL_ORIGIN].came);
	b.far[TUNNEL_ORIGIN].deaf = false;
	CU_ASSERT(run(&b, is_over));
	judge_done(&b, "the last words");
	bench_free(&b);
}

static void resets(void)
{
	static const struct {
		const char *name;
		struct scene scene;
		enum tunnel_side by;
		bool is_told;           /* nobody reads it any more, and it is found out when the other side speaks */
		bool leaves;            /* the client's connection goes on */
	} rows[] = {
		{ "by the client", { .head = 50 }, TUNNEL_CLIENT, false, false },
		{ "by the client, behind bytes", { .client_says = 5, .origin_says = 7 }, TUNNEL_CLIENT, false, false },
		{ "by the client, behind the origin's end", { .origin_ends = true }, TUNNEL_CLIENT, false, false },
		{ "by the client, behind its own end", { .client_says = 5, .client_ends = true }, TUNNEL_CLIENT, true, false },
		{ "by the client, with bytes both ways", { BOTH_SAY_MUCH, BOTH_DEAF }, TUNNEL_CLIENT, false, false },
		{ "by the origin", { .head = 50 }, TUNNEL_ORIGIN, false, true },
		{ "by the origin, behind bytes", { .client_says = 5, .origin_says = 7 }, TUNNEL_ORIGIN, false, true },
		{ "by the origin, behind the client's end", { .client_ends = true }, TUNNEL_ORIGIN, false, true },
		{ "by the origin, behind its own end", { .origin_says = 7, .origin_ends = true }, TUNNEL_ORIGIN, true, false },
		{ "by the origin, with bytes both ways", { BOTH_SAY_MUCH, BOTH_DEAF }, TUNNEL_ORIGIN, false, false },
	};
	struct bench b;

	for (size_t i = 0; i < COUNT(rows); i++) {
		bench_new(&b, &rows[i].scene);
		UNIT_ROW(run(&b, rows[i].scene.origin_deaf ? is_quiet : is_settled) && !b.ended, "%s", rows[i].name);
		far_reset(&b, rows[i].by);
		b.far[other(rows[i].by)].says += rows[i].is_told ? FLOOD : 0;
		UNIT_ROW(run(&b, has_ended), "%s", rows[i].name);
		b.far[TUNNEL_ORIGIN].deaf = false;
		judge_cut(&b, rows[i].by == TUNNEL_CLIENT ? TUNNEL_LOST_CLIENT : TUNNEL_LOST_ORIGIN, rows[i].name);
		if (rows[i].leaves)
			UNIT_ROW(client_is_left(&b), "%s", rows[i].name);
		bench_free(&b);
	}
}

/* Nothing that one side says is taken, so it is not read, and no event tells that it is gone. A look from time to time does; as long as
 * it is there, a look changes nothing. */
static void reset_while_nothing_moves(enum tunnel_side by)
{
	struct scene s = { .client_says = by == TUNNEL_CLIENT ? FLOOD : 0, .origin_says = by == TUNNEL_ORIGIN ? FLOOD : 0, BOTH_DEAF };
	struct bench b;

	bench_new(&b, &s);
	CU_ASSERT(run(&b, is_quiet) && run_for(&b, MINUTE_MS) && run_for(&b, MINUTE_MS) && !b.ended);
	far_reset(&b, by);
	UNIT_ROW(comes_to_be(&b, by, 0) && run_for(&b, MINUTE_MS) && b.ended, "by side %d", (int)by);
	b.far[TUNNEL_ORIGIN].deaf = false;
	judge_cut(&b, by == TUNNEL_CLIENT ? TUNNEL_LOST_CLIENT : TUNNEL_LOST_ORIGIN, "while nothing moves");
	bench_free(&b);
}

static void looks(void)
{
	reset_while_nothing_moves(TUNNEL_CLIENT);
	reset_while_nothing_moves(TUNNEL_ORIGIN);
}

static void idle(void)
{
	static const struct { const char *name; struct scene scene; bool leaves; } rows[] = {
		{ "nothing was ever said", { .idle_ms = IDLE_MS }, true },
		{ "something was said", { .head = 50, .early = 60, .client_says = 5, .origin_says = 7, .idle_ms = IDLE_MS }, true },
		{ "the client ended", { .client_says = 5, .client_ends = true, .idle_ms = IDLE_MS }, true },
		{ "the origin ended", { .origin_says = 7, .origin_ends = true, .idle_ms = IDLE_MS }, false },
		{ "nobody takes anything", { BOTH_SAY_MUCH, BOTH_DEAF, .idle_ms = IDLE_MS }, false },
	};
	struct bench b;

	for (size_t i = 0; i < COUNT(rows); i++) {
		bench_new(&b, &rows[i].scene);
		UNIT_ROW(run(&b, has_ended), "%s", rows[i].name);
		b.far[TUNNEL_ORIGIN].deaf = false;
		judge_cut(&b, TUNNEL_IDLE, rows[i].name);
		if (rows[i].leaves)
			UNIT_ROW(client_is_left(&b), "%s", rows[i].name);
		bench_free(&b);
	}
}

/* The ticker is armed for the time that the tunnel was armed for before it, so it comes second, unless something moves: what there is to
 * move when the loop begins moves in its first turn, before any timer, and the tunnel is armed anew. */
static void puts_off(void)
{
	static const struct { const char *name; struct scene scene; bool moves; } rows[] = {
		{ "nothing", { .idle_ms = IDLE_MS }, false },
		{ "a byte of the client", { .client_says = 1, .idle_ms = IDLE_MS }, true },
		{ "a byte of the origin", { .origin_says = 1, .idle_ms = IDLE_MS }, true },
		{ "part of the head", { .head = MANY, .client_deaf = true, .idle_ms = IDLE_MS }, true },
		{ "the head", { .head = 1, .idle_ms = IDLE_MS }, true },
		{ "what came early", { .early = 1, .idle_ms = IDLE_MS }, true },
		{ "the client's end", { .client_ends = true, .idle_ms = IDLE_MS }, true },
		{ "the origin's end", { .origin_ends = true, .idle_ms = IDLE_MS }, true },
	};
	struct bench b;

	for (size_t i = 0; i < COUNT(rows); i++) {
		bench_new(&b, &rows[i].scene);
		UNIT_ROW(run(&b, has_ended) && b.end == TUNNEL_IDLE, "%s", rows[i].name);
		UNIT_ROW((b.ticks_before_end != 0) == rows[i].moves, "%s: %u ticks", rows[i].name, b.ticks_before_end);
		bench_free(&b);
	}
}

/* What that side said and the tunnel has: neither sent into the other side's socket nor in what came out of it. What the kernel has
 * said but not yet seen acknowledged is counted at both ends, so there may be less, and never more, than is told. */
static int64_t held(const struct bench *b, enum tunnel_side side)
{
	uint64_t counted = tunnel_bytes(b->tunnel, side) + (side == TUNNEL_ORIGIN ? b->opening[side] : 0);
	int unsent = 0, unread = 0;

	CU_ASSERT(!ioctl(b->fds[other(side)], TIOCOUTQ, &unsent));
	CU_ASSERT(!ioctl(b->far[other(side)].fd, FIONREAD, &unread));
	return (int64_t)(counted - b->far[other(side)].came) - unsent - unread;
}

/* Nobody's bytes are more than they may be, and a tunnel that waits does nothing: a spinning one would write in every turn, where a slow
 * kernel makes room a few times only. */
static void judge_stuck(const struct bench *b, const char *name)
{
	unsigned tried = writes - b->writes_before;

	UNIT_ROW(!b->ended && tried < TURNS_QUIET / 2, "%s: %u writes", name, tried);
	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++) {
		uint64_t first = b->opening[side], most = first > TUNNEL_READ_BYTES ? first : TUNNEL_READ_BYTES;

		UNIT_ROW(held(b, side) <= (int64_t)most, "%s: %lld of side %d", name, (long long)held(b, side), (int)side);
		if (b->far[other(side)].deaf)
			UNIT_ROW(b->far[side].said < first + MANY, "%s: %zu of side %d", name, (size_t)b->far[side].said, (int)side);
		else
			UNIT_ROW(far_has_all(b, other(side)), "%s: %zu of side %d", name, (size_t)b->far[other(side)].came, (int)side);
	}
}

static void back_pressure(void)
{
	static const struct { const char *name; struct scene scene; } rows[] = {
		{ "the origin does not read", { .client_says = FLOOD, .client_ends = true, .origin_deaf = true } },
		{ "the client does not read", { .origin_says = FLOOD, .origin_ends = true, .client_deaf = true } },
		{ "neither reads", { BOTH_SAY_MUCH, BOTH_END, BOTH_DEAF } },
		{ "the origin does not read, and speaks", { BOTH_SAY_MUCH, .origin_deaf = true } },
		{ "the client does not read, and speaks", { BOTH_SAY_MUCH, .client_deaf = true } },
		{ "neither reads, and much came before", { .early = MANY, .head = MANY, BOTH_SAY_MUCH, BOTH_DEAF } },
	};
	struct bench b;

	for (size_t i = 0; i < COUNT(rows); i++) {
		bench_new(&b, &rows[i].scene);
		UNIT_ROW(run(&b, have_all_but_the_deaf) && run(&b, is_quiet), "%s", rows[i].name);
		judge_stuck(&b, rows[i].name);
		for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++) {
			b.far[side].deaf = false;
			b.far[side].ends = true;
		}
		UNIT_ROW(run(&b, is_over), "%s", rows[i].name);
		judge_done(&b, rows[i].name);
		bench_free(&b);
	}
}

static void freed(void)
{
	static const struct { const char *name; struct scene scene; bool never_ran, leaves; } rows[] = {
		{ "before it began", { .head = 50, .early = 60, .client_says = 5, .origin_says = 7 }, true, false },
		{ "in the midst", { .head = 50, .client_says = 5, .origin_says = 7 }, false, true },
		{ "with bytes both ways", { BOTH_SAY_MUCH, BOTH_DEAF }, false, false },
		{ "half closed by the client", { .client_says = 5, .client_ends = true }, false, true },
		{ "half closed by the origin", { .origin_says = 7, .origin_ends = true }, false, false },
	};
	struct bench b;

	for (size_t i = 0; i < COUNT(rows); i++) {
		bench_new(&b, &rows[i].scene);
		if (!rows[i].never_ran)
			UNIT_ROW(run(&b, rows[i].scene.origin_deaf ? is_quiet : is_settled), "%s", rows[i].name);
		let_go(&b);
		b.far[TUNNEL_ORIGIN].deaf = false;
		UNIT_ROW(run(&b, origin_is_over) && far_was_reset(&b.far[TUNNEL_ORIGIN]), "%s", rows[i].name);
		UNIT_ROW(run_for(&b, 2 * HOUR_MS) && !b.ended, "%s", rows[i].name);
		if (rows[i].leaves)
			UNIT_ROW(client_is_left(&b), "%s", rows[i].name);
		bench_free(&b);
	}
}

/* Where there is no memory for a tunnel, the origin's connection goes all the same; where there is none to hold what a side does not take,
 * the tunnel does. */
static void no_memory(void)
{
	struct scene s = { .head = 50, .early = 60 }, stuck = { .client_says = FLOOD, .origin_deaf = true };
	struct bench b;

	for (unsigned nth = 1; nth <= 3; nth++) {
		bench_open(&b, &s, nth);
		UNIT_ROW(!b.tunnel && run(&b, origin_is_over) && far_was_reset(&b.far[TUNNEL_ORIGIN]), "request %u", nth);
		UNIT_ROW(!b.ended && !far_is_over(&b.far[TUNNEL_CLIENT]), "request %u", nth);
		bench_free(&b);
	}
	bench_new(&b, &stuck);
	refused = 1;
	CU_ASSERT(run(&b, has_ended) && !refused && b.end != TUNNEL_DONE);
	b.far[TUNNEL_ORIGIN].deaf = false;
	judge_cut(&b, b.end, "nothing to hold it in");
	bench_free(&b);
}

UNIT_SUITE(tunnel, { "done", done }, { "done once", done_once }, { "half close", half_close },
	{ "done before it arrived", done_before_it_arrived }, { "resets", resets }, { "resets while nothing moves", looks },
	{ "idle", idle }, { "what puts idle off", puts_off }, { "back-pressure", back_pressure }, { "freed", freed },
	{ "no memory", no_memory })
