/* Owns the cases of proxy/origin/pool.c: which connection a lease gets, when, and what becomes of it. Each row is a script upon a loop, a
 * pool and two listening sockets of the test's own, and what comes of it.
 * Must not know: requests, TLS.
 * Invariant: a step waits for what it brings about, never for a time; how long a wait or an idle time lasts is not looked at.
 *
 * A script's steps, where x is one of the leases a to e:
 *	Lx ask for a lease      Fx the same, of a fresh connection     Rx run the loop until it is ready
 *	Kx give it back, the connection to be kept                     Ex give it back, the connection to be closed
 *	Cx the origin closes the connection that x got                 Sx the origin says something on it, unasked
 *	Dx the owner of x reads all that has come on it
 *	P  leases are of the other origin from here on                 G  ... of the next generation of settings
 *	N  the pool is under the settings of the next generation       W  run the loop until an idle connection closes
 * What comes of it: for each lease that got ready "x" and the number of its connection, with a + where it was idle before, or why it failed;
 * then "|" and the numbers of the connections that are open at the end. */
#include "proxy/origin/pool.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/base/container_of.h"
#include "proxy/dns/resolve.h"
#include "proxy/net/conn.h"
#include "proxy/net/loop.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { LEASES = 5, CONNECTIONS = 8, ORIGINS = 2, GUARD_MS = 20000, HOUR_MS = 3600 * 1000, SAID_MAX = 128 };

/* One lease of a script. */
struct leased {
	struct lease *lease;
	struct conn *conn;
	int number;                    /* of its connection; -1: none */
	bool ready;
};

static struct {
	struct loop *loop;
	struct resolver *resolver;
	struct pool *pool;
	struct pool_limits limits;
	struct lease_terms terms;
	int listening[ORIGINS], origin;        /* where the next lease goes to */
	uint16_t ports[ORIGINS];
	unsigned generation, pool_generation;
	struct leased leases[LEASES];
	struct conn *conns[CONNECTIONS];       /* by number; not to be followed, for it may be gone */
	int fars[CONNECTIONS], n;              /* their other ends */
	char said[SAID_MAX];
	struct task turn;
	bool (*until)(int);
	int about;
	uint64_t last_ms;
} bench;

static void say(const char *word)
{
	CU_ASSERT_FATAL(strlen(bench.said) + strlen(word) < sizeof bench.said);
	strcat(bench.said, word);
}

/* ---- the loop, until something is so ---- */

static void on_turn(struct task *t)
{
	if (bench.until(bench.about) || loop_now_ms(bench.loop) > bench.last_ms)
		loop_stop(bench.loop);
	else
		loop_defer(bench.loop, t);
}

static bool run_until(bool (*until)(int), int about)
{
	bench.until = until;
	bench.about = about;
	bench.last_ms = loop_now_ms(bench.loop) + GUARD_MS;
	loop_defer(bench.loop, &bench.turn);
	return !loop_run(bench.loop) && until(about);
}

