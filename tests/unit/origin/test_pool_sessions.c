/* Owns the cases of proxy/origin/pool_sessions.c: which leases share a connection that speaks HTTP/2, and what becomes of it. Each row is a
 * script upon a loop, a pool and an origin of the test's own over TLS, and what comes of it.
 * Must not know: requests. The origin is net/h2's own server side.
 * Invariant: a step waits for what it brings about, never for a time; how long a session rests is not looked at.
 *
 * A script's steps, where x is one of the leases a to e:
 *	Lx ask for a lease       Px one for a request that must not be lost       Ax one of a new connection      Ox one over HTTP/1.1
 *	Rx run the loop until it is ready       Sx send a request on its stream   Ex give it back
 *	T  run the loop until all has come that is on its way                     W  ... until all connections are closed
 *	C  the origin ends its sessions         N  the pool is under the settings of the next generation
 * What comes of it: for each lease that got ready "x" and the number of its connection, with s for a stream, + where it was there before, or
 * why it failed; for each that is given back behind C what its fate is; then "|" and how many connections are open at the end. */
#include "proxy/origin/pool_internal.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "proxy/dns/resolve.h"
#include "proxy/http/h2_fields.h"
#include "proxy/net/ca_internal.h"
#include "proxy/net/conn.h"
#include "proxy/net/tls_context.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { LEASES = 5, CONNECTIONS = 8, GUARD_MS = 20000, HOUR_MS = 3600 * 1000, QUIET_TURNS = 100, SAID_MAX = 160 };

struct leased {
	struct lease *lease;
	struct conn *conn;
	bool ready;
};

/* A connection as the origin has it. */
struct far {
	struct conn *conn;             /* NULL: closed */
	struct h2 *h2;
};

static struct tls_context *clients[2], *servers[2];    /* [1]: both sides speak HTTP/2 */

static struct {
	struct loop *loop;
	struct resolver *resolver;
	struct pool *pool;
	struct pool_limits limits;
	struct lease_terms terms;
	struct tls_context *server;
	int listening;
	uint16_t port;
	unsigned generation;
	bool ended;                    /* the origin has ended its sessions */
	struct leased leases[LEASES];
	const void *known[CONNECTIONS];        /* by number; not to be followed */
	int n_known;
	struct far fars[CONNECTIONS];
	int n_fars;
	struct conn *streams[CONNECTIONS];     /* as the origin has them; it answers none */
	int n_streams;
	char said[SAID_MAX];
	struct task turn;
	bool (*until)(int);
	int about, turns;
	uint64_t last_ms;
} bench;

static void say(const char *word)
{
	CU_ASSERT_FATAL(strlen(bench.said) + strlen(word) < sizeof bench.said);
	strcat(bench.said, word);
}

/* ---- the origin ---- */

static void ignore(void *arg, enum conn_event event)
{
	(void)arg, (void)event;
}

static void far_on_stream(void *arg, struct conn *stream)
{
	(void)arg;
	CU_ASSERT_FATAL(bench.n_streams < CONNECTIONS);
	conn_set_owner(stream, ignore, NULL);
	bench.streams[bench.n_streams++] = stream;
}

static void far_on_idle(void *arg)
{
	(void)arg;
}

static void far_on_end(void *arg, bool lost)
{
	struct far *far = arg;

	(void)lost;
	h2_free(&far->h2);
	conn_close(&far->conn);
}

static void far_on_conn(void *arg, enum conn_event event)
{
	static const struct h2_settings settings = { .max_head = 8192, .max_fields = 100, .head_timeout_ms = HOUR_MS,
		.write_timeout_ms = HOUR_MS, .secure = true };
	struct far *far = arg;
	const struct h2_owner owner = { .opened = far_on_stream, .idle = far_on_idle, .ended = far_on_end, .arg = far };
	char byte;

	if (event == CONN_CONNECTED && conn_protocol(far->conn) == CONN_HTTP_2)
		CU_ASSERT_PTR_NOT_NULL_FATAL(far->h2 = h2_serve(far->conn, bench.loop, &settings, &h2_server_side, &owner));
	if (far->h2)
		h2_on_event(far->h2);
	else if (event == CONN_READABLE && conn_read(far->conn, &byte, 1) != CONN_AGAIN)
		conn_close(&far->conn);
}

static void far_accept(void)
{
	struct sockaddr_in peer;
	socklen_t len = sizeof peer;
	int fd = accept4(bench.listening, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK);
	struct far *far = &bench.fars[bench.n_fars];

	if (fd < 0)
		return;
	CU_ASSERT_FATAL(bench.n_fars++ < CONNECTIONS);
	far->conn = conn_new(bench.loop, fd, (struct sockaddr *)&peer, len, far_on_conn, far);
	CU_ASSERT_FATAL(far->conn && !conn_start_tls(far->conn, bench.server, NULL, NULL));
	conn_want(far->conn, true, false);
}

