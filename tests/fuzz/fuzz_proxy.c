/* Owns the whole proxy as a fuzz target: one worker's loop, clients and origins at the other ends of its connections, under a clock and
 * names of their own (proxy/world.h). Input: a byte for the configuration, a reply that origins give by themselves, then steps
 * (proxy/script.h): who says what, who closes, how much time passes.
 * Invariants, each by the word that it ends the run with: url, for-whom, purged, whole, utf-8, gzip (proxy/judge.h); responses, well-formed,
 * origin-request, origin-requests, desync (proxy/peers.h); guard, it-waits (proxy/world.h); budget, let-go, descriptors: when all is over
 * nobody is served, nothing is fetched or stored for ever, no connection or descriptor is left, though not every peer says goodbye. */
#include <signal.h>
#include <string.h>

#include "tests/fuzz/proxy/peers.h"
#include "tests/fuzz/proxy/script.h"
#include "tests/fuzz/proxy/settings.h"
#include "tests/fuzz/proxy/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PLAY_STEPS_MAX = 200, PLAY_LAST_WAIT_MS = 30 * 3600 * 1000, PLAY_HOPS_MAX = 2000, PLAY_RAW_MAX = 200 };

/* One run. */
struct play {
	struct script script;
	struct bench *bench;
	struct judge *judge;           /* a new one */
	struct peers peers;
	struct reply automatic;
	bool answers;                  /* origins answer by themselves */
	bool small;                    /* clients' connections take little at a time */
	unsigned settings, steps, hops;
	uint64_t wait_ms;
	bool ending;
};

/* ---- what happens ---- */

static struct peer *play_client(struct play *p, uint8_t which)
{
	struct peer *c = &p->peers.clients[which % PEERS_CLIENTS];
	int theirs = peer_open(&p->peers, c, p->small);

	if (theirs >= 0)
		bench_accept(p->bench, theirs);
	return c;
}

/* The latest first, as a step would rather speak of those. NULL: it is not open. */
static struct peer *play_origin(struct play *p, uint8_t which)
{
	size_t n = p->peers.n_origins;
	struct peer *o = n > which % 8 ? &p->peers.origins[(n - 1 - which % 8) % PEERS_ORIGINS] : NULL;

	return o && o->fd >= 0 ? o : NULL;
}

/* What is said now may be what was wanting of its latest response. */
static void give_up_latest(struct play *p, struct peer *o)
{
	struct given *g = judge_given(p->judge, o->number);

	if (g)
		g->whole = true;
}

static void reply_to(struct play *p, struct peer *o, struct reply *r)
{
	struct speech *s = &o->speech;
	struct text t = { 0 };
	unsigned number;
	size_t len;

	give_up_latest(p, o);
	reply_about(r, o->got);
	/* Behind bytes of the input's own nobody knows what it will be taken for. */
	number = o->number = o->wild ? 0 : judge_give(p->judge, &r->given);
	len = reply_write(r, number, &t);
	s->whole_at = s->bytes.len + len;
	peer_say(o, t.bytes, t.len);
	s->until = s->bytes.len - t.len + reply_cut(r, t.len);
	s->mark = r->short_of ? 0 : number;
	s->final = !r->short_of;
	s->close |= r->until_close;
	o->unasked |= r->surplus;
	o->wild |= r->short_of;
	if (r->until_close && judge_given(p->judge, number))
		judge_given(p->judge, number)->whole = true;
	free(t.bytes);
}

static void play_on_request(void *arg, struct peer *o)
{
	struct play *p = arg;
	struct reply r = p->automatic;

	if (p->answers)
		reply_to(p, o, &r);
}

static void step_request(struct play *p)
{
	struct peer *c = play_client(p, script_take(&p->script));
	struct text t = { 0 };

	script_request(&p->script, &t);
	peer_say(c, t.bytes, t.len);
	free(t.bytes);
}

static void step_purge(struct play *p)
{
	struct peer *c = play_client(p, script_take(&p->script));
	struct text t = { 0 };

	script_purge(&p->script, &t);
	peer_say(c, t.bytes, t.len);
	free(t.bytes);
}

static void step_client_bytes(struct play *p)
{
	struct peer *c = play_client(p, script_take(&p->script));
	size_t len;
	const char *bytes = script_take_bytes(&p->script, PLAY_RAW_MAX, &len);

	peer_say(c, bytes, len);
}

static void step_client_leaves(struct play *p)
{
	uint8_t which = script_take(&p->script);
	struct peer *c = &p->peers.clients[which % PEERS_CLIENTS];

	if (which & 64)
		c->asleep = !c->asleep;
	else if (which & 128)
		peer_end(c);
	else
		peer_close(&p->peers, c);
}

static void step_reply(struct play *p)
{
	struct peer *o = play_origin(p, script_take(&p->script));
	struct reply r;

	script_reply(&p->script, &r);
	if (o && o->got && !o->speech.final)
		reply_to(p, o, &r);
}

static void step_origin_bytes(struct play *p)
{
	struct peer *o = play_origin(p, script_take(&p->script));
	size_t len;
	const char *bytes = script_take_bytes(&p->script, PLAY_RAW_MAX, &len);

	if (!o || !len)
		return;
	o->wild = true;
	o->unasked |= !o->got;
	give_up_latest(p, o);
	peer_say(o, bytes, len);
}

static void step_origin_goes_on(struct play *p)
{
	struct peer *o = play_origin(p, script_take(&p->script));

	if (o)
		o->speech.until = o->speech.bytes.len;
}