static bool is_closed(int far)
{
	char byte;

	return recv(far, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

static bool is_ready(int which)
{
	return bench.leases[which].ready;
}

static int count_closed(void)
{
	int closed = 0;

	for (int i = 0; i < bench.n; i++)
		closed += is_closed(bench.fars[i]);
	return closed;
}

static bool more_are_closed(int before)
{
	return count_closed() > before;
}

/* ---- steps ---- */

static void ignore(void *arg, enum conn_event event)
{
	(void)arg, (void)event;
}

static int number_of(const struct conn *conn)
{
	for (int i = bench.n - 1; i >= 0; i--)
		if (bench.conns[i] == conn)
			return i;
	return -1;
}

static int accepted(struct conn *conn)
{
	int far = accept(bench.listening[bench.origin], NULL, NULL);

	CU_ASSERT_FATAL(far >= 0 && bench.n < CONNECTIONS);
	bench.conns[bench.n] = conn;
	bench.fars[bench.n] = far;
	return bench.n++;
}

static void on_ready(void *arg, struct conn *conn, bool reused, const struct failure *failure)
{
	struct leased *l = arg;
	char word[32];

	l->ready = true;
	l->conn = conn;
	CU_ASSERT_EQUAL(conn == NULL, failure != NULL);
	l->number = !conn ? -1 : reused ? number_of(conn) : accepted(conn);
	if (conn) {
		conn_set_owner(conn, ignore, NULL);
		CU_ASSERT(conn_is_open(conn));
		snprintf(word, sizeof word, "%c%d%s ", 'a' + (int)(l - bench.leases), l->number, reused ? "+" : "");
	} else {
		snprintf(word, sizeof word, "%c:%s ", 'a' + (int)(l - bench.leases), failure_token(failure->error));
	}
	say(word);
}

static void step_lease(int which, bool fresh)
{
	struct dial_target to = { .host = "127.0.0.1", .port = bench.ports[bench.origin], .generation = bench.generation,
		.connect_timeout_ms = HOUR_MS };
	struct lease_terms terms = bench.terms;

	terms.fresh = fresh ? LEASE_SOUND : LEASE_ANY;
	bench.leases[which] = (struct leased){ .number = -1 };
	bench.leases[which].lease = pool_lease(bench.pool, &to, &terms, on_ready, &bench.leases[which]);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench.leases[which].lease);
	CU_ASSERT_FALSE(bench.leases[which].ready);
}

static void step(char what, int which)
{
	struct leased *l = &bench.leases[which];

	switch (what) {
	case 'L':
	case 'F':
		step_lease(which, what == 'F');
		break;
	case 'R':
		CU_ASSERT_TRUE(run_until(is_ready, which));
		break;
	case 'K':
	case 'E':
		lease_end(&l->lease, &l->conn, what == 'K');
		CU_ASSERT_PTR_NULL(l->conn);
		break;
	case 'D':
		CU_ASSERT_EQUAL(conn_read(l->conn, &(char){ 0 }, 1), CONN_AGAIN);
		break;
	case 'C':
		CU_ASSERT_EQUAL(shutdown(bench.fars[l->number], SHUT_WR), 0);
		break;
	case 'S':
		CU_ASSERT_EQUAL(send(bench.fars[l->number], "x", 1, 0), 1);
		break;
	default:
		CU_FAIL_FATAL("no such step");
	}
}

static void steps(const char *script)
{
	for (const char *at = script; *at; at++)
		switch (*at) {
		case ' ':
			break;
		case 'P':
			bench.origin = 1;
			break;
		case 'G':
			bench.generation++;
			break;
		case 'N':
			pool_renew(bench.pool, &bench.limits, ++bench.pool_generation);
			break;
		case 'W':
			CU_ASSERT_TRUE(run_until(more_are_closed, count_closed()));
			break;
		default:
			step(*at, at[1] - 'a');
			at++;
		}
}

/* ---- rows ---- */

struct row {
	const char *rule;
	struct pool_limits limits;
	struct lease_terms terms;
	const char *script, *comes;
};

static void listen_at(int which)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof address;

	bench.listening[which] = socket(AF_INET, SOCK_STREAM, 0);
	CU_ASSERT_FATAL(bench.listening[which] >= 0);
	CU_ASSERT_FATAL(!bind(bench.listening[which], (struct sockaddr *)&address, len) && !listen(bench.listening[which], CONNECTIONS));
	CU_ASSERT_FATAL(!getsockname(bench.listening[which], (struct sockaddr *)&address, &len));
	bench.ports[which] = ntohs(address.sin_port);
}

static void bench_open(const struct row *row)
{
	static const struct resolver_options names = { "", "/dev/null", "/dev/null" };

	memset(&bench, 0, sizeof bench);
	bench.turn.run = on_turn;
	bench.limits = row->limits;
	bench.terms = row->terms;
	for (int i = 0; i < ORIGINS; i++)
		listen_at(i);
	CU_ASSERT_FATAL((bench.loop = loop_new()) && (bench.resolver = resolver_new(bench.loop, &names)));
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench.pool = pool_new(bench.loop, bench.resolver));
	pool_renew(bench.pool, &row->limits, 0);
}

