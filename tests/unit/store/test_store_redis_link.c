/* Owns the cases of when a link knows whether a server is there. Must not know: what is asked of it. */
#include "proxy/store/store_redis_link.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TRIES = 8, SOON_MS = 20000 };

/* What the link knew each time that it was lost. */
static struct lost { bool knew[TRIES]; unsigned n; } lost;

static void on_greeted(struct redis_link *link)
{
	(void)link;
}

static void on_lost(struct redis_link *link)
{
	if (link->closed || lost.n == TRIES)
		return;
	lost.knew[lost.n++] = link->known;
	if (link->known)
		loop_stop(link->loop);
}

/* A port where nobody listens while it is held; silent: where nobody answers. */
static uint16_t port_of(int *fd, bool silent)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof a;

	*fd = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(*fd, (struct sockaddr *)&a, sizeof a) || getsockname(*fd, (struct sockaddr *)&a, &len) || (silent && listen(*fd, 8)))
		abort();
	return ntohs(a.sin_port);
}

/* Opens a link to n servers, all of which refuse but the one with that number, and closes it once it knows. */
static unsigned tries(enum conf_redis_kind kind, size_t n, size_t silent, int timeout_ms)
{
	static const struct redis_link_work work = { .greeted = on_greeted, .lost = on_lost };
	static char host[] = "127.0.0.1", name[] = "feeds";
	struct conf_redis where = { .kind = kind, .name = name, .n = n };
	struct redis_settings settings = { .where = &where, .prefix = "", .names = { "", "/dev/null", "/dev/null" }, .timeout_ms = timeout_ms };
	struct redis_link link = { 0 };
	struct store_redis_why why;
	struct loop *loop = loop_new();
	int fds[TRIES];

	for (size_t i = 0; i < n; i++)
		where.servers[i] = (struct conf_redis_server){ .host = host, .port = port_of(&fds[i], i == silent) };
	struct redis_access *access = redis_access_new(&settings, &why);
	lost = (struct lost){ 0 };
	redis_link_open(&link, access, loop, &work);
	if (!link.known && loop_run(loop))
		abort();
	redis_link_close(&link);
	redis_access_unref(&access);
	loop_free(&loop);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	return lost.n;
}

static bool knew_at_last_alone(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (lost.knew[i] != (i + 1 == n))
			return false;
	return lost.n == n;
}

static void who_refuses(void)
{
	static const struct { enum conf_redis_kind kind; size_t n; const char *what; } rows[] = {
		{ CONF_REDIS_SERVER, 1, "a server" }, { CONF_REDIS_CLUSTER, 1, "a node" }, { CONF_REDIS_CLUSTER, 3, "three nodes" },
		{ CONF_REDIS_SENTINEL, 1, "a Sentinel" }, { CONF_REDIS_SENTINEL, 4, "four Sentinels" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		UNIT_ROW(tries(rows[i].kind, rows[i].n, TRIES, SOON_MS) == rows[i].n && knew_at_last_alone((unsigned)rows[i].n),
		    "%s: %u tries", rows[i].what, lost.n);
}

/* Each is tried at once, whatever the others took. */
static void who_is_silent(void)
{
	UNIT_ROW(tries(CONF_REDIS_CLUSTER, 3, 1, 200) == 3 && knew_at_last_alone(3), "the second of three: %u tries", lost.n);
}

UNIT_SUITE(store_redis_link, { "who-refuses", who_refuses }, { "who-is-silent", who_is_silent })
