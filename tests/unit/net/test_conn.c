/* Owns the cases of proxy/net/conn.c that its users' tests do not tell apart: when a connection is known to be quiet. Must not know:
 * HTTP. Invariant: pairs of local sockets, nothing else. */
#include "proxy/net/conn.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/net/loop.h"
#include "tests/unit/unit.h"

enum { PAIR = 2 };

static struct {
	struct loop *loop;
	struct conn *conns[PAIR];
	int fars[PAIR];
	unsigned events;
	bool other_quiet[PAIR], quiet_then[PAIR];      /* by the order of the events */
} world;

/* Notes whether the other one is quiet, then reads all there is. */
static void on_conn(void *arg, enum conn_event event)
{
	size_t which = (size_t)((struct conn **)arg - world.conns);
	char bytes[8];

	CU_ASSERT(event == CONN_READABLE && world.events < PAIR);
	world.other_quiet[world.events] = conn_is_quiet(world.conns[!which]);
	CU_ASSERT_EQUAL(conn_read(world.conns[which], bytes, sizeof bytes), 1);
	world.quiet_then[world.events] = conn_is_quiet(world.conns[which]);
	if (++world.events == PAIR)
		loop_stop(world.loop);
}

static void world_open(void)
{
	struct sockaddr_in peer = { .sin_family = AF_INET };

	memset(&world, 0, sizeof world);
	CU_ASSERT_PTR_NOT_NULL_FATAL(world.loop = loop_new());
	for (size_t i = 0; i < PAIR; i++) {
		int ends[2];

		CU_ASSERT_FATAL(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
		world.fars[i] = ends[1];
		world.conns[i] = conn_new(world.loop, ends[0], (struct sockaddr *)&peer, sizeof peer, on_conn, &world.conns[i]);
		CU_ASSERT_PTR_NOT_NULL_FATAL(world.conns[i]);
		conn_want(world.conns[i], true, false);
	}
}

static void world_close(void)
{
	for (size_t i = 0; i < PAIR; i++) {
		conn_close(&world.conns[i]);
		close(world.fars[i]);
	}
	loop_free(&world.loop);
}

/* What a read left behind, or may have, is not known; the peer's end is no quiet either. */
static void by_reads(void)
{
	struct conn *c;
	char bytes[8];

	world_open();
	c = world.conns[0];
	CU_ASSERT(!conn_is_quiet(c));
	CU_ASSERT(conn_read(c, bytes, sizeof bytes) == CONN_AGAIN && conn_is_quiet(c));
	CU_ASSERT_EQUAL(write(world.fars[0], "four", 4), 4);
	CU_ASSERT(conn_read(c, bytes, 2) == 2 && !conn_is_quiet(c));
	CU_ASSERT(conn_read(c, bytes, 2) == 2 && !conn_is_quiet(c));
	CU_ASSERT(conn_read(c, bytes, 2) == CONN_AGAIN && conn_is_quiet(c));
	CU_ASSERT_EQUAL(shutdown(world.fars[0], SHUT_WR), 0);
	CU_ASSERT(conn_read(c, bytes, 2) == CONN_EOF && !conn_is_quiet(c));
	world_close();
}

/* Both have something to read in one turn of the loop: while the first is told, the second is not quiet any more. */
static void by_events(void)
{
	char byte;

	world_open();
	for (size_t i = 0; i < PAIR; i++)
		CU_ASSERT(conn_read(world.conns[i], &byte, 1) == CONN_AGAIN && write(world.fars[i], "x", 1) == 1);
	CU_ASSERT_EQUAL(loop_run(world.loop), 0);
	CU_ASSERT(!world.other_quiet[0] && world.quiet_then[0]);
	CU_ASSERT(world.other_quiet[1] && world.quiet_then[1]);
	world_close();
}

UNIT_SUITE(conn, { "quiet by what was read", by_reads }, { "quiet by what the loop has heard", by_events })