/* A lease is given back in whatever state it is; the pool then closes what is idle. */
static void bench_close(void)
{
	for (int i = 0; i < LEASES; i++)
		lease_end(&bench.leases[i].lease, &bench.leases[i].conn, true);
	pool_free(&bench.pool);
	CU_ASSERT_EQUAL(count_closed(), bench.n);
	for (int i = 0; i < bench.n; i++)
		close(bench.fars[i]);
	for (int i = 0; i < ORIGINS; i++)
		close(bench.listening[i]);
	resolver_free(&bench.resolver);
	loop_free(&bench.loop);
}

static void say_open(void)
{
	char number[] = "0";

	say("|");
	for (int i = 0; i < bench.n; i++)
		if (!is_closed(bench.fars[i])) {
			number[0] = (char)('0' + i);
			say(number);
		}
}

static void play(const struct row *rows, size_t n)
{
	for (const struct row *row = rows; row < rows + n; row++) {
		bench_open(row);
		steps(row->script);
		say_open();
		UNIT_ROW(!strcmp(bench.said, row->comes), "%s: \"%s\" instead of \"%s\"", row->rule, bench.said, row->comes);
		bench_close();
	}
}

#define KEEPS(of_origin, in_all, ms) { .idle_per_origin = of_origin, .idle_total = in_all, .idle_timeout_ms = ms }
#define MANY KEEPS(8, 8, HOUR_MS)
#define ANY { 0, HOUR_MS, LEASE_ANY }
#define ONE { 1, HOUR_MS, LEASE_ANY }

static void connections(void)
{
	static const struct row rows[] = {
		{ "a connection is made for a lease", MANY, ANY, "La Ra", "a0 |0" },
		{ "kept, it goes to the next lease", MANY, ANY, "La Ra Ka Lb Rb", "a0 b0+ |0" },
		{ "given up, it is closed and another one made", MANY, ANY, "La Ra Ea Lb Rb", "a0 b1 |1" },
		{ "two leases at a time have one each", MANY, ANY, "La Ra Lb Rb", "a0 b1 |01" },
		{ "of idle ones the latest goes first", MANY, ANY, "La Ra Lb Rb Ka Kb Lc Rc Ld Rd", "a0 b1 c1+ d0+ |01" },
		{ "a fresh one is asked for: the idle one stays", MANY, ANY, "La Ra Ka Fb Rb", "a0 b1 |01" },
		{ "idle on the way to its lease, which is given back before: it is closed", MANY, ANY, "La Ra Ka Lb Eb Lc Rc", "a0 c1 |1" },
		{ "another port is another origin", MANY, ANY, "La Ra Ka P Lb Rb", "a0 b1 |01" },
		{ "another generation of settings is another origin", MANY, ANY, "La Ra Ka G Lb Rb", "a0 b1 |01" },
		{ "RFC 9112 9.5: what the origin closed is not used again", MANY, ANY, "La Ra Ka Ca Lb Rb", "a0 b1 |1" },
		{ "RFC 9112 9.5: what it said unasked answers nobody", MANY, ANY, "La Ra Ka Sa Lb Rb", "a0 b1 |1" },
		{ "what the origin closed is closed while nobody asks, too", MANY, ANY, "La Ra Ka Ca W", "a0 |" },
		{ "read to its end, it goes to the next lease", MANY, ANY, "La Ra Da Ka Lb Rb", "a0 b0+ |0" },
		{ "RFC 9112 9.5: read to its end, then closed", MANY, ANY, "La Ra Da Ka Ca W Lb Rb", "a0 b1 |1" },
		{ "RFC 9112 9.5: read to its end, then spoken on", MANY, ANY, "La Ra Da Ka Sa W Lb Rb", "a0 b1 |1" },
		{ "the next one that is silent is taken", MANY, ANY, "La Ra Lb Rb Ka Kb Cb Lc Rc", "a0 b1 c0+ |0" },
	};

	play(rows, COUNT(rows));
}

