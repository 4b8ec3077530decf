/* Owns the cases of proxy/net/tunnel.c: what comes out at either end of a tunnel, and how the tunnel ends. Must not know: HTTP, TLS.
 * Invariant: nothing is said about how long anything takes. The loop takes turns until something has happened, and the turns are counted
 * only so that what never happens is a failure and no hanging; that the kernel is slow changes the number of turns and nothing else. */
#include "tests/unit/net/tunnel_bench.h"

#include <sys/ioctl.h>

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
