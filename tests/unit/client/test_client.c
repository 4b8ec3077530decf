/* Owns the cases of proxy/client/client.c and its parts client_read.c, client_body.c, client_answer.c and client_tunnel.c: the states that
 * a connection goes through, and what its far end reads meanwhile (world.h).
 * Must not know: origins, kinds of stores. Invariant: each row names its rule, and at its end all clients, answers and memory are back. */
#include "tests/unit/client/world.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A step has what counts in it. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define HOST "Host: h\r\n"
#define GET(name) "GET /r/" name " HTTP/1.1\r\n" HOST "\r\n"
#define LAST_GET(name) "GET /r/" name " HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n"
#define OLD_GET(name) "GET /r/" name " HTTP/1.0\r\n" HOST "\r\n"
#define OLD_GET_MORE(name) "GET /r/" name " HTTP/1.0\r\n" HOST "Connection: keep-alive\r\n\r\n"
#define POST(lines) "POST /r/p HTTP/1.1\r\n" HOST lines "\r\n"
#define CONNECT(to) "CONNECT " to " HTTP/1.1\r\nHost: " to "\r\n\r\n"
#define OK "HTTP/1.1 200 OK\r\n"
#define CLOSE "Connection: close\r\n\r\n"
#define X16(text) text text text text text text text text text text text text text text text text
#define ONCE "IDLE HEAD WAIT SEND IDLE "
#define AGAIN "HEAD WAIT SEND IDLE "
#define REFUSED ONCE "LINGER CLOSED "

