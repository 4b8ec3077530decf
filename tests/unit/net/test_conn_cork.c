/* Owns the cases of proxy/net/conn_cork.c: what is gathered goes out once, first, and from no other connection. Must not know: HTTP.
 * Invariant: a pair of local sockets, nothing else. */
#include "proxy/net/conn.h"
#include "proxy/net/cork.h"
#include "proxy/net/loop.h"
#include "tests/unit/unit.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void ignore(void *arg, enum conn_event event)
{
	(void)arg, (void)event;
}

/* Whose other end is *far; it takes little at once. */
static struct conn *connected(struct loop *l, int *far)
{
	struct sockaddr_in peer = { .sin_family = AF_INET };
	int ends[2], smallest = 1;
	struct conn *c;

	CU_ASSERT_FATAL(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
	CU_ASSERT_FATAL(!setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest));
	c = conn_new(l, ends[0], (struct sockaddr *)&peer, sizeof peer, ignore, NULL);
	CU_ASSERT_FATAL(c != NULL);
	*far = ends[1];
	return c;
}

/* Pieces come as the bytes that they are together, whether they went out in one copy or as they lay. */
static void pieces(void)
{
	static const struct { size_t first, middle, last; } rows[] = { { 1, 0, 0 }, { 9000, 0, 0 }, { 100, 1, 2000 }, { 4000, 95, 0 },
		{ 4000, 90, 6 }, { 4000, 90, 7 }, { 1, 4096, 0 }, { 1, 2, 9000 } };
	struct loop *l = loop_new();
	char bytes[GATHER_BYTES];
	struct conn *c;
	int far;

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * 7 + i / 256);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t sum = rows[i].first + rows[i].middle + rows[i].last;
		struct iovec iov[] = { { bytes, rows[i].first }, { bytes + rows[i].first, rows[i].middle },
			{ bytes + rows[i].first + rows[i].middle, rows[i].last } };
		char got[GATHER_BYTES];
		ssize_t sent, n;

		c = connected(l, &far);
		sent = conn_writev(c, iov, rows[i].last ? 3 : rows[i].middle ? 2 : 1);
		n = recv(far, got, sizeof got, 0);
		UNIT_ROW(sent > 0 && (size_t)sent <= sum && n == sent && !memcmp(got, bytes, (size_t)n), "%zu bytes", sum);
		conn_close(&c);
		close(far);
	}
	loop_free(&l);
}

static bool gather(struct conn *c, const char *at, size_t len)
{
	struct iovec halves[] = { { (char *)(uintptr_t)at, len / 2 }, { (char *)(uintptr_t)at + len / 2, len - len / 2 } };

	return conn_cork(c, halves, 2);
}

static bool comes(int far, const char *expected, size_t len)
{
	char got[GATHER_BYTES + 1];
	ssize_t n = recv(far, got, sizeof got, 0);

	return len ? n == (ssize_t)len && !memcmp(got, expected, len) : n < 0;
}

static void goes_with_what_follows(void)
{
	struct loop *l = loop_new();
	struct iovec last = { (char[]){ "last" }, 4 };
	int far;
	struct conn *c = connected(l, &far);

	CU_ASSERT(gather(c, "one ", 4) && gather(c, "two ", 4) && conn_unsent(c) == 8 && comes(far, "", 0));
	CU_ASSERT(conn_writev(c, &last, 1) == 4 && !conn_unsent(c) && comes(far, "one two last", 12));
	CU_ASSERT(gather(c, "more", 4) && conn_writev_more(c, &last, 1) == 4 && comes(far, "morelast", 8));
	CU_ASSERT(gather(c, "alone", 5) && !conn_flush(c) && !conn_unsent(c) && comes(far, "alone", 5) && !conn_flush(c));
	conn_close(&c);
	close(far);
	loop_free(&l);
}

static void one_at_a_time(void)
{
	char *full = calloc(1, GATHER_BYTES);
	struct loop *l = loop_new();
	int far[2];
	struct conn *first = connected(l, &far[0]), *second = connected(l, &far[1]);

	CU_ASSERT(gather(first, "first", 5) && !gather(second, "second", 6) && !conn_unsent(second));
	CU_ASSERT(!gather(first, full, GATHER_BYTES - 4) && conn_unsent(first) == 5);
	CU_ASSERT(!conn_flush(first) && gather(second, "second", 6) && !gather(first, "first", 5));
	conn_close(&second);
	CU_ASSERT(gather(first, full, GATHER_BYTES) && comes(far[0], "first", 5));
	conn_abort(&first);
	close(far[0]);
	close(far[1]);
	loop_free(&l);
	free(full);
}

/* What the socket does not take is the connection's own: others gather meanwhile, it does not. */
static void kept(void)
{
	enum { LEN = 60000 };
	char *bytes = malloc(LEN), got[LEN + 4];
	struct iovec last = { (char[]){ "last" }, 4 };
	struct loop *l = loop_new();
	size_t came = 0, before;
	int far, other_far, turns = 0;
	struct conn *c = connected(l, &far), *other = connected(l, &other_far);
	ssize_t n, sent = CONN_AGAIN;

	for (size_t i = 0; i < LEN; i++)
		bytes[i] = (char)(i * 31 % 251);
	CU_ASSERT_FATAL(gather(c, bytes, LEN) && conn_flush(c) == CONN_AGAIN);
	before = conn_unsent(c);
	CU_ASSERT(before && before < LEN && !gather(c, "x", 1));
	CU_ASSERT(gather(other, "other", 5) && !conn_flush(other) && comes(other_far, "other", 5));
	do {
		if ((n = recv(far, got + came, sizeof got - came, 0)) > 0)
			came += (size_t)n;
		if (sent == CONN_AGAIN)
			sent = conn_writev(c, &last, 1);
	} while (came < sizeof got && ++turns < LEN);
	CU_ASSERT(sent == 4 && !conn_unsent(c) && came == sizeof got);
	CU_ASSERT(!memcmp(got, bytes, LEN) && !memcmp(got + LEN, "last", 4));
	CU_ASSERT(gather(c, bytes, LEN) && conn_flush(c) == CONN_AGAIN);
	conn_close(&c);
	conn_close(&other);
	close(far);
	close(other_far);
	loop_free(&l);
	free(bytes);
}

UNIT_SUITE(conn_cork, { "pieces", pieces }, { "goes with what follows", goes_with_what_follows }, { "one at a time", one_at_a_time }, { "kept", kept })
