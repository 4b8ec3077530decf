/* Clients and origins; see peers.h. */
#include "peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

enum { PEERS_READ_BYTES = 64 * 1024, PEERS_TUNNEL_PORT = 443 };

static struct peers *all;      /* one world, one set of peers: whom a wire's hooks speak of */

static struct peer *peer_of(struct wire *w, size_t offset)
{
	return (struct peer *)(void *)((char *)w - offset);
}

/* ---- what clients say ---- */

static void on_said(void *arg, struct wire *w, struct message *m)
{
	struct peer *p = peer_of(w, offsetof(struct peer, said));

	(void)arg;
	if (p->n_asked < PEERS_PIPELINED)
		p->asked[p->n_asked] = judge_asked(all->judge, m, p->n_asked > p->n_answered);
	p->n_asked++;
	w->tunnel = !strcmp(message_text(m, m->method), "CONNECT");
}

static void on_said_end(void *arg, struct wire *w, struct message *m)
{
	(void)arg, (void)w, (void)m;
}

/* ---- what clients get ---- */

/* Empty lines where none belong: whoever sends them has begun a request that may never come. */
static bool has_stray_lines(const struct peer *p)
{
	const struct text *t = &p->speech.bytes;

	return t->len && (strchr("\r\n", *t->bytes) || memmem(t->bytes, t->len, "\r\n\r\n\r", 5) || memmem(t->bytes, t->len, "\n\r\n\n", 4));
}

/* What cannot be read as a request, or not yet, is answered once. */
static bool may_be_answered(const struct peer *p)
{
	return p->n_answered < p->n_asked ||
	    (p->n_answered == p->n_asked && (p->said.wrong || (p->said.in_message && !p->said.headed) || has_stray_lines(p)));
}

static const struct asked *asked_now(const struct peer *p)
{
	return p->n_answered < p->n_asked && p->n_answered < PEERS_PIPELINED ? p->asked[p->n_answered] : NULL;
}

static bool is_last(const struct message *m)
{
	char connection[256];

	return m->until_close || strcasestr(message_field(m, "connection", connection, sizeof connection), "close");
}

static void on_answer(void *arg, struct wire *w, struct message *m)
{
	struct peer *p = peer_of(w, offsetof(struct peer, in));
	const struct asked *a = asked_now(p);

	(void)arg;
	REQUIRE(m->status >= 100 && m->status < 600, "responses", "status %d", m->status);
	if (m->status == 429 && !p->n_asked && is_last(m))     /* its address has connections enough: nothing is read then */
		return;
	REQUIRE(may_be_answered(p), "responses", "response %zu, status %d, to %zu requests", p->n_answered + 1, m->status, p->n_asked);
	if (m->status < 200)
		return;
	REQUIRE(a || p->n_answered < p->n_asked || m->status >= 400, "responses", "status %d answers no request", m->status);
	p->last = is_last(m);
	w->no_body = a && !strcmp(a->method, "HEAD");
	w->tunnel = a && !strcmp(a->method, "CONNECT") && m->status < 300;
}

static void on_answer_end(void *arg, struct wire *w, struct message *m)
{
	struct peer *p = peer_of(w, offsetof(struct peer, in));

	(void)arg;
	if (m->status < 200)
		return;
	if (asked_now(p))
		judge_answer(all->judge, asked_now(p), m);
	p->n_answered++;
}

static const struct wire_hooks said = { on_said, on_said_end, NULL }, answers = { on_answer, on_answer_end, NULL };

/* ---- what origins get ---- */

static void on_got(void *arg, struct wire *w, struct message *m)
{
	struct peer *p = peer_of(w, offsetof(struct peer, in));

	(void)arg;
	REQUIRE(!p->got || p->wild, "origin-requests", "a second request before the first is answered");
	REQUIRE(!p->unasked, "desync", "a connection is used again on which bytes came that nobody asked for");
	w->tunnel = !strcmp(message_text(m, m->method), "CONNECT");
	p->got = judge_got(all->judge, m);
	p->n_got++;
	p->unread = true;
	if (!w->tunnel && p->got)
		all->on_request(all->arg, p);
}

static void on_got_end(void *arg, struct wire *w, struct message *m)
{
	(void)arg, (void)m;
	peer_of(w, offsetof(struct peer, in))->unread = false;
}

static const struct wire_hooks requests = { on_got, on_got_end, NULL };

/* ---- reading and saying ---- */

static void peer_clear(struct peer *p)
{
	wire_free(&p->in);
	wire_free(&p->said);
	free(p->speech.bytes.bytes);
	*p = (struct peer){ .fd = -1, .theirs = -1 };
}

static bool is_client(const struct peers *ps, const struct peer *p)
{
	return p >= ps->clients && p < ps->clients + PEERS_CLIENTS;
}

static void require_sense(const struct peers *ps, const struct peer *p)
{
	REQUIRE(!p->in.wrong, "well-formed", "%s gets %s", is_client(ps, p) ? "a client" : "an origin", p->in.wrong);
}

/* For people: UTFEED_FUZZ_TRACE=1 tells the conversation. */
static void peers_trace(const struct peers *ps, const struct peer *p, const char *what, const char *bytes, size_t len)
{
	bool client = is_client(ps, p);

	if (getenv("UTFEED_FUZZ_TRACE"))
		fprintf(stderr, "\n=== %s %d %s\n%.*s\n", client ? "client" : "origin", (int)(client ? p - ps->clients : p - ps->origins), what, (int)len, bytes);
}

static void peer_hang_up(struct peers *ps, struct peer *p, bool lost)
{
	wire_close(&p->in, p->reset || lost);
	require_sense(ps, p);
	p->over = true;
}