static void answered(void)
{
	static const struct row rows[] = {
		{ "RFC 9112 9.3: a connection stays for the next request", NULL, 2, ONCE AGAIN "CLOSED ", { { SAYS, GET("1") },
			{ ANSWERS, "one" }, { HEARS, OK }, { HEARS, "\r\n\r\none" }, { COMES_TO, "IDLE" }, { SAYS, GET("2") },
			{ ANSWERS, "two" }, { HEARS, OK }, { HEARS, "\r\n\r\ntwo" }, { COMES_TO, "IDLE" } } },
		{ "RFC 9112 2.1: a head comes in pieces", NULL, 1, ONCE "CLOSED ", { { SAYS, "GET /r/1 HT" }, { COMES_TO, "HEAD" },
			{ SAYS, "TP/1.1\r\n" HOST "\r" }, { COMES_TO, "HEAD" }, { FETCHES }, { SAYS, "\n" }, { ANSWERS, "one" },
			{ HEARS, "\r\n\r\none" }, { COMES_TO, "IDLE" } } },
		{ "RFC 9112 2.2: an empty line before a request", NULL, 1, ONCE "CLOSED ", { { SAYS, "\r\n" GET("1") },
			{ ANSWERS, "one" }, { HEARS, "\r\n\r\none" } } },
		{ "RFC 9112 2.2: an empty line is no request's beginning: the connection stays idle", NULL, 2, ONCE AGAIN "CLOSED ", {
			{ SAYS, GET("1") "\r\n" }, { ANSWERS, "one" }, { HEARS, "\r\n\r\none" }, { COMES_TO, "IDLE" },
			{ SAYS, "\r\n\r\n" }, { COMES_TO, "IDLE" }, { SAYS, "\r\n" GET("2") }, { ANSWERS, "two" },
			{ HEARS, "\r\n\r\ntwo" }, { COMES_TO, "IDLE" } } },
		{ "RFC 9112 2.2: it may come in two pieces", NULL, 1, ONCE "CLOSED ", { { SAYS, "\r" }, { COMES_TO, "HEAD" },
			{ SAYS, "\n" GET("1") }, { ANSWERS, "one" }, { HEARS, "\r\n\r\none" }, { COMES_TO, "IDLE" } } },
		{ "RFC 9112 2.2: a bare LF before a request is no empty line", NULL, 0, REFUSED, { { SAYS, "\n" GET("1") },
			{ HEARS, "HTTP/1.1 400 " }, { HEARS, CLOSE }, { HAS_BEEN, "LINGER" } } },
		{ "RFC 9112 2.2: a bare CR before a request is no empty line", NULL, 0, REFUSED, { { SAYS, "\r" GET("1") },
			{ HEARS, "HTTP/1.1 400 " }, { HEARS, CLOSE }, { HAS_BEEN, "LINGER" } } },
		{ "RFC 9112 9.6: Connection: close", NULL, 1, ONCE "CLOSED ", { { SAYS, LAST_GET("1") }, { ANSWERS, "one" },
			{ HEARS, CLOSE }, { ENDED, "one" }, { IS_GONE } } },
		{ "RFC 9112 9.3: HTTP/1.0 does not ask for more", NULL, 1, ONCE "CLOSED ", { { SAYS, OLD_GET("1") }, { ANSWERS, "one" },
			{ HEARS, CLOSE }, { ENDED, "one" }, { IS_GONE } } },
		{ "RFC 9112 9.3.2: pipelined requests are answered in order", NULL, 3, ONCE AGAIN AGAIN "CLOSED ", {
			{ SAYS, GET("1") GET("2") GET("3") }, { FETCHES, .n = 1 }, { ANSWERS, "one" }, { ANSWERS, "two" },
			{ ANSWERS, "three" }, { HEARS, "\r\n\r\none" }, { HEARS, "\r\n\r\ntwo" }, { HEARS, "\r\n\r\nthree" },
			{ COMES_TO, "IDLE" } } },
		{ "RFC 9112 9.6: nothing behind the last request is answered", NULL, 1, REFUSED, { { SAYS, LAST_GET("1") GET("2") },
			{ ANSWERS, "one" }, { HEARS, CLOSE }, { ENDED, "one" }, { HAS_BEEN, "LINGER" } } },
		{ "RFC 9112 7.1: of unknown length, whole", NULL, 1, ONCE "CLOSED ", { { SAYS, GET("1") }, { BEGINS, .n = -1 },
			{ BODY, "one" }, { HEARS, "3\r\none" }, { COMES_TO, "SEND" }, { DONE }, { HEARS, "\r\n0\r\n\r\n" },
			{ COMES_TO, "IDLE" } } },
		{ "RFC 9112 6.3: the same for HTTP/1.0", NULL, 1, ONCE "CLOSED ", { { SAYS, OLD_GET("1") }, { BEGINS, .n = -1 },
			{ BODY, "one" }, { HEARS, CLOSE "one" }, { DONE }, { ENDED, "" }, { IS_GONE } } },
		{ "RFC 9112 9.3: HTTP/1.0 asks for more, which takes a length", NULL, 2, ONCE AGAIN "CLOSED ", {
			{ SAYS, OLD_GET_MORE("1") }, { ANSWERS, "one" }, { HEARS, "Connection: keep-alive\r\n\r\none" },
			{ COMES_TO, "IDLE" }, { SAYS, OLD_GET_MORE("2") }, { BEGINS, .n = -1 }, { BODY, "two" }, { DONE },
			{ HEARS, CLOSE }, { ENDED, "two" }, { IS_GONE } } },
		{ "RFC 9110 15.2: an interim response goes before", NULL, 1, ONCE "CLOSED ", { { SAYS, GET("1") },
			{ INTERIM, "HTTP/1.1 103 Early Hints\r\n\r\n" }, { HEARS, " 103 Early Hints\r\n\r\n" }, { COMES_TO, "WAIT" },
			{ ANSWERS, "one" }, { HEARS, OK }, { HEARS, "\r\n\r\none" } } },
		{ "RFC 9110 15.5.5: no route is an answer as others", NULL, 0, ONCE AGAIN "CLOSED ", {
			{ SAYS, "GET /x HTTP/1.1\r\n" HOST "\r\n" }, { HEARS, "HTTP/1.1 404 " }, { COMES_TO, "IDLE" },
			{ SAYS, "GET /y HTTP/1.1\r\n" HOST "\r\n" }, { HEARS, "HTTP/1.1 404 " } } },
		{ "a second store is asked first", NULL, 1, ONCE "CLOSED ", { { SAYS, GET("1") }, { COMES_TO, "WAIT" }, { FETCHES },
			{ STORE_MISSES }, { ANSWERS, "one" }, { HEARS, "\r\n\r\none" } }, SECOND },
		{ "there is no memory for an answer", NULL, 0, "IDLE HEAD CLOSED ", { { SAYS, GET("1") }, { ENDED, "" }, { IS_GONE } },
			REFUSES },
	};

	world_run(rows, COUNT(rows));
}

