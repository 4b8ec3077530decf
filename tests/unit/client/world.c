/* The world of test_client.c; see world.h. */
#include "tests/unit/client/world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proxy/base/container_of.h"
#include "proxy/cache/fill.h"
#include "proxy/dns/resolve.h"
#include "proxy/net/conn.h"
#include "proxy/origin/backoff.h"
#include "proxy/settings/settings.h"
#include "proxy/store/store_memory.h"

/* Of LeakSanitizer, where the program is built with it. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

enum { PATIENCE_MS = 30 * 1000, HURRY_MS = 1000, SPINS = 256 };

/* ---- states ---- */

struct world world;

const char *const world_names[] = { "IDLE", "HEAD", "WAIT", "SEND", "AUTH", "CONNECT", "HELLO", "TUNNEL", "STREAMS", "FLUSH", "LINGER", "CLOSED" };
const char *const world_follow[] = { "IDLE HEAD WAIT STREAMS LINGER FLUSH CLOSED", "WAIT AUTH CONNECT FLUSH CLOSED", "WAIT SEND FLUSH CLOSED",
	"IDLE FLUSH CLOSED", "WAIT CONNECT FLUSH CLOSED", "TUNNEL HELLO WAIT FLUSH CLOSED", "IDLE CONNECT WAIT FLUSH CLOSED",
	"IDLE FLUSH CLOSED", "LINGER FLUSH CLOSED", "LINGER CLOSED", "FLUSH CLOSED", "" };
unsigned world_walked[COUNT(world_names)];

static void note(struct client *c, enum client_state to)
{
	struct far *f = &world.fars[world.n_fars - 1];

	while (f->id && f->id != c->id.connection)
		f--;
	if (!f->id)
		f->trace_len = (size_t)snprintf(f->trace, WORLD_TRACE, "IDLE ");
	f->id = c->id.connection;
	if (f->state == to || f->trace_len + sizeof "CONNECT " > WORLD_TRACE)
		return;
	UNIT_ROW(strstr(world_follow[f->state], world_names[to]), "%s to %s", world_names[f->state], world_names[to]);
	world_walked[f->state] |= 1u << to;
	f->state = to;
	f->trace_len += (size_t)snprintf(f->trace + f->trace_len, WORLD_TRACE - f->trace_len, "%s ", world_names[to]);
}

static void look(void)
{
	struct client *c;

	if (world.pool)
		LIST_FOREACH(c, &world.pool->clients, link)
			note(c, c->state);
}

void __real_client_enter(struct client *, enum client_state);
void __wrap_client_enter(struct client *, enum client_state);
void __wrap_client_enter(struct client *c, enum client_state to)
{
	look();
	world_walked[c->state] |= 1u << to;
	__real_client_enter(c, to);
	look();
}

/* Where client.c itself calls client_enter() the linker has nothing to replace: after each such call comes one of these. */
#define LOOKS(function, parameters, arguments) \
	void __real_##function parameters; \
	void __wrap_##function parameters; \
	void __wrap_##function parameters { look(); __real_##function arguments; }
LOOKS(conn_want, (struct conn *c, bool readable, bool writable), (c, readable, writable))
LOOKS(conn_close, (struct conn **c), (c))
LOOKS(conn_abort, (struct conn **c), (c))
LOOKS(conn_shutdown_write, (struct conn *c), (c))

static struct client *client_of(const struct far *f)
{
	struct client *c = world.pool ? LIST_FIRST(&world.pool->clients) : NULL;

	while (c && c->id.connection != f->id)
		c = LIST_NEXT(c, link);
	return c;
}

/* ---- answers ---- */

struct object *__wrap_fill_start(const struct fill_params *, struct fetch_request *, enum in_flight *way);
int __wrap_fetch_start(struct fetch_pool *, const struct fetch_request *, struct object *);

static void on_room(struct object_writer *w)
{
	(void)w;
}

static void on_let_go(struct object_writer *w)
{
	container_of(w, struct made, writer)->let_go = true;
}

static void on_more(struct object_reader *r)
{
	(void)r;
}

static struct object *make(struct object *o, struct object *body)
{
	struct made *m = &world.made[world.n_made++];

	CU_ASSERT_FATAL(o && world.n_made <= WORLD_MADE);
	*m = (struct made){ .object = object_ref(o), .writer = { on_room, on_let_go }, .reader = { .wake = on_more } };
	object_set_writer(o, &m->writer);
	if ((m->body = body))
		object_attach(object_ref(body), &m->reader);
	return o;
}