static bool peer_read(struct peers *ps, struct peer *p)
{
	static char bytes[PEERS_READ_BYTES];
	ssize_t n = recv(p->fd, bytes, sizeof bytes, 0);

	if (n < 0 && errno == EAGAIN)
		return false;
	peers_trace(ps, p, n > 0 ? "gets" : "gets the end", bytes, n > 0 ? (size_t)n : 0);
	if (n <= 0) {
		peer_hang_up(ps, p, n < 0);
		return true;
	}
	wire_read(&p->in, bytes, (size_t)n);
	require_sense(ps, p);
	return true;
}

static void speech_over(struct peers *ps, struct peer *p)
{
	if (p->speech.final)
		p->got = NULL;
	p->speech.final = false;
	if (p->speech.close)
		peer_close(ps, p);
}

static bool peer_speak(struct peers *ps, struct peer *p)
{
	struct speech *s = &p->speech;
	ssize_t n = 0;

	if (s->at < s->until && (n = send(p->fd, s->bytes.bytes + s->at, s->until - s->at, MSG_NOSIGNAL)) < 0)
		return false;
	if (n > 0)
		peers_trace(ps, p, "says", s->bytes.bytes + s->at, (size_t)n);
	if (n && is_client(ps, p))
		wire_read(&p->said, s->bytes.bytes + s->at, (size_t)n);
	s->at += (size_t)n;
	if (s->mark && s->at >= s->whole_at) {
		judge_given(ps->judge, s->mark)->whole = true;
		s->mark = 0;
	}
	if (s->at == s->bytes.len && (s->final || s->close) && n)
		speech_over(ps, p);
	return n;
}

static bool peer_turn(struct peers *ps, struct peer *p)
{
	bool any = false;

	if (p->fd >= 0 && !p->over && !p->asleep)
		any = peer_read(ps, p);
	if (p->fd >= 0 && peer_speak(ps, p))
		any = true;
	if (p->fd >= 0 && p->over)
		peer_close(ps, p);
	return any;
}

bool peers_turn(struct peers *ps)
{
	bool any = false;

	for (size_t i = 0; i < PEERS_CLIENTS; i++)
		any |= peer_turn(ps, &ps->clients[i]);
	for (size_t i = 0; i < PEERS_ORIGINS; i++)
		any |= peer_turn(ps, &ps->origins[i]);
	return any;
}

/* ---- connections ---- */

/* The worker's descriptors are used again before everybody has seen that they were closed. */
static void forget_descriptor(struct peers *ps, int theirs)
{
	for (size_t i = 0; i < PEERS_CLIENTS; i++)
		if (ps->clients[i].theirs == theirs)
			ps->clients[i].theirs = -1;
	for (size_t i = 0; i < PEERS_ORIGINS; i++)
		if (ps->origins[i].theirs == theirs)
			ps->origins[i].theirs = -1;
}

void peers_init(struct peers *ps, struct judge *j)
{
	all = ps;
	ps->judge = j;
	for (size_t i = 0; i < PEERS_CLIENTS; i++)
		ps->clients[i].fd = ps->clients[i].theirs = -1;
	for (size_t i = 0; i < PEERS_ORIGINS; i++)
		ps->origins[i].fd = ps->origins[i].theirs = -1;
}

/* Its place is the next one, whosever it was. */
void peers_connected(struct peers *ps, int fd, int theirs, uint16_t port)
{
	struct peer *p = &ps->origins[ps->n_origins++ % PEERS_ORIGINS];

	if (p->fd >= 0)
		peer_close(ps, p);
	peer_clear(p);
	forget_descriptor(ps, theirs);
	p->fd = fd;
	p->theirs = theirs;
	p->port = port;
	wire_init(&p->in, true, &requests);
	wire_init(&p->said, false, &requests);
	p->in.tunnel = port == PEERS_TUNNEL_PORT;
}

void peers_reset(struct peers *ps, int theirs)
{
	for (size_t i = 0; i < PEERS_CLIENTS; i++)
		ps->clients[i].reset |= ps->clients[i].theirs == theirs;
	for (size_t i = 0; i < PEERS_ORIGINS; i++)
		ps->origins[i].reset |= ps->origins[i].theirs == theirs;
}

int peer_open(struct peers *ps, struct peer *p, bool small)
{
	int ends[2];

	if (p->fd >= 0)
		return -1;
	peer_clear(p);
	world_pair(ends, small);
	forget_descriptor(ps, ends[1]);
	p->fd = ends[0];
	p->theirs = ends[1];
	wire_init(&p->in, false, &answers);
	wire_init(&p->said, true, &said);
	return ends[1];
}

void peer_say(struct peer *p, const char *bytes, size_t len)
{
	text_add(&p->speech.bytes, bytes, len);
	p->speech.until = p->speech.bytes.len;
}

/* What comes to it after it has closed nobody sees. */
void peer_close(struct peers *ps, struct peer *p)
{
	(void)ps;
	if (p->fd >= 0)
		close(p->fd);
	p->fd = p->theirs = -1;
	p->over = true;
}

void peer_end(struct peer *p)
{
	if (p->fd >= 0)
		shutdown(p->fd, SHUT_WR);
}

bool peers_are_left(const struct peers *ps)
{
	bool left = false;

	for (size_t i = 0; i < PEERS_CLIENTS; i++)
		left |= ps->clients[i].fd >= 0;
	for (size_t i = 0; i < PEERS_ORIGINS; i++)
		left |= ps->origins[i].fd >= 0;
	return left;
}

void peers_free(struct peers *ps)
{
	for (size_t i = 0; i < PEERS_CLIENTS; i++)
		peer_clear(&ps->clients[i]);
	for (size_t i = 0; i < PEERS_ORIGINS; i++)
		peer_clear(&ps->origins[i]);
}