/* Whatever is refused before it is a request, or because of what would follow it, is the last of its connection. */
static void refused(void)
{
	static const struct { const char *rule, *options, *said; int status; } cases[] = {
		{ "RFC 9112 2.2: no HTTP at all", NULL, "\026\003\001\002\001\n\n", 400 },
		{ "RFC 9112 5.1: a blank before the colon", NULL, "GET /r/1 HTTP/1.1\r\nHost : h\r\n\r\n", 400 },
		{ "RFC 9110 9.1: a method nobody knows", NULL, "BREW /r/1 HTTP/1.1\r\n" HOST "\r\n", 501 },
		{ "RFC 9110 15.6.6: another version", NULL, "GET /r/1 HTTP/3.0\r\n" HOST "\r\n", 505 },
		{ "RFC 6585 5: a head too large", "--max-header-bytes=1k", "GET /r/1 HTTP/1.1\r\nA: " X16(X16("long ")), 431 },
		{ "RFC 6585 5: fields too many", "--max-header-fields=8", "GET /r/1 HTTP/1.1\r\n" X16("A: a\r\n") "\r\n", 431 },
		{ "RFC 9110 15.5.15: a target too long", "--max-header-bytes=1k", GET(X16("longer-than-that/")), 414 },
		{ "RFC 9110 15.5.15: the same before its end is there", "--max-header-bytes=1k", "GET /r/" X16("longer-than-that/"), 414 },
		{ "RFC 9110 15.5.14: a GET with a body", NULL, "GET /r/1 HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbody", 413 },
		{ "client-allow does not name it", "--client-allow=192.0.2.1", "", 403 },
		{ "RFC 9110 15.5.9: a head is not complete in time", "--request-timeout=10ms", "GET /r/1 HTTP/1.1\r\nHo", 408 },
		{ "CONNECT is off", NULL, CONNECT("o.test:443"), 405 },
		{ "RFC 9110 9.3.6: CONNECT to what is no authority", "--connect-allow=o.test", CONNECT("/r/1"), 400 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *states = cases[i].status == 403 ? "IDLE WAIT SEND IDLE LINGER CLOSED " : REFUSED;
		struct row row = { cases[i].rule, cases[i].options, 0, states, { { SAYS, cases[i].said }, { HEARS }, { HEARS, CLOSE },
			{ ENDED }, { HAS_BEEN, "LINGER" }, { SAYS, "what nobody reads" } } };
		char line[16];

		snprintf(line, sizeof line, "HTTP/1.1 %d ", cases[i].status);
		row.steps[1].text = line;
		world_run(&row, 1);
	}
}

static void leaving(void)
{
	static const struct row rows[] = {
		{ "before it said anything", NULL, 0, "IDLE CLOSED ", { { SHUTS }, { ENDED, "" }, { IS_GONE } } },
		{ "in the midst of a head", NULL, 0, "IDLE HEAD CLOSED ", { { SAYS, "GET /r" }, { COMES_TO, "HEAD" }, { SHUTS },
			{ ENDED, "" }, { IS_GONE } } },
		{ "before its answer, which is let go of", NULL, 1, "IDLE HEAD WAIT CLOSED ", { { SAYS, GET("1") }, { COMES_TO, "WAIT" },
			{ RESETS }, { IS_GONE }, { LET_GO }, { COUNTS, .n = STAT_REQUESTS_DROPPED } } },
		{ "in the midst of its answer", NULL, 1, "IDLE HEAD WAIT SEND CLOSED ", { { SAYS, GET("1") }, { BEGINS, .n = 6 },
			{ BODY, "one" }, { HEARS, "\r\n\r\none" }, { RESETS }, { IS_GONE }, { LET_GO },
			{ COUNTS, .n = STAT_REQUESTS_DROPPED } } },
		{ "while a second store is asked", NULL, 0, "IDLE HEAD WAIT CLOSED ", { { SAYS, GET("1") }, { COMES_TO, "WAIT" },
			{ RESETS }, { IS_GONE } }, SECOND },
		{ "RFC 9112 9.6: it will say no more, and is answered", NULL, 1, ONCE "CLOSED ", { { SAYS, GET("1") }, { SHUTS },
			{ KNOWS_END }, { COMES_TO, "WAIT" }, { ANSWERS, "one" }, { HEARS, "\r\n\r\n" }, { ENDED, "one" }, { IS_GONE } } },
		{ "RFC 9112 9.6: all that it pipelined before is answered", NULL, 2, ONCE AGAIN "CLOSED ", { { SAYS, GET("1") GET("2") },
			{ SHUTS }, { KNOWS_END }, { ANSWERS, "one" }, { ANSWERS, "two" }, { HEARS, "\r\n\r\none" }, { HEARS, "\r\n\r\n" },
			{ ENDED, "two" }, { IS_GONE } } },
		{ "the pool ends: everybody is cut", NULL, 1, "IDLE HEAD WAIT SEND CLOSED ", { { SAYS, GET("1") }, { BEGINS, .n = 6 },
			{ BODY, "one" }, { HEARS, "\r\n\r\none" }, { POOL_ENDS }, { IS_RESET, "" }, { LET_GO } } },
		{ "it takes nothing for too long", "--write-timeout=10ms", 1, "IDLE HEAD WAIT SEND CLOSED ", { { SAYS, GET("1") },
			{ ANSWERS_LONG }, { IS_GONE }, { IS_RESET } }, SMALL },
		{ "it says nothing for too long", "--keepalive-timeout=10ms", 0, "IDLE CLOSED ", { { ENDED, "" }, { IS_GONE } } },
		{ "nor anything more", "--keepalive-timeout=10ms", 1, ONCE "CLOSED ", { { SAYS, GET("1") }, { ANSWERS, "one" },
			{ HEARS, "\r\n\r\n" }, { ENDED, "one" }, { IS_GONE } }, EARLY },
	};

	world_run(rows, COUNT(rows));
}

/* The origin fails: RFC 9112 section 8. */
static void cut(void)
{
	static const struct row rows[] = {
		{ "before the head: an answer of utfeed's own", NULL, 2, ONCE AGAIN "CLOSED ", { { SAYS, GET("1") }, { COMES_TO, "WAIT" },
			{ FAILS }, { HEARS, "HTTP/1.1 502 " }, { COMES_TO, "IDLE" }, { SAYS, GET("2") }, { ANSWERS, "two" },
			{ HEARS, "\r\n\r\ntwo" } } },
		{ "the length is known: less comes", NULL, 1, ONCE "CLOSED ", { { SAYS, GET("1") }, { BEGINS, .n = 6 }, { BODY, "one" },
			{ HEARS, "Content-Length: 6\r\n\r\none" }, { FAILS }, { ENDED, "" }, { IS_GONE },
			{ COUNTS, .n = STAT_RESPONSES_CUT } } },
		{ "in chunks: the last one never comes", NULL, 1, ONCE "CLOSED ", { { SAYS, GET("1") }, { BEGINS, .n = -1 },
			{ BODY, "one" }, { HEARS, "\r\n\r\n3\r\none" }, { FAILS }, { ENDED, "" }, { IS_GONE },
			{ COUNTS, .n = STAT_RESPONSES_CUT } } },
		{ "up to the end of the connection: a reset", NULL, 1, ONCE "CLOSED ", { { SAYS, OLD_GET("1") }, { BEGINS, .n = -1 },
			{ BODY, "one" }, { HEARS, "\r\n\r\none" }, { FAILS }, { IS_RESET, "" }, { IS_GONE },
			{ COUNTS, .n = STAT_RESPONSES_CUT } } },
		{ "what is pipelined behind it is not answered", NULL, 1, ONCE "CLOSED ", { { SAYS, GET("1") GET("2") },
			{ BEGINS, .n = 6 }, { BODY, "one" }, { HEARS, "\r\n\r\none" }, { FAILS }, { IS_GONE } } },
	};

	world_run(rows, COUNT(rows));
}

static void uploads(void)
{
	static const struct row rows[] = {
		{ "RFC 9110 10.1.1: 100 before the body comes", NULL, 1, ONCE "CLOSED ", {
			{ SAYS, POST("Content-Length: 4\r\nExpect: 100-continue\r\n") }, { HEARS, "HTTP/1.1 100 Continue\r\n\r\n" },
			{ COMES_TO, "WAIT" }, { SAYS, "bo" }, { COMES_TO, "WAIT" }, { SAYS, "dy" }, { UPLOADED, "body" },
			{ ANSWERS, "one" }, { HEARS, OK }, { HEARS, "\r\n\r\none" }, { COMES_TO, "IDLE" } } },
		{ "RFC 9110 10.1.1: who is answered without gets no 100", NULL, 0, REFUSED, {
			{ SAYS, "POST /x HTTP/1.1\r\n" HOST "Content-Length: 4\r\nExpect: 100-continue\r\n\r\n" },
			{ HEARS, "HTTP/1.1 404 " }, { HEARS, CLOSE }, { HAS_BEEN, "LINGER" } } },
		{ "RFC 9112 7.1: a body in chunks, and a request behind it", NULL, 2, ONCE AGAIN "CLOSED ", {
			{ SAYS, POST("Transfer-Encoding: chunked\r\n") "4\r\nbody\r\n0\r\n\r\n" GET("2") }, { UPLOADED, "body" },
			{ ANSWERS, "one" }, { ANSWERS, "two" }, { HEARS, "\r\n\r\none" }, { HEARS, "\r\n\r\ntwo" } } },
		{ "RFC 9112 7.1: chunks that are none", NULL, 1, REFUSED, { { SAYS, POST("Transfer-Encoding: chunked\r\n") },
			{ COMES_TO, "WAIT" }, { SAYS, "what\r\n" }, { HEARS, "HTTP/1.1 400 " }, { HAS_BEEN, "LINGER" }, { UPLOAD_CUT },
			{ LET_GO } } },
		{ "RFC 9112 8: it ends too early", NULL, 1, "IDLE HEAD WAIT CLOSED ", { { SAYS, POST("Content-Length: 4\r\n") "bo" },
			{ COMES_TO, "WAIT" }, { SHUTS }, { ENDED, "" }, { IS_GONE }, { UPLOAD_CUT }, { LET_GO } } },
		{ "RFC 9112 8: the same in the midst of the answer", NULL, 1, "IDLE HEAD WAIT SEND CLOSED ", {
			{ SAYS, POST("Content-Length: 4\r\n") "bo" }, { BEGINS, .n = -1 }, { BODY, "one" }, { HEARS, "\r\n\r\n3\r\none" },
			{ SHUTS }, { ENDED, "" }, { IS_GONE }, { UPLOAD_CUT }, { LET_GO } } },
		{ "RFC 9110 15.5.9: it stops coming", "--between-bytes-timeout=10ms", 1, REFUSED, {
			{ SAYS, POST("Content-Length: 4\r\n") "bo" }, { HEARS, "HTTP/1.1 408 " }, { HAS_BEEN, "LINGER" }, { UPLOAD_CUT },
			{ LET_GO } } },
		{ "RFC 9112 9.3: the answer comes before its end", NULL, 1, REFUSED, { { SAYS, POST("Content-Length: 4\r\n") "bo" },
			{ COMES_TO, "WAIT" }, { BEGINS, .n = 3 }, { BODY, "one" }, { DONE }, { HEARS, "\r\n\r\none" }, { ENDED, "" },
			{ HAS_BEEN, "LINGER" } } },
		{ "RFC 9112 8: an upload that ends early ends an answer that the end of the connection delimits by a reset", NULL, 1,
			"IDLE HEAD WAIT SEND CLOSED ", { { SAYS, "POST /r/p HTTP/1.0\r\n" HOST "Content-Length: 4\r\n\r\nbo" },
			{ BEGINS, .n = -1 }, { BODY, "one" }, { HEARS, CLOSE "one" }, { SHUTS }, { IS_RESET, "" }, { IS_GONE } } },
	};

	world_run(rows, COUNT(rows));
}

/* What was gathered of answers goes out before the end: of a POST whose body never comes, here. */
static void flushed(void)
{
#define GATHERED { SAYS, GET("1") POST("Content-Length: 4\r\n") }, { SHUTS }, { KNOWS_END }, { ANSWERS_LONG }
	static const struct row rows[] = {
		{ "it takes the rest", NULL, 2, ONCE "HEAD WAIT FLUSH LINGER CLOSED ", { GATHERED, { COMES_TO, "FLUSH" },
			{ HEARS, "\r\n\r\n" }, { HEARS, "end" }, { ENDED, "" }, { IS_GONE } }, SMALL },
		{ "it leaves", NULL, 2, ONCE "HEAD WAIT FLUSH CLOSED ", { GATHERED, { COMES_TO, "FLUSH" }, { RESETS },
			{ IS_GONE } }, SMALL },
		{ "it takes nothing for too long", "--write-timeout=10ms", 2, ONCE "HEAD WAIT FLUSH CLOSED ", { GATHERED, { IS_GONE },
			{ IS_RESET } }, SMALL },
	};

	world_run(rows, COUNT(rows));
}

static void connects(void)
{
	static const struct row rows[] = {
		{ "connect-allow does not name it", "--connect-allow=o.test", 0, "IDLE HEAD CONNECT WAIT SEND IDLE LINGER CLOSED ", {
			{ SAYS, CONNECT("127.0.0.1:1") }, { HEARS, "HTTP/1.1 403 " }, { HEARS, CLOSE }, { HAS_BEEN, "LINGER" } } },
		{ "its name is not answered in time", "--connect-allow=o.test --connect-timeout=10ms", 0,
			"IDLE HEAD CONNECT WAIT SEND IDLE LINGER CLOSED ", { { SAYS, CONNECT("o.test:443") }, { HEARS, "HTTP/1.1 504 " },
			{ HAS_BEEN, "LINGER" } } },
		{ "the client leaves before there is a connection", "--connect-allow=o.test", 0, "IDLE HEAD CONNECT CLOSED ", {
			{ SAYS, CONNECT("o.test:443") }, { COMES_TO, "CONNECT" }, { RESETS }, { IS_GONE },
			{ COUNTS, .n = STAT_REQUESTS_DROPPED } } },
	};

	world_run(rows, COUNT(rows));
}

/* An origin of the test's own, and how the tunnel to it ends. */
static void tunnels(void)
{
	static const struct { const char *rule; struct step origin, client; } cases[] = {
		{ "RFC 9110 9.3.6: both sides end", { SHUTS }, { ENDED, "" } },
		{ "the origin's connection is lost", { RESETS }, { IS_RESET, "" } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		int listening = world_bound(SOCK_STREAM), port = ntohs(world.address.sin_port);
		char options[128], request[128];
		struct far *f, *origin = &world.fars[WORLD_FARS - 1];

		snprintf(options, sizeof options, "--allow=127.0.0.1:%d --connect-allow=127.0.0.1:%d", port, port);
		snprintf(request, sizeof request, "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: o\r\n\r\nearly", port);
		world_open(options, false);
		f = world_come(NULL);
		PLAY(cases[i].rule, f, { SAYS, request }, { COMES_TO, "TUNNEL" }, { HEARS, OK }, { HEARS, "\r\n\r\n" });
		CU_ASSERT_FATAL(world_has_come(listening) && (origin->fd = accept(listening, NULL, NULL)) >= 0);
		PLAY(cases[i].rule, origin, { HEARS, "early" }, { SAYS, "pong" });
		PLAY(cases[i].rule, f, { HEARS, "pong" }, { SAYS, "ping" });
		PLAY(cases[i].rule, origin, { HEARS, "ping" }, cases[i].origin);
		PLAY(cases[i].rule, f, cases[i].client, { LEAVES }, { IS_GONE });
		close(origin->fd);
		close(listening);
		world_close(cases[i].rule);
		UNIT_ROW(!strcmp(f->trace, "IDLE HEAD CONNECT TUNNEL IDLE CLOSED "), "%s: %s", cases[i].rule, f->trace);
	}
}

/* RFC 9112 section 9.6: who goes away says so in an answer, and closes what is idle only where nothing can be on its way any more. */
static void going_away(void)
{
	static const struct row rows[] = {
		{ "leave: the next answer is the last", NULL, 1, ONCE "CLOSED ", { { SAYS, GET("1") }, { COMES_TO, "WAIT" }, { LEAVE },
			{ ANSWERS, "one" }, { HEARS, CLOSE }, { ENDED, "one" }, { IS_GONE } } },
		{ "leave: an idle one stays for one answer", NULL, 1, ONCE "CLOSED ", { { COMES_TO, "IDLE" }, { LEAVE },
			{ SAYS, GET("1") }, { ANSWERS, "one" }, { HEARS, CLOSE }, { ENDED, "one" }, { IS_GONE } } },
		{ "leave: where the head is out already, the answer behind it", NULL, 2, ONCE AGAIN "CLOSED ", { { SAYS, GET("1") },
			{ BEGINS, .n = 3 }, { COMES_TO, "SEND" }, { LEAVE }, { BODY, "one" }, { DONE }, { HEARS, "\r\n\r\none" },
			{ SAYS, GET("2") }, { ANSWERS, "two" }, { HEARS, CLOSE }, { ENDED, "two" } } },
		{ "drain: the next answer is the last", NULL, 1, ONCE "CLOSED ", { { SAYS, GET("1") }, { COMES_TO, "WAIT" }, { DRAIN },
			{ ANSWERS, "one" }, { HEARS, CLOSE }, { ENDED, "one" }, { IS_GONE } } },
		{ "drain: an idle one is closed", "--keepalive-timeout=1h", 0, "IDLE CLOSED ", { { COMES_TO, "IDLE" }, { DRAIN },
			{ ENDED, "" }, { IS_GONE } } },
		{ "drain: what is on its way is answered", NULL, 1, ONCE "CLOSED ", { { COMES_TO, "IDLE" }, { SAYS, GET("1") }, { DRAIN },
			{ ANSWERS, "one" }, { HEARS, CLOSE }, { ENDED, "one" }, { IS_GONE } } },
	};

	world_run(rows, COUNT(rows));
}

/* Room for another: the one idle for longest, unless its request is there meanwhile. */
static void given_up(void)
{
	static const char rule[] = "max-connections: who is idle for longest is given up";
	struct far *first, *second, *third;
	unsigned changed;

	world_open(NULL, false);
	first = world_come(NULL);
	second = world_come(NULL);
	third = world_come(NULL);
	PLAY(rule, first, { SAYS, GET("1") }, { ANSWERS, "one" }, { HEARS, "\r\n\r\none" }, { COMES_TO, "IDLE" });
	client_pool_give_up(world.pool);
	PLAY(rule, second, { ENDED, "" }, { IS_GONE }, { COUNTS, .n = STAT_CLIENTS_GIVEN_UP });
	PLAY(rule, third, { SAYS, GET("2") });
	CU_ASSERT_FATAL(world_has_come(third->near));
	client_pool_give_up(world.pool);
	PLAY(rule, first, { ENDED, "" }, { IS_GONE });
	PLAY(rule, third, { COMES_TO, "WAIT" }, { FETCHES, .n = 2 });
	CU_ASSERT_FALSE(client_pool_has_idle(world.pool));
	client_pool_give_up(world.pool);
	CU_ASSERT_EQUAL(client_count(world.pool), 1);
	changed = world.changed;
	PLAY(rule, third, { ANSWERS, "two" }, { HEARS, "\r\n\r\ntwo" }, { COMES_TO, "IDLE" });
	CU_ASSERT(client_pool_has_idle(world.pool) && world.changed > changed);
	world_close(rule);
	CU_ASSERT_STRING_EQUAL(first->trace, ONCE "CLOSED ");
	CU_ASSERT_STRING_EQUAL(second->trace, "IDLE CLOSED ");
	CU_ASSERT_STRING_EQUAL(third->trace, ONCE "CLOSED ");
}

static void crowded(void)
{
	static const char rule[] = "client-connections: a further one is answered and is no client";
	struct far *first, *second;

	world_open("--client-connections=1", false);
	first = world_come(NULL);
	second = world_come(NULL);
	CU_ASSERT_EQUAL(client_count(world.pool), 1);
	PLAY(rule, second, { HEARS, "HTTP/1.1 429 " }, { ENDED });
	PLAY(rule, first, { LEAVES }, { IS_GONE });
	second = world_come(NULL);
	PLAY(rule, second, { SAYS, GET("1") }, { ANSWERS, "one" }, { HEARS, "\r\n\r\none" });
	world_close(rule);
}

void __real_client_enter(struct client *, enum client_state);

/* In a process of its own, for client_enter() ends one that goes another way. */
static bool may_enter(struct client c, enum client_state to)
{
	const struct rlimit none = { 0 };
	pid_t child = fork();
	int status = -1;

	if (!child) {
		setrlimit(RLIMIT_CORE, &none);
		close(STDERR_FILENO);
		__real_client_enter(&c, to);
		_exit(c.state != to);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	CU_ASSERT((WIFEXITED(status) && !WEXITSTATUS(status)) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
	return WIFEXITED(status);
}

#define USERS "test_client.users"
#define GUARDED "--client-auth=" USERS
#define WITH(field) "GET /r/1 HTTP/1.1\r\n" HOST field "\r\n"
#define ALICE "Authorization: Basic YWxpY2U6b3BlbiBzZXNhbWU=\r\n"
#define WRONG "Authorization: Basic YWxpY2U6b3BlbiBzZXNhbQ==\r\n"
#define COMPARED "HEAD AUTH WAIT SEND IDLE "

/* RFC 7617; what is remembered passes without being compared. */
static void guarded(void)
{
	static const struct row rows[] = {
		{ "client-auth: nothing shown", GUARDED, 0, ONCE "CLOSED ", { { SAYS, GET("1") }, { HEARS, "HTTP/1.1 401 " }, { COMES_TO, "IDLE" } } },
		{ "client-auth: wrong, then right, then remembered", GUARDED, 2, "IDLE " COMPARED COMPARED AGAIN "CLOSED ", {
			{ SAYS, WITH(WRONG) }, { HEARS, "HTTP/1.1 401 " }, { COMES_TO, "IDLE" }, { SAYS, WITH(ALICE) }, { ANSWERS, "one" },
			{ HEARS, "\r\n\r\none" }, { COMES_TO, "IDLE" }, { SAYS, WITH(ALICE) }, { ANSWERS, "two" }, { HEARS, "\r\n\r\ntwo" } } },
		{ "client-auth: pipelined", GUARDED, 2, "IDLE " COMPARED AGAIN COMPARED AGAIN "CLOSED ", {
			{ SAYS, WITH(ALICE) GET("1") WITH(WRONG) WITH(ALICE) }, { ANSWERS, "one" }, { HEARS, "\r\n\r\none" },
			{ HEARS, "HTTP/1.1 401 " }, { HEARS, "HTTP/1.1 401 " }, { ANSWERS, "two" }, { HEARS, "\r\n\r\ntwo" } } },
		{ "client-auth: the far end says no more meanwhile", GUARDED, 1, "IDLE " COMPARED "CLOSED ", { { SAYS, WITH(ALICE) }, { SHUTS },
			{ ANSWERS, "one" }, { HEARS, "\r\n\r\none" }, { IS_GONE } } },
		{ "client-auth: a body that nobody may send", GUARDED, 0, "IDLE " COMPARED "LINGER CLOSED ", {
			{ SAYS, POST(WRONG "Content-Length: 3\r\n") "one" }, { HEARS, "HTTP/1.1 401 " }, { HEARS, CLOSE }, { HAS_BEEN, "LINGER" } } },
		{ "client-auth: a tunnel that nobody may have", GUARDED " --connect-allow=h", 0, REFUSED, { { SAYS, CONNECT("h:443") },
			{ HEARS, "HTTP/1.1 407 " }, { HEARS, CLOSE }, { HAS_BEEN, "LINGER" } } },
	};
	FILE *users = fopen(USERS, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(users);
	fputs("alice:$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n", users);
	fclose(users);
	world_run(rows, COUNT(rows));
	remove(USERS);
}

/* No state is followed by any but those that client.h tells, by client_enter()'s own table and in all rows before. */
static void closed(void)
{
	static struct exchange some;

	for (size_t from = CL_IDLE; from <= CL_CLOSED; from++)
		for (size_t to = CL_IDLE; to <= CL_CLOSED; to++) {
			bool legal = strstr(world_follow[from], world_names[to]);
			struct client c = { .state = from, .exchange = &some, .tunnel = to == CL_TUNNEL ? (struct tunnel *)&c : NULL,
				.login = to == CL_AUTH ? (struct login_waiter *)&c : NULL, .h2 = to == CL_STREAMS ? (struct h2 *)&c : NULL };

			UNIT_ROW(may_enter(c, to) == legal, "%s to %s", world_names[from], world_names[to]);
			UNIT_ROW(legal || !(world_walked[from] >> to & 1), "%s to %s was seen", world_names[from], world_names[to]);
		}
}

/* What cannot be so in a state. */
static void combinations(void)
{
	static struct exchange some, starved = { .body_starved = true };
	struct client c;
	const struct { const char *rule; struct client c; enum client_state to; } cases[] = {
		{ "a head without an exchange", { .state = CL_IDLE }, CL_HEAD },
		{ "listed as idle while a request comes", { .state = CL_IDLE, .exchange = &some, .listed = true }, CL_HEAD },
		{ "a body that waits before its request is answered", { .state = CL_HEAD, .exchange = &starved }, CL_CONNECT },
		{ "a tunnel without one", { .state = CL_CONNECT, .exchange = &some }, CL_TUNNEL },
		{ "an answer beside a tunnel", { .state = CL_CONNECT, .exchange = &some, .tunnel = (struct tunnel *)&c }, CL_WAIT },
		{ "a tunnel while the connection is being opened",
			{ .state = CL_CONNECT, .exchange = &some, .tunnel = (struct tunnel *)&c, .opening = (void *)&c }, CL_TUNNEL },
		{ "a password that nobody compares", { .state = CL_HEAD, .exchange = &some }, CL_AUTH },
		{ "an answer while a password is compared", { .state = CL_AUTH, .exchange = &some, .login = (void *)&c }, CL_WAIT },
		{ "streams without a session", { .state = CL_IDLE }, CL_STREAMS },
		{ "a session, and closed", { .state = CL_STREAMS, .h2 = (struct h2 *)&c }, CL_CLOSED },
		{ "blocked, and closed", { .state = CL_SEND, .exchange = &some, .blocked = true }, CL_CLOSED },
		{ "listed, and closed", { .state = CL_IDLE, .listed = true }, CL_CLOSED },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		UNIT_ROW(!may_enter(cases[i].c, cases[i].to), "%s", cases[i].rule);
}

UNIT_SUITE(client, { "answered", answered }, { "refused", refused }, { "leaving", leaving }, { "cut", cut }, { "uploads", uploads },
	{ "flushed", flushed }, { "connects", connects }, { "tunnels", tunnels }, { "going away", going_away }, { "given up", given_up },
	{ "crowded", crowded }, { "guarded", guarded }, { "closed", closed }, { "combinations", combinations })