struct object *__wrap_fill_start(const struct fill_params *p, struct fetch_request *r, enum in_flight *way)
{
	fetch_request_free(r);
	*way = IN_FLIGHT_BEGUN;
	return world.refuses ? NULL : make(object_new(p->transit_bytes), NULL);
}

int __wrap_fetch_start(struct fetch_pool *p, const struct fetch_request *r, struct object *o)
{
	struct fetch_request mine = *r;

	(void)p;
	make(o, r->body);
	if (r->hooks)
		r->hooks->end(r->hooks->arg);
	fetch_request_free(&mine);
	return 0;
}

static void unmake(struct made *m)
{
	object_detach(&m->reader);
	object_unref(&m->body);
	object_set_writer(m->object, NULL);
	object_unref(&m->object);
}

static bool begin_answer(struct object *o, int64_t length)
{
	static const char lines[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
	struct object_head *head = object_head_new();

	CU_ASSERT_FATAL(head && (head->bytes = strdup(lines)));
	head->len = sizeof lines - 1;
	head->status = 200;
	head->content_length = length;
	object_head(o, head);
	return true;
}

static bool end_answer(struct object *o, bool whole)
{
	static const struct failure broken = { .error = FAILURE_HTTP_RESPONSE_INCOMPLETE };

	if (whole)
		object_done(o);
	else
		object_fail(o, &broken);
	world.answered++;
	return true;
}

static bool answer(struct object *o, const char *text, size_t len)
{
	return begin_answer(o, (int64_t)len) && !object_append(o, text, len) && end_answer(o, true);
}

static bool answer_long(struct object *o)
{
	static char text[WORLD_LONG + 1];

	snprintf(text, sizeof text, "%*s", WORLD_LONG, "end");
	return answer(o, text, WORLD_LONG);
}

/* ---- a second store, which answers when the row lets it ---- */

static enum store_result slow_get(struct store *s, const char *key, size_t len, struct entry **e, struct store_wait *w)
{
	(void)s, (void)key, (void)len, (void)e;
	world.wait = w;
	return STORE_WAIT;
}

static void slow_cancel(struct store *s, struct store_wait *w)
{
	(void)s;
	CU_ASSERT_PTR_EQUAL(w, world.wait);
	world.wait = NULL;
}

static bool slow_misses(void)
{
	struct store_wait *w = world.wait;

	world.wait = NULL;
	if (w)
		w->got(w, NULL);
	return w;
}

static void slow_free(struct store *s)
{
	(void)s;
}

/* ---- opening and closing ---- */

int world_bound(int type)
{
	socklen_t len = sizeof world.address;
	struct sockaddr *at = (struct sockaddr *)&world.address;
	int fd = socket(AF_INET, type, 0), on = 1;

	world.address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	CU_ASSERT_FATAL(fd >= 0 && !bind(fd, at, len) && !getsockname(fd, at, &len));
	CU_ASSERT_FATAL(type != SOCK_STREAM || (!listen(fd, WORLD_FARS) && !setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)));
	return fd;
}

static void on_changed(void *arg)
{
	(void)arg;
	world.changed++;
}

static struct settings *settings_of(const char *options)
{
	char text[WORLD_TRACE], *rest = options ? text : NULL;
	char *words[8] = { (char *)(uintptr_t)"serve", (char *)(uintptr_t)"--access-log=off", (char *)(uintptr_t)"--max-connections=9",
		(char *)(uintptr_t)"--route=/r/=http://o/" };
	static char *const none[] = { NULL };
	struct conf *conf = conf_new();
	struct conf_error error;
	int n = 4;

	snprintf(text, sizeof text, "%s", options ? options : "");
	while (rest && n < 8)
		words[n++] = strsep(&rest, " ");
	CU_ASSERT_FATAL(conf && !conf_load(conf, n, words, none, &error));
	return settings_new(conf, 1, NULL);
}

void world_open(const char *options, bool asks_second)
{
	static const struct store_ops slow = { .name = "slow", .get = slow_get, .cancel = slow_cancel, .free = slow_free };
	static char server[32];
	static const struct resolver_options quiet = { server, "/dev/null", "/dev/null" };
	struct request_context ctx;

	memset(&world, 0, sizeof world);
	world.slow.ops = &slow;
	world.silent = world_bound(SOCK_DGRAM);
	snprintf(server, sizeof server, "127.0.0.1:%u", ntohs(world.address.sin_port));
	world.listener = world_bound(SOCK_STREAM);
	CU_ASSERT_FATAL((world.loop = loop_new()) && (world.resolver = resolver_new(world.loop, &quiet)));
	CU_ASSERT_FATAL((world.backoff = backoff_new()) && (world.settings = settings_of(options)));
	world.cache = cache_new(store_memory_new(1 << 20, 1 << 20), asks_second ? &world.slow : NULL);
	ctx = (struct request_context){ .loop = world.loop, .resolver = world.resolver, .backoff = world.backoff, .cache = world.cache };
	CU_ASSERT_FATAL(world.cache && (world.pool = client_pool_new(&ctx, on_changed, NULL)));
	client_pool_set(world.pool, world.settings);
}

