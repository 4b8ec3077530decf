/* A session of HTTP/2 on a socket pair; see h2_world.h. */
#include "tests/unit/h2_world.h"

#include "proxy/http/h2_fields.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SENDS = 4096 };                         /* what the kernel holds of what the session writes; it doubles that */

struct h2_world world;

static void on_idle(void *arg)
{
	(void)arg;
	if (world.h2->open)
		abort();
	world.idles++;
}

static void on_room(void *arg)
{
	(void)arg;
	world.rooms++;
}

static void on_ended(void *arg, bool lost)
{
	(void)arg, (void)lost;
	world.endings++;
	h2_free(&world.h2);
	conn_want(world.conn, false, false);
}

static void on_conn(void *arg, enum conn_event event)
{
	(void)arg, (void)event;
	if (world.h2)
		h2_on_event(world.h2);
}

static void on_stop(struct task *task)
{
	(void)task;
	loop_stop(world.loop);
}

bool h2_world_open(const struct h2_settings *settings, void (*opened)(void *arg, struct conn *))
{
	static const struct sockaddr_in peer = { .sin_family = AF_INET };
	const struct h2_translation *translation = opened ? &h2_server_side : &h2_client_side;
	const struct h2_owner owner = { .opened = opened, .room = on_room, .idle = on_idle, .ended = on_ended };
	int ends[2], size = SENDS;

	signal(SIGPIPE, SIG_IGN);              /* as the server does */
	world = (struct h2_world){ .loop = world.loop ? world.loop : loop_new(), .stop = { .run = on_stop } };
	if (!world.loop || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends))
		return false;
	world.far = ends[1];
	return !setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size) &&
	    (world.conn = conn_new(world.loop, ends[0], (const struct sockaddr *)&peer, sizeof peer, on_conn, NULL)) &&
	    (world.h2 = (opened ? h2_serve : h2_ask)(world.conn, world.loop, settings, translation, &owner));
}

bool h2_world_turn(void)
{
	loop_defer(world.loop, &world.stop);
	return !loop_run(world.loop);
}

int h2_world_pieces(struct slice head, size_t body, const char *foot, size_t at, size_t max, struct iovec iov[3])
{
	static const char bytes[H2_WORLD_BODY];
	const struct slice all[3] = { head, { bytes, body }, { foot, strlen(foot) } };
	int n = 0;

	if (body > H2_WORLD_BODY)
		abort();
	for (size_t i = 0; i < 3; i++) {
		size_t part = all[i].len > at ? all[i].len - at : 0, before = all[i].len - part;

		at -= before;
		part = part < max ? part : max;
		max -= part;
		if (part)
			iov[n++] = (struct iovec){ (void *)(uintptr_t)(all[i].at + before), part };
	}
	return n;
}

void h2_world_close(void)
{
	h2_free(&world.h2);
	conn_close(&world.conn);
	close(world.far);
}
