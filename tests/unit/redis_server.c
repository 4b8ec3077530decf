/* A server of the test's own; see redis_server.h. */
#include "proxy/store/store_redis.h"
#include "tests/unit/redis_server.h"

#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PORTS_TRIED = 5, WAKES_NAPS = 6000 };

struct redis_server redis_server = { .timeout_ms = 60000 };

static char certificate_file[96], key_file[96];

/* Of 127.0.0.1 and signed by itself, so that it is its own authority. false: no openssl command. */
static bool certificate_make(void)
{
	char command[512];

	snprintf(certificate_file, sizeof certificate_file, "%s/cert.pem", stores_folder());
	snprintf(key_file, sizeof key_file, "%s/key.pem", stores_folder());
	snprintf(command, sizeof command, "mkdir -p %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test "
	    "-addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s >/dev/null 2>&1", stores_folder(), key_file, certificate_file);
	return !system(command);
}

static uint16_t free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&a, sizeof a) || getsockname(fd, (struct sockaddr *)&a, &len))
		abort();
	close(fd);
	return ntohs(a.sin_port);
}

void redis_server_start(void)
{
	char port[8];
	const char *argv[] = { redis_server.program, redis_server.tls ? "--tls-port" : "--port", port, "--bind", "127.0.0.1", "--save", "",
		"--appendonly", "no", "--requirepass", "se cret", "--dir", "/", redis_server.tls ? "--port" : NULL, "0",
		"--tls-auth-clients", "no", "--tls-cert-file", certificate_file, "--tls-key-file", key_file, "--tls-ca-cert-file", certificate_file, NULL };
	int null;

	snprintf(port, sizeof port, "%u", redis_server.port);
	if ((redis_server.pid = fork()))
		return;
	null = open("/dev/null", O_RDWR);
	dup2(null, 1);
	dup2(null, 2);
	execvp(argv[0], (char **)(uintptr_t)argv);
	_exit(127);
}

void redis_server_stop(void)
{
	if (!redis_server.pid)
		return;
	kill(redis_server.pid, SIGKILL);
	waitpid(redis_server.pid, NULL, 0);
	redis_server.pid = 0;
}

const char *redis_server_missing(const char *program, bool tls)
{
	static char why[64];
	char command[64];

	redis_server.program = program;
	redis_server.tls = tls;
	snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
	snprintf(why, sizeof why, "no %s", program);
	if (system(command))
		return why;
#ifndef HAVE_HIREDIS_SSL
	if (tls)
		return "hiredis has no TLS here";
#endif
	return tls && !certificate_make() ? "no openssl command" : NULL;
}

static bool redis_server_has_ended(void)
{
	if (redis_server.pid && waitpid(redis_server.pid, NULL, WNOHANG) == redis_server.pid)
		redis_server.pid = 0;
	return !redis_server.pid;
}

bool redis_server_wakes(struct store *s)
{
	for (int i = 0; i < WAKES_NAPS && !redis_server_has_ended(); i++, stores_nap()) {
		stores_put(s, "awake\n", 1, 10);
		if (stores_holds(s, "awake\n", 1, 10))
			return true;
	}
	return false;
}

struct store *redis_server_open(const char *password, const char *prefix)
{
	static char host[] = "127.0.0.1";
	static struct conf_redis where = { .servers = { { .host = host } }, .n = 1 };
	struct redis_settings settings = { .where = &where, .password = password, .prefix = prefix,
		.names = { "", "/dev/null", "/dev/null" }, .timeout_ms = redis_server.timeout_ms, .tls = redis_server.tls, .ca_file = redis_server.tls ? certificate_file : NULL };

	where.servers[0].port = redis_server.port;
	return store_redis_new(&settings);
}

struct store *redis_server_store(void)
{
	struct store *s = NULL;
	bool wakes;
	int tried = 0;

	/* A server whose port another process has taken meanwhile ends at once. */
	do {
		if (s)
			s->ops->free(s);
		redis_server.port = free_port();
		redis_server_start();
		s = redis_server.store = redis_server_open("se cret", "u*t:");
		wakes = redis_server_wakes(s);
	} while (!wakes && !redis_server.pid && ++tried < PORTS_TRIED);
	CU_ASSERT_FATAL(wakes);
	s->ops->remove(s, "awake\n", 6);
	return s;
}

void redis_server_clear(void)
{
	redis_server_stop();
	if (redis_server.tls)
		stores_folder_clear();
}