/* ---- the loop, until something is so ---- */

static void on_turn(struct task *task)
{
	far_accept();
	bench.turns++;
	if (bench.until(bench.about) || loop_now_ms(bench.loop) > bench.last_ms)
		loop_stop(bench.loop);
	else
		loop_defer(bench.loop, task);
}

static void run_until(bool (*until)(int), int about)
{
	bench.until = until;
	bench.about = about;
	bench.turns = 0;
	bench.last_ms = loop_now_ms(bench.loop) + GUARD_MS;
	loop_defer(bench.loop, &bench.turn);
	CU_ASSERT_TRUE(!loop_run(bench.loop) && until(about));
}

static bool is_ready(int which)
{
	return bench.leases[which].ready;
}

/* A few turns later all bytes written on loopback have come: no turn waits while a task is deferred. */
static bool is_quiet(int turns)
{
	return bench.turns >= turns;
}

static bool all_are_closed(int unused)
{
	(void)unused;
	for (int i = 0; i < bench.n_fars; i++)
		if (bench.fars[i].conn)
			return false;
	return true;
}

/* ---- steps ---- */

static int number_of(const void *connection, bool known)
{
	for (int i = bench.n_known - 1; known && i >= 0; i--)
		if (bench.known[i] == connection)
			return i;
	CU_ASSERT_FATAL(bench.n_known < CONNECTIONS);
	bench.known[bench.n_known] = connection;
	return bench.n_known++;
}

static void on_ready(void *arg, struct conn *conn, bool reused, const struct failure *failure)
{
	struct leased *leased = arg;
	char word[48];
	int letter = 'a' + (int)(leased - bench.leases);

	leased->ready = true;
	leased->conn = conn;
	if (conn) {
		const struct session *session = leased->lease->session;

		conn_set_owner(conn, ignore, NULL);
		snprintf(word, sizeof word, "%c%d%s%s ", letter, number_of(session ? (const void *)session : conn, reused),
		    lease_is_stream(leased->lease) ? "s" : "", reused ? "+" : "");
	} else
		snprintf(word, sizeof word, "%c:%s ", letter, failure_token(failure->error));
	say(word);
}

static void step_lease(struct leased *leased, enum lease_fresh fresh, bool h2)
{
	struct dial_target to = { .host = "127.0.0.1", .port = bench.port, .tls = clients[1], .h2 = h2, .generation = bench.generation,
		.connect_timeout_ms = HOUR_MS };
	struct lease_terms terms = bench.terms;

	terms.fresh = fresh;
	*leased = (struct leased){ 0 };
	CU_ASSERT_PTR_NOT_NULL_FATAL(leased->lease = pool_lease(bench.pool, &to, &terms, on_ready, leased));
	CU_ASSERT_FALSE(leased->ready);
}

static void step_end(struct leased *leased)
{
	static const char *const fates[] = { [LEASE_FAILED] = "failed", [LEASE_DEAD] = "dead", [LEASE_UNPROCESSED] = "unprocessed",
		[LEASE_NEEDS_HTTP_1] = "needs HTTP/1.1", [LEASE_TOO_LONG] = "too long" };

	if (bench.ended && leased->conn) {
		say(fates[lease_fate(leased->lease, leased->conn)]);
		say(" ");
	}
	lease_end(&leased->lease, &leased->conn, true);
	CU_ASSERT_PTR_NULL(leased->conn);
}

static void step(char what, struct leased *leased)
{
	static char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	static const struct { char step; enum lease_fresh fresh; bool h2; } asks[] = {
		{ 'L', LEASE_ANY, true }, { 'P', LEASE_SOUND, true }, { 'A', LEASE_ANEW, true }, { 'O', LEASE_ANY, false },
	};

	for (size_t i = 0; i < COUNT(asks); i++)
		if (asks[i].step == what)
			step_lease(leased, asks[i].fresh, asks[i].h2);
	if (what == 'R')
		run_until(is_ready, (int)(leased - bench.leases));
	if (what == 'S') {
		struct iovec head = { request, sizeof request - 1 };

		CU_ASSERT_EQUAL(conn_writev(leased->conn, &head, 1), sizeof request - 1);
	}
	if (what == 'E')
		step_end(leased);
}

static void step_alone(char what)
{
	if (what == 'T')
		run_until(is_quiet, QUIET_TURNS);
	if (what == 'W')
		run_until(all_are_closed, 0);
	if (what == 'N')
		pool_renew(bench.pool, &bench.limits, ++bench.generation);
	if (what != 'C')
		return;
	bench.ended = true;
	for (int i = 0; i < bench.n_fars; i++)
		if (bench.fars[i].h2)
			h2_end(bench.fars[i].h2);
	run_until(is_quiet, QUIET_TURNS);
}