static bool far_leave(struct far *f, bool reset)
{
	const struct linger now = { .l_onoff = reset };

	setsockopt(f->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	return true;
}

bool world_has_come(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	return poll(&one, 1, PATIENCE_MS) == 1;
}

struct far *world_come(const char *says)
{
	struct far *f = &world.fars[world.n_fars++];
	struct sockaddr_in peer;
	struct requester who;
	socklen_t len = sizeof peer;
	int least = 1;

	CU_ASSERT_FATAL(world.n_fars < WORLD_FARS && (f->fd = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
	if (world.small)
		setsockopt(f->fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
	CU_ASSERT_EQUAL_FATAL(connect(f->fd, (struct sockaddr *)&world.address, sizeof world.address), 0);
	CU_ASSERT_FATAL((f->near = accept4(world.listener, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
	if (world.small)
		setsockopt(f->near, SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
	CU_ASSERT_FATAL(!says || (send(f->fd, says, strlen(says), MSG_NOSIGNAL) == (ssize_t)strlen(says) && world_has_come(f->near)));
	requester_of_peer(&who, (struct sockaddr *)&peer);
	CU_ASSERT_EQUAL(client_accept(world.pool, f->near, (struct sockaddr *)&peer, len, NULL, &who), 0);
	return f;
}

/* ---- steps ---- */

static void listen_to(struct far *f)
{
	ssize_t n = 1;

	while (n > 0 && f->end == GOES_ON && f->heard_len < WORLD_HEARD) {
		n = recv(f->fd, f->heard + f->heard_len, WORLD_HEARD - f->heard_len, MSG_DONTWAIT);
		f->heard_len += n > 0 ? (size_t)n : 0;
		f->end = !n ? ENDED_ORDERLY : n < 0 && errno == ECONNRESET ? ENDED_BY_RESET : GOES_ON;
	}
}

static bool hears(struct far *f, const char *text)
{
	char *at;

	listen_to(f);
	if ((at = memmem(f->heard + f->at, f->heard_len - f->at, text, strlen(text))))
		f->at = (size_t)(at - f->heard) + strlen(text);
	return at;
}

static bool hears_end(struct far *f, bool reset, const char *text)
{
	size_t len;

	listen_to(f);
	len = f->heard_len - f->at;
	if (f->end != (reset ? ENDED_BY_RESET : ENDED_ORDERLY))
		return false;
	return !text || (len == strlen(text) && !memcmp(f->heard + f->at, text, len));
}

static bool is_uploaded(struct made *m, const char *text)
{
	struct iovec iov[4];
	size_t bytes, at = 0;
	bool same = object_phase(m->body) == OBJECT_DONE;
	int n = object_peek(&m->reader, iov, 4, WORLD_TRACE, &bytes);

	for (int i = 0; i < n && same && bytes == strlen(text); at += iov[i++].iov_len)
		same = !memcmp(text + at, iov[i].iov_base, iov[i].iov_len);
	return same && at == strlen(text);
}

/* Takes the step, where what it waits for is there. */
static bool take(struct far *f, const struct step *s)
{
	struct client *c = client_of(f);
	struct made *m = &world.made[world.answered];
	bool asked = world.n_made > world.answered;

	switch (s->op) {
	case SAYS: return send(f->fd, s->text, strlen(s->text), MSG_NOSIGNAL) == (ssize_t)strlen(s->text);
	case SHUTS: return !shutdown(f->fd, SHUT_WR);
	case LEAVES:
	case RESETS: return far_leave(f, s->op == RESETS);
	case HEARS: return hears(f, s->text);
	case ENDED:
	case IS_RESET: return hears_end(f, s->op == IS_RESET, s->text);
	case COMES_TO: return c && !strcmp(world_names[c->state], s->text);
	case HAS_BEEN: return strstr(f->trace, s->text);
	case KNOWS_END: return c && c->eof;
	case IS_GONE: return !c;
	case FETCHES: return world.n_made == (size_t)s->n;
	case COUNTS: return loop_stats(world.loop)->value[s->n] == 1;
	case ANSWERS: return asked && answer(m->object, s->text, strlen(s->text));
	case ANSWERS_LONG: return asked && answer_long(m->object);
	case INTERIM: return asked && !object_interim(m->object, s->text, strlen(s->text));
	case BEGINS: return asked && begin_answer(m->object, s->n);
	case BODY: return asked && !object_append(m->object, s->text, strlen(s->text));
	case DONE:
	case FAILS: return asked && end_answer(m->object, s->op == DONE);
	case UPLOADED: return asked && is_uploaded(m, s->text);
	case UPLOAD_CUT: return asked && object_phase(m->body) == OBJECT_FAILED;
	case LET_GO: return asked && m->let_go;
	case STORE_MISSES: return slow_misses();
	case LEAVE: return client_pool_leave(world.pool), true;
	case DRAIN: return client_pool_drain(world.pool), true;
	case POOL_ENDS: return client_pool_free(&world.pool), true;
	case OVER: break;
	}
	return false;
}

static struct {
	struct task turn;
	struct timer patience;
	struct far *far;
	const struct step *step;
	unsigned turns;
	bool taken;
} now;

static bool cannot_come(const struct far *f, enum op op)
{
	if (op == HEARS || op == ENDED || op == IS_RESET)
		return f->end != GOES_ON;
	return (op == COMES_TO || op == HAS_BEEN || op == KNOWS_END) && f->state == CL_CLOSED;
}

static void on_turn(struct task *t)
{
	look();
	now.taken = take(now.far, now.step);
	if (now.taken || cannot_come(now.far, now.step->op)) {
		loop_stop(world.loop);
		return;
	}
	if (++now.turns > SPINS)
		poll(NULL, 0, 1);              /* others want the processor, too */
	loop_defer(world.loop, t);
}

static void on_patience(struct timer *t)
{
	(void)t;
	loop_stop(world.loop);
}

/* Turns the loop until the step was taken. */
static bool wait_for(struct far *f, const struct step *s)
{
	static uint64_t patience_ms = PATIENCE_MS;

	memset(&now, 0, sizeof now);
	now.turn.run = on_turn;
	now.patience.fire = on_patience;
	now.far = f;
	now.step = s;
	loop_defer(world.loop, &now.turn);
	loop_arm(world.loop, &now.patience, patience_ms);
	CU_ASSERT_EQUAL(loop_run(world.loop), 0);
	loop_disarm(world.loop, &now.patience);
	loop_forget(world.loop, &now.turn);
	if (!now.taken)
		patience_ms = HURRY_MS;        /* where something is broken, the rest is not waited for as long */
	return now.taken;
}

void world_play(const char *rule, struct far *f, const struct step *s)
{
	bool goes_on = true;

	for (size_t i = 0; s[i].op != OVER && goes_on; i++)
		goes_on = UNIT_ROW(wait_for(f, &s[i]), "%s: step %zu (%s %d) after %s, heard: %.*s", rule, i + 1,
			s[i].text ? s[i].text : "", s[i].n, f->trace, (int)(f->heard_len - f->at), f->heard + f->at);
}

void world_close(const char *rule)
{
	for (size_t i = 0; i < world.n_fars; i++)
		PLAY(rule, &world.fars[i], { LEAVES, NULL, 0 }, { IS_GONE, NULL, 0 });
	UNIT_ROW(!world.pool || (!client_count(world.pool) && LIST_EMPTY(&world.pool->clients)), "%s", rule);
	client_pool_free(&world.pool);
	for (size_t i = 0; i < world.n_made; i++) {
		UNIT_ROW(!object_readers(world.made[i].object), "%s: answer %zu is still read", rule, i + 1);
		unmake(&world.made[i]);
	}
	UNIT_ROW(!world.wait, "%s: the store is still asked", rule);
	cache_free(&world.cache);
	settings_unref(&world.settings);
	backoff_free(&world.backoff);
	resolver_free(&world.resolver);
	loop_free(&world.loop);
	close(world.listener);
	close(world.silent);
	UNIT_ROW(!__lsan_do_recoverable_leak_check || !__lsan_do_recoverable_leak_check(), "%s: memory is not given back", rule);
}

void world_run(const struct row *rows, size_t n)
{
	for (const struct row *r = rows; r < rows + n; r++) {
		struct far *f;

		world_open(r->options, r->with == SECOND);
		world.small = r->with == SMALL;
		world.refuses = r->with == REFUSES;
		f = world_come(r->with == EARLY ? r->steps->text : NULL);
		world_play(r->rule, f, r->steps + (r->with == EARLY));
		UNIT_ROW(world.n_made == r->answers, "%s: %zu answers were asked for", r->rule, world.n_made);
		world_close(r->rule);
		UNIT_ROW(!strcmp(f->trace, r->states), "%s: %s", r->rule, f->trace);
	}
}
