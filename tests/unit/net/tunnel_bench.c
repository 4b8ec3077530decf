/* A tunnel between two far ends; see tunnel_bench.h. */
#include "tests/unit/net/tunnel_bench.h"

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

/* ---- what the linker puts in place of others ---- */

int __real_clock_gettime(clockid_t, struct timespec *);
int __wrap_clock_gettime(clockid_t, struct timespec *);
void *__real_malloc(size_t);
void *__wrap_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__wrap_calloc(size_t, size_t);
ssize_t __real_conn_writev(struct conn *, struct iovec *, int n);
ssize_t __wrap_conn_writev(struct conn *, struct iovec *, int n);

static time_t clock_ahead;                     /* seconds */
unsigned refused;                       /* counts down to the request that is refused; 0: none is */
unsigned writes;

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

enum tunnel_side other(enum tunnel_side side)
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

void far_reset(struct bench *b, enum tunnel_side side)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	struct far_end *f = &b->far[side];

	CU_ASSERT(!setsockopt(f->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset));
	close(f->fd);
	f->fd = -1;
}

bool far_is_over(const struct far_end *f)
{
	return f->fd < 0 || f->eof || f->error;
}

bool far_was_reset(const struct far_end *f)
{
	return f->error == (f->eof ? EPIPE : ECONNRESET);
}

bool far_has_all(const struct bench *b, enum tunnel_side side)
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
bool run(struct bench *b, bool (*until)(const struct bench *))
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

bool is_quiet(const struct bench *b)
{
	return b->quiet >= TURNS_QUIET;
}

bool has_ended(const struct bench *b)
{
	return b->ended;
}

bool is_over(const struct bench *b)
{
	return b->ended && far_is_over(&b->far[TUNNEL_CLIENT]) && far_is_over(&b->far[TUNNEL_ORIGIN]);
}

bool origin_is_over(const struct bench *b)
{
	return far_is_over(&b->far[TUNNEL_ORIGIN]);
}

bool client_is_over(const struct bench *b)
{
	return far_is_over(&b->far[TUNNEL_CLIENT]);
}

static bool client_has_all(const struct bench *b)
{
	return far_has_all(b, TUNNEL_CLIENT);
}

bool have_all_but_the_deaf(const struct bench *b)
{
	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++)
		if (!b->far[side].deaf && !far_has_all(b, side))
			return false;
	return true;
}

bool is_settled(const struct bench *b)
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

bool run_for(struct bench *b, unsigned ms)
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

void let_go(struct bench *b)
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

/* A socket with small buffers: the kernel keeps the bytes that arrive, but not more than these options allow. */
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

/* Frees the beginnings of the streams at once, because the tunnel has copied them. */
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

bool comes_to_be(struct bench *b, enum tunnel_side side, short events)
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

void bench_open(struct bench *b, const struct scene *s, unsigned refuse)
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

void bench_new(struct bench *b, const struct scene *s)
{
	bench_open(b, s, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b->tunnel);
}

void bench_free(struct bench *b)
{
	tunnel_free(&b->tunnel);
	tunnel_free(&b->tunnel);
	conn_close(&b->client);
	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++)
		if (b->far[side].fd >= 0)
			close(b->far[side].fd);
	loop_free(&b->loop);
}

bool client_is_left(struct bench *b)
{
	struct iovec more = { (char[]){ stream_byte(TUNNEL_ORIGIN, b->far[TUNNEL_ORIGIN].says++) }, 1 };

	return conn_writev(b->client, &more, 1) == 1 && run(b, client_has_all) && !far_is_over(&b->far[TUNNEL_CLIENT]);
}

void judge_done(struct bench *b, const char *name)
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

void judge_cut(struct bench *b, enum tunnel_end end, const char *name)
{
	const struct far_end *origin = &b->far[TUNNEL_ORIGIN];

	UNIT_ROW(b->ended == 1 && b->end == end, "%s: ended %u times, at last as %d", name, b->ended, (int)b->end);
	UNIT_ROW(!b->far[TUNNEL_CLIENT].differs && !origin->differs, "%s", name);
	if (origin->fd >= 0)
		UNIT_ROW(run(b, origin_is_over) && far_was_reset(origin), "%s: error %d", name, origin->error);
}