/* ---- rows ---- */

struct row {
	const char *rule;
	struct pool_limits limits;
	struct lease_terms terms;
	const char *script, *comes;
};

static void listen_here(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof address;

	bench.listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	CU_ASSERT_FATAL(bench.listening >= 0);
	CU_ASSERT_FATAL(!bind(bench.listening, (struct sockaddr *)&address, len) && !listen(bench.listening, CONNECTIONS));
	CU_ASSERT_FATAL(!getsockname(bench.listening, (struct sockaddr *)&address, &len));
	bench.port = ntohs(address.sin_port);
}

static void bench_open(const struct row *row, bool h2)
{
	static const struct resolver_options names = { "", "/dev/null", "/dev/null" };

	memset(&bench, 0, sizeof bench);
	bench.turn.run = on_turn;
	bench.server = servers[h2];
	bench.limits = row->limits;
	bench.limits.h2 = (struct h2_settings){ .max_head = 8192, .max_fields = 100, .window = 65536, .head_timeout_ms = HOUR_MS,
		.write_timeout_ms = HOUR_MS, .ping_ms = HOUR_MS, .secure = true };
	bench.terms = row->terms;
	listen_here();
	CU_ASSERT_FATAL((bench.loop = loop_new()) && (bench.resolver = resolver_new(bench.loop, &names)));
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench.pool = pool_new(bench.loop, bench.resolver));
	pool_renew(bench.pool, &bench.limits, 0);
}

static int count_open(void)
{
	int open = 0;

	run_until(is_quiet, QUIET_TURNS);
	for (int i = 0; i < bench.n_fars; i++)
		open += bench.fars[i].conn != NULL;
	return open;
}

static void bench_close(void)
{
	for (int i = 0; i < LEASES; i++)
		lease_end(&bench.leases[i].lease, &bench.leases[i].conn, true);
	pool_free(&bench.pool);
	CU_ASSERT_EQUAL(count_open(), 0);
	for (int i = 0; i < bench.n_streams; i++)
		conn_close(&bench.streams[i]);
	close(bench.listening);
	resolver_free(&bench.resolver);
	loop_free(&bench.loop);
}

static void play(const struct row *rows, size_t n, bool h2)
{
	for (const struct row *row = rows; row < rows + n; row++) {
		char open[16];

		bench_open(row, h2);
		for (const char *at = row->script; *at; at++)
			if (strchr("TWNC", *at))
				step_alone(*at);
			else if (*at != ' ') {
				step(*at, &bench.leases[at[1] - 'a']);
				at++;
			}
		snprintf(open, sizeof open, "|%d", count_open());
		say(open);
		UNIT_ROW(!strcmp(bench.said, row->comes), "%s: \"%s\" instead of \"%s\"", row->rule, bench.said, row->comes);
		bench_close();
	}
}

#define KEEPS(of_origin, in_all, ms) { .idle_per_origin = of_origin, .idle_total = in_all, .idle_timeout_ms = ms }
#define MANY KEEPS(8, 8, HOUR_MS)
#define ANY { 0, HOUR_MS, LEASE_ANY }
#define ONE { 1, HOUR_MS, LEASE_ANY }

static void streams(void)
{
	static const struct row rows[] = {
		{ "an origin that speaks HTTP/2 gives a stream", MANY, ANY, "La Ra", "a0s |1" },
		{ "the next lease has one of the same connection", MANY, ANY, "La Ra Lb Rb", "a0s b0s+ |1" },
		{ "a burst makes one connection", MANY, ANY, "La Lb Lc Ld Ra Rb Rc Rd", "a0s b0s+ c0s+ d0s+ |1" },
		{ "given back, the session rests, and is found again", MANY, ANY, "La Ra Ea T Lb Rb", "a0s b0s+ |1" },
		{ "what must not be lost has a stream of a session in use", MANY, ANY, "La Ra Pb Rb", "a0s b0s+ |1" },
		{ "and none of one that rests", MANY, ANY, "La Ra Ea T Pb Rb", "a0s b1s |2" },
		{ "what must not be lost holds back nobody", MANY, ONE, "La Ra Ab Lc Rc", "a0s c0s+ |1" },
		{ "a new connection is asked for", MANY, ANY, "La Ra Ab Rb", "a0s b1s |2" },
		{ "HTTP/1.1 is asked for", MANY, ANY, "La Ra Ob Rb", "a0s b1 |2" },
		{ "a connection of HTTP/1.1 does not say that the origin lacks HTTP/2", MANY, ANY, "Oa Ra Ea Lb Rb", "a0 b1s |2" },
		{ "who leaves before gives the dialling to the next", MANY, ANY, "La Lb Ea Rb", "b0s |1" },
	};

	play(rows, COUNT(rows), true);
}

