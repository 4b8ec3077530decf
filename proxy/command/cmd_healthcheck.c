/* Owns `utfeed healthcheck`: one blocking request to a running utfeed, for images that have neither shell nor curl.
 * Must not know: how an answer is made. Invariant: it ends within HEALTHCHECK_S, whatever the other side does. */
#include "proxy/command/cmd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/conf.h"

static const char usage[] = "utfeed healthcheck [http://ADDRESS:PORT[/PATH]]";

enum { HEALTHCHECK_S = 4 };

struct health_target {
	char host[64]; /* an address without brackets */
	char socket[CONF_UNIX_PATH_MAX + 1]; /* the path of a Unix socket in the place of an address; "": none */
	bool ipv6;
	uint16_t port;
	char path[256];
	bool any; /* any answer will do: it is no admin listener that is asked */
};

/* An address that stands for all of this machine's is asked by loopback. */
static void health_of_listener(struct health_target *t, const struct conf_listen *l, const char *path)
{
	const char *host = l->host;

	snprintf(t->path, sizeof t->path, "%s", path);
	if (l->path) {
		snprintf(t->host, sizeof t->host, "localhost");
		snprintf(t->socket, sizeof t->socket, "%s", l->path);
		return;
	}
	if (!strcmp(host, "0.0.0.0"))
		host = "127.0.0.1";
	else if (!strcmp(host, "::"))
		host = "::1";
	snprintf(t->host, sizeof t->host, "%s", host);
	t->ipv6 = l->ipv6;
	t->port = l->port;
}

/* Takes the address from what utfeed itself would be configured with by variables. -1: there is none. */
static int health_from_conf(struct health_target *t)
{
	char name[] = "healthcheck", *argv[] = { name, NULL };
	struct conf *conf = conf_new();
	struct conf_error error = { "out of memory" };
	int status = -1;

	if (!conf || conf_load(conf, 1, argv, environ, &error))
		fprintf(stderr, "utfeed: %s\n", error.text);
	else if (conf->admin_listen.count) {
		health_of_listener(t, &conf->admin_listen.items[0], "/healthz");
		status = 0;
	} else if (conf->listen.count) {
		health_of_listener(t, &conf->listen.items[0], "/");
		t->any = true;
		status = 0;
	} else
		fputs("utfeed: neither admin-listen nor listen says where to ask\n", stderr);
	conf_free(&conf);
	return status;
}

static int health_from_url(struct health_target *t, const char *text)
{
	struct url u;
	enum url_error e = url_parse(text, strlen(text), &u);

	if (e != URL_OK || u.scheme != URL_HTTP || u.host.len >= sizeof t->host || u.target.len >= sizeof t->path) {
		fprintf(stderr, "utfeed: %s\n", e == URL_OK ? "the URL must be short, and of http" : url_error_text(e));
		return -1;
	}
	snprintf(t->host, sizeof t->host, "%.*s", (int)u.host.len, text + u.host.at);
	snprintf(t->path, sizeof t->path, "%.*s", (int)u.target.len, text + u.target.at);
	if (!u.target.len)
		strcpy(t->path, "/healthz");
	if (!strcmp(t->host, "localhost"))
		strcpy(t->host, "127.0.0.1");
	t->ipv6 = u.ipv6;
	t->port = u.port;
	return 0;
}

/* The length of the address; 0: there is none of that text. */
static socklen_t health_address(const struct health_target *t, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *in6 = (void *)out;
	struct sockaddr_in *in = (void *)out;
	struct sockaddr_un *un = (void *)out;

	*out = (struct sockaddr_storage){ .ss_family = *t->socket ? AF_UNIX : t->ipv6 ? AF_INET6 : AF_INET };
	if (*t->socket) {
		memcpy(un->sun_path, t->socket, strlen(t->socket) + 1);
		return sizeof *un;
	}
	in->sin_port = htons(t->port); /* in6 has it in the same place */
	if (t->ipv6)
		return inet_pton(AF_INET6, t->host, &in6->sin6_addr) == 1 ? sizeof *in6 : 0;
	return inet_pton(AF_INET, t->host, &in->sin_addr) == 1 ? sizeof *in : 0;
}

/* A descriptor on which each read and write ends in time; -1: errno says why. */
static int health_connect(const struct health_target *t)
{
	const struct timeval limit = { 1, 0 };
	struct sockaddr_storage address;
	socklen_t len = health_address(t, &address);
	int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	errno = EINVAL;
	if (len && !connect(fd, (struct sockaddr *)&address, len))
		return fd;
	close(fd);
	return -1;
}

/* Reads the answer's beginning, as far as it fits. -1: errno says why. */
static ssize_t health_read(int fd, char *answer, size_t cap)
{
	size_t len = 0;

	for (int reads = 0; reads < HEALTHCHECK_S && len < cap; reads++) {
		ssize_t n = recv(fd, answer + len, cap - len, 0);

		if (n < 0)
			return -1;
		if (!n)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/* Asks, and tells the answer's status; -1: there is none, and errno says why. */
static int health_ask(int fd, const struct health_target *t, char *answer, size_t cap)
{
	char request[512];
	int n = snprintf(request, sizeof request,
	    "GET %s HTTP/1.1\r\nHost: %s%s%s\r\nUser-Agent: utfeed-healthcheck\r\nConnection: close\r\n\r\n", t->path,
	    t->ipv6 ? "[" : "", t->host, t->ipv6 ? "]" : "");
	ssize_t len;
	int status;

	if (send(fd, request, (size_t)n, MSG_NOSIGNAL) != n || (len = health_read(fd, answer, cap - 1)) < 0)
		return -1;
	answer[len] = '\0';
	errno = EPROTO;
	return sscanf(answer, "HTTP/1.%*1[01] %3d", &status) == 1 ? status : -1;
}

static int health_tell(const struct health_target *t, int status, const char *answer)
{
	const char *body = strstr(answer, "\r\n\r\n");

	if (status == 200 || (t->any && status < 500)) {
		puts("healthy");
		return CMD_OK;
	}
	printf("unhealthy: %d: ", status);
	for (body = body ? body + 4 : ""; *body; body++)
		if ((*body >= 0x20 && *body < 0x7f) || *body == '\n')
			putchar(*body);
	return CMD_BROKEN;
}

int cmd_healthcheck(int argc, char **argv)
{
	struct health_target t = { .port = 0 };
	char answer[4096];
	int fd, status;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-'))
		return argc == 2 && !strcmp(argv[1], "--help") ? (printf("usage: %s\n", usage), CMD_OK)
		                                               : cmd_usage(usage, NULL, NULL);
	if (argc == 2 ? health_from_url(&t, argv[1]) : health_from_conf(&t))
		return CMD_USAGE;
	if ((fd = health_connect(&t)) < 0) {
		printf("unhealthy: %s\n", strerror(errno));
		return CMD_BROKEN;
	}
	status = health_ask(fd, &t, answer, sizeof answer);
	close(fd);
	if (status < 0) {
		printf("unhealthy: %s\n", strerror(errno));
		return CMD_BROKEN;
	}
	return health_tell(&t, status, answer);
}