static void limits(void)
{
	static const struct row rows[] = {
		{ "nothing is kept idle", KEEPS(0, 8, HOUR_MS), ANY, "La Ra Ka", "a0 |" },
		{ "one idle connection an origin: the latest stays", KEEPS(1, 8, HOUR_MS), ANY, "La Ra Lb Rb Ka Kb W", "a0 b1 |1" },
		{ "what is beyond it is found again at once", KEEPS(1, 8, HOUR_MS), ANY, "La Ra Lb Rb Ka Kb Lc Rc Ld Rd", "a0 b1 c1+ d0+ |01" },
		{ "all but one go", KEEPS(1, 8, HOUR_MS), ANY, "La Ra Lb Rb Lc Rc Ka Kb Kc W", "a0 b1 c2 |2" },
		{ "one in all: that of the other origin, which is older, goes", KEEPS(8, 1, HOUR_MS), ANY, "La Ra Ka P Lb Rb Kb", "a0 b1 |1" },
		{ "idle for too long: closed", KEEPS(8, 8, 1), ANY, "La Ra Ka W", "a0 |" },
		{ "new settings: what is idle is closed", MANY, ANY, "La Ra Ka N", "a0 |" },
		{ "what is in use under the former settings is not kept", MANY, ANY, "La Ra N Ka", "a0 |" },
		{ "under the new ones it is", MANY, ANY, "N G La Ra Ka Lb Rb", "a0 b0+ |0" },
	};

	play(rows, COUNT(rows));
}

static void places(void)
{
	static const struct row rows[] = {
		{ "one place: the second lease waits for the first, and gets its connection", MANY, ONE, "La Ra Lb Ka Rb", "a0 b0+ |0" },
		{ "or a new one", MANY, ONE, "La Ra Lb Ea Rb", "a0 b1 |1" },
		{ "first come, first served", MANY, ONE, "La Ra Lb Lc Ka Rb Kb Rc", "a0 b0+ c0+ |0" },
		{ "who waits may leave", MANY, ONE, "La Ra Lb Lc Eb Ka Rc", "a0 c0+ |0" },
		{ "who was served may leave before", MANY, ONE, "La Ra Lb Ka Eb Lc Rc", "a0 c1 |1" },
		{ "a connection that is being made holds its place", MANY, ONE, "La Lb Ea Rb", "b0 |0" },
		{ "for a fresh one an idle one gives up its place", MANY, ONE, "La Ra Ka Fb Rb", "a0 b1 |1" },
		{ "two places: only the third waits", MANY, { 2, HOUR_MS, LEASE_ANY }, "La Ra Lb Rb Lc Kb Rc", "a0 b1 c1+ |01" },
		{ "another origin has places of its own", MANY, ONE, "La Ra P Lb Rb", "a0 b1 |01" },
		{ "waited for too long: it fails, and takes no place", MANY, { 1, 1, LEASE_ANY }, "La Ra Lb Rb Ka Eb Lc Rc",
			"a0 b:connection_limit_reached c0+ |0" },
	};

	play(rows, COUNT(rows));
}

/* Nobody listens: the lease fails, and its place goes to the next. */
static void refused(void)
{
	static const struct row row = { "refused", MANY, ONE, "La Lb Ra Ea Rb", "a:connection_refused b:connection_refused |" };

	bench_open(&row);
	close(bench.listening[0]);
	bench.listening[0] = -1;
	steps(row.script);
	say_open();
	UNIT_ROW(!strcmp(bench.said, row.comes), "\"%s\" instead of \"%s\"", bench.said, row.comes);
	bench_close();
}

UNIT_SUITE(pool,
	{ "which connection", connections },
	{ "limits of what is idle", limits },
	{ "places", places },
	{ "refused", refused })