static void limits(void)
{
	static const struct row rows[] = {
		{ "nothing is kept idle", KEEPS(0, 8, HOUR_MS), ANY, "La Ra Ea T", "a0s |0" },
		{ "a session that rests too long ends", KEEPS(8, 8, 1), ANY, "La Ra Ea W", "a0s |0" },
		{ "none in all", KEEPS(8, 0, HOUR_MS), ANY, "La Ra Ea T", "a0s |0" },
		{ "new settings end what rests", MANY, ANY, "La Ra Ea T N T", "a0s |0" },
		{ "what is in use under the former settings ends with its last stream", MANY, ANY, "La Ra N Lb Rb Ea T", "a0s b1s |1" },
		{ "streams take no place", MANY, ONE, "La Lb Lc Ra Rb Rc", "a0s b0s+ c0s+ |1" },
		{ "a session that rests gives up its place", MANY, ONE, "La Ra Ea T Ob Rb", "a0s b1 |1" },
		{ "one in use does not", MANY, { 1, 1, LEASE_ANY }, "La Ra Ob Rb", "a0s b:connection_limit_reached |1" },
		{ "before it rests somebody waits for the place", MANY, ONE, "La Ra Ob Ea Rb", "a0s b1 |1" },
	};

	play(rows, COUNT(rows), true);
}

static void ends(void)
{
	static const struct row rows[] = {
		{ "the first stream of a session that ends has failed", MANY, ANY, "La Ra Sa T C Ea", "a0s failed |0" },
		{ "a later one may have been upon a dead connection", MANY, ANY, "La Ra Sa Lb Rb Sb T C Eb Ea", "a0s b0s+ dead failed |0" },
		{ "RFC 9113 8.7: nothing was done about what was not sent", MANY, ANY, "La Ra T C Ea", "a0s unprocessed |0" },
		{ "a session that ended serves nobody", MANY, ANY, "La Ra Ea T C Lb Rb", "a0s b1s |1" },
		{ "what was lost together goes upon one connection again", MANY, ANY, "La Ra Sa Lb Rb Sb T C Ea Eb Pa Pb Ra Rb",
			"a0s b0s+ failed dead a1s b1s+ |1" },
		{ "its lease may last longer than all else of the origin", MANY, ANY, "La Ra Sa T C T Ea", "a0s failed |0" },
	};

	play(rows, COUNT(rows), true);
}

/* The origin chooses HTTP/1.1. */
static void http_1(void)
{
	static const struct row rows[] = {
		{ "a connection for each", MANY, ANY, "La Lb Ra Rb", "a0 b1 |2" },
		{ "kept, it goes to the next", MANY, ANY, "La Ra Ea Lb Rb", "a0 b0+ |1" },
		{ "to one who wants HTTP/1.1, too", MANY, ANY, "La Ra Ea Ob Rb", "a0 b0+ |1" },
	};

	play(rows, COUNT(rows), false);
}

/* ---- certificates ---- */

static bool make_contexts(void)
{
	struct ca_wish wish = { .kind = CA_ECDSA, .days = 2, .now_s = time(NULL) };
	struct ca_why ca_why = { CA_FILE_NONE, "" };
	char cert[] = "/tmp/utfeed-test-XXXXXX", key[] = "/tmp/utfeed-test-XXXXXX";
	int cert_fd = mkstemp(cert), key_fd = mkstemp(key);
	struct tls_why why;

	CU_ASSERT_FATAL(cert_fd >= 0 && key_fd >= 0 && !ca_make(&wish, cert_fd, key_fd, &ca_why));
	for (int h2 = 0; h2 < 2; h2++) {
		const struct tls_settings server = { .side = TLS_SERVER, .ca_file = "", .cert = cert, .key = key, .h2 = h2 };
		const struct tls_settings client = { .side = TLS_CLIENT, .ca_file = "", .cert = "", .key = "" };

		servers[h2] = tls_context_new(&server, &why);
		clients[h2] = tls_context_new(&client, &why);
	}
	close(cert_fd);
	close(key_fd);
	unlink(cert);
	unlink(key);
	return servers[0] && servers[1] && clients[0] && clients[1];
}

static void with_contexts(void (*run)(void))
{
	CU_ASSERT_TRUE_FATAL(make_contexts());
	run();
	for (int h2 = 0; h2 < 2; h2++) {
		tls_context_unref(&servers[h2]);
		tls_context_unref(&clients[h2]);
	}
}

#define WITH(name) static void name##_of_sessions(void) { with_contexts(name); }
WITH(streams)
WITH(limits)
WITH(ends)
WITH(http_1)

UNIT_SUITE(pool_sessions,
	{ "streams", streams_of_sessions },
	{ "limits", limits_of_sessions },
	{ "ends", ends_of_sessions },
	{ "HTTP/1.1", http_1_of_sessions })