static void step_origin_leaves(struct play *p)
{
	uint8_t which = script_take(&p->script);
	struct peer *o = play_origin(p, which);

	if (o && which & 128)
		peer_end(o);
	else if (o)
		peer_close(&p->peers, o);
}

static void step_forge(struct play *p)
{
	struct peer *o = play_origin(p, script_take(&p->script));
	struct text t = { 0 };

	if (!o || o->got)
		return;
	script_forge(&t);
	peer_say(o, t.bytes, t.len);
	o->unasked = true;
	free(t.bytes);
}

static void step_wait(struct play *p)
{
	static const unsigned times_ms[] = { 10, 100, 600, 1100, 2500, 6000, 11000, 31000, 61000, 301000, 700000, 3600000, 90000000 };

	p->wait_ms = times_ms[script_take(&p->script) % (sizeof times_ms / sizeof *times_ms)];
}

static void step_automatic(struct play *p)
{
	p->answers = script_take(&p->script) & 1;
	script_reply(&p->script, &p->automatic);
}

/* To one under which the same credentials are sent on. */
static void step_reload(struct play *p)
{
	unsigned settings = script_take(&p->script) % BENCH_SETTINGS;

	if (settings_send_credentials(settings) == p->judge->sends_credentials)
		bench_reload(p->bench, settings);
}

static void step_refuse(struct play *p)
{
	world_refuse(script_take(&p->script) % 4);
}

static void (*const steps[])(struct play *) = {
	step_request, step_request, step_request, step_reply, step_reply, step_wait, step_origin_goes_on, step_client_leaves, step_origin_leaves,
	step_client_bytes, step_origin_bytes, step_purge, step_forge, step_automatic, step_reload, step_refuse,
};

/* ---- the end ---- */

/* Half of the runs end with everybody silent: time alone must end them. */
static void play_end(struct play *p)
{
	p->ending = true;
	p->wait_ms = PLAY_LAST_WAIT_MS;
	for (size_t i = 0; i < PEERS_CLIENTS; i++)
		if (p->settings & 1)
			peer_close(&p->peers, &p->peers.clients[i]);
	bench_require_budget(p->bench);
}

static void play_require_over(struct play *p)
{
	for (size_t i = 0; i < PEERS_CLIENTS; i++)
		p->peers.clients[i].asleep = false;
	while (peers_turn(&p->peers))
		;
	REQUIRE(!peers_are_left(&p->peers), "let-go", "a connection is left open for ever");
	bench_require_idle(p->bench);
}

/* As far as the next timer: all of them fire when they are due. */
static bool play_wait(struct play *p, int most_ms)
{
	uint64_t step = most_ms < 0 || (uint64_t)most_ms > p->wait_ms ? p->wait_ms : (uint64_t)most_ms;

	REQUIRE(++p->hops < PLAY_HOPS_MAX, "it-waits", "timers fire for ever");
	world_pass(step);
	p->wait_ms -= step;
	return step;
}

/* The highest bit: the next one happens at the same time. */
static void play_steps(struct play *p)
{
	uint8_t step;

	do {
		step = script_take(&p->script);
		steps[step % (sizeof steps / sizeof *steps)](p);
	} while (step & 128 && ++p->steps < PLAY_STEPS_MAX);
	p->steps++;
}

static void play_on_quiet(void *arg, int wait_ms)
{
	struct play *p = arg;

	if (peers_turn(&p->peers))
		return;
	if (p->wait_ms && play_wait(p, wait_ms))
		return;
	if (!p->ending && p->steps < PLAY_STEPS_MAX && p->script.at < p->script.end)
		play_steps(p);
	else if (!p->ending)
		play_end(p);
	else {
		play_require_over(p);
		bench_stop(p->bench);
	}
}

static void play_on_connected(void *arg, int fd, int theirs, uint16_t port)
{
	peers_connected(&((struct play *)arg)->peers, fd, theirs, port);
}

static void play_on_reset(void *arg, int theirs)
{
	peers_reset(&((struct play *)arg)->peers, theirs);
}

static void play_begin(struct play *p, const uint8_t *data, size_t size)
{
	uint8_t first;

	p->script = (struct script){ data, data + size };
	first = script_take(&p->script);
	p->settings = first % BENCH_SETTINGS;
	p->small = first & 32;
	p->answers = !(first & 64);
	script_reply(&p->script, &p->automatic);
	p->judge->sends_credentials = settings_send_credentials(p->settings);
	peers_init(&p->peers, p->judge);
	p->peers.on_request = play_on_request;
	p->peers.arg = p;
}

/* What lasts is made before descriptors are counted. */
static void warm_up(unsigned settings)
{
	static bool warm[BENCH_SETTINGS];
	struct bench *b;

	if (warm[settings])
		return;
	signal(SIGPIPE, SIG_IGN);              /* as the server does */
	warm[settings] = true;
	b = bench_new(settings);
	bench_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct judge judge;
	static struct play p;
	const struct world_hooks hooks = { play_on_quiet, play_on_connected, play_on_reset, &p };
	unsigned before;

	memset(&judge, 0, sizeof judge);
	memset(&p, 0, sizeof p);
	p.judge = &judge;
	settings_make_all();
	play_begin(&p, data, size);
	world_enter(&hooks);
	warm_up(p.settings);
	before = world_descriptors();
	p.bench = bench_new(p.settings);
	bench_run(p.bench);
	bench_free(p.bench);
	peers_free(&p.peers);
	REQUIRE(world_descriptors() == before, "descriptors", "%u were open before, %u are now", before, world_descriptors());
	world_enter(NULL);
	return 0;
}
