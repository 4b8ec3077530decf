/* One request to the admin listener; see admin_ask.h. */
#include "proxy/command/admin_ask.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "conf/url.h"

enum { ADMIN_ASK_MAX = 1 << 20, ADMIN_ASK_READ = 8192, ADMIN_ASK_CONNECT_S = 1 };

void admin_target_of_listener(struct admin_target *target, const struct conf_listen *listen, const char *path)
{
	const char *host = listen->host;

	snprintf(target->path, sizeof target->path, "%s", path);
	if (listen->path) {
		snprintf(target->host, sizeof target->host, "localhost");
		snprintf(target->socket, sizeof target->socket, "%s", listen->path);
		return;
	}
	if (!strcmp(host, "0.0.0.0"))
		host = "127.0.0.1";
	else if (!strcmp(host, "::"))
		host = "::1";
	snprintf(target->host, sizeof target->host, "%s", host);
	target->ipv6 = listen->ipv6;
	target->port = listen->port;
}

int admin_target_of_url(struct admin_target *target, const char *text, const char *path)
{
	struct url u;
	enum url_error e = url_parse(text, strlen(text), &u);

	if (e != URL_OK || u.scheme != URL_HTTP || u.host.len >= sizeof target->host ||
	    u.target.len >= sizeof target->path) {
		fprintf(stderr, "utfeed: the URL cannot be used: %s; write http://ADDRESS:PORT\n",
		    e == URL_OK ? "it is too long, or not of http" : url_error_text(e));
		return -1;
	}
	snprintf(target->host, sizeof target->host, "%.*s", (int)u.host.len, text + u.host.at);
	snprintf(target->path, sizeof target->path, "%.*s", (int)u.target.len, text + u.target.at);
	if (!u.target.len)
		snprintf(target->path, sizeof target->path, "%s", path);
	if (!strcmp(target->host, "localhost"))
		strcpy(target->host, "127.0.0.1");
	target->ipv6 = u.ipv6;
	target->port = u.port;
	return 0;
}

int admin_target_of_text(struct admin_target *target, const char *text, const char *path)
{
	static const char word[] = "unix:";
	size_t len = sizeof word - 1;
	struct conf_listen listen = { .path = (char *)(uintptr_t)text + len };

	if (strncmp(text, word, len) != 0)
		return admin_target_of_url(target, text, path);
	if (text[len] != '/' || strlen(text + len) > CONF_UNIX_PATH_MAX) {
		fprintf(stderr, "utfeed: %s: is not the path of a socket; write unix:/PATH of at most %d bytes\n", text,
		    CONF_UNIX_PATH_MAX);
		return -1;
	}
	admin_target_of_listener(target, &listen, path);
	return 0;
}

/* The length of the address; 0: there is none of that text. */
static socklen_t target_address(const struct admin_target *target, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *in6 = (void *)out;
	struct sockaddr_in *in = (void *)out;
	struct sockaddr_un *un = (void *)out;

	*out = (struct sockaddr_storage){ .ss_family = *target->socket ? AF_UNIX : target->ipv6 ? AF_INET6 : AF_INET };
	if (*target->socket) {
		memcpy(un->sun_path, target->socket, strlen(target->socket) + 1);
		return sizeof *un;
	}
	in->sin_port = htons(target->port); /* in6 has it in the same place */
	if (target->ipv6)
		return inet_pton(AF_INET6, target->host, &in6->sin6_addr) == 1 ? sizeof *in6 : 0;
	return inet_pton(AF_INET, target->host, &in->sin_addr) == 1 ? sizeof *in : 0;
}

static void target_patience(int fd, time_t seconds)
{
	const struct timeval limit = { seconds, 0 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

/* -1: errno says why. */
static int target_connect(const struct admin_target *target)
{
	struct sockaddr_storage address;
	socklen_t len = target_address(target, &address);
	int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	target_patience(fd, ADMIN_ASK_CONNECT_S);
	errno = EINVAL;
	if (len && !connect(fd, (struct sockaddr *)&address, len))
		return fd;
	close(fd);
	return -1;
}

static time_t monotonic_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Reads the next bytes. 1: there may be more; 0: the end; -1: errno says why. */
static int target_read(int fd, time_t until, char **answer, size_t *len)
{
	time_t left = until - monotonic_s();
	char *grown;
	ssize_t n;

	errno = left <= 0 ? ETIMEDOUT : EMSGSIZE;
	if (left <= 0 || *len > ADMIN_ASK_MAX || !(grown = realloc(*answer, *len + ADMIN_ASK_READ + 1)))
		return -1;
	*answer = grown;
	target_patience(fd, left);
	if ((n = recv(fd, grown + *len, ADMIN_ASK_READ, 0)) < 0)
		return -1;
	grown[*len += (size_t)n] = '\0';
	return n > 0;
}

/* A token may be longer than a line of a terminal. */
static int target_send(int fd, const struct admin_target *target)
{
	bool token = target->token && *target->token;
	char *request;
	int n = asprintf(&request,
	    "%s %s HTTP/1.1\r\nHost: %s%s%s\r\nUser-Agent: utfeed\r\nConnection: close\r\n%s%s%s%s\r\n",
	    target->post ? "POST" : "GET", target->path, target->ipv6 ? "[" : "", target->host, target->ipv6 ? "]" : "",
	    target->post ? "Content-Length: 0\r\n" : "", token ? "Authorization: Bearer " : "",
	    token ? target->token : "", token ? "\r\n" : "");
	bool sent = n >= 0 && send(fd, request, (size_t)n, MSG_NOSIGNAL) == n;

	if (n >= 0)
		free(request);
	return sent ? 0 : -1;
}

int admin_ask(const struct admin_target *target, char **answer)
{
	time_t until = monotonic_s() + target->patience_s;
	int fd = target_connect(target), status = -1;
	size_t len = 0;

	*answer = NULL;
	if (fd < 0)
		return -1;
	int got = target_send(fd, target) ? -1 : 1;
	while (got > 0)
		got = target_read(fd, until, answer, &len);
	int err = got ? errno : EPROTO;
	close(fd);
	errno = err;
	return !got && sscanf(*answer, "HTTP/1.%*1[01] %3d", &status) == 1 ? status : -1;
}

char *admin_body(char *answer)
{
	char *end = strstr(answer, "\r\n\r\n");

	return end ? end + 4 : answer + strlen(answer);
}
