/* Access lines as messages of syslog; see access_output.h. Source: RFC 3164 section 4, which nginx and HAProxy send
 * too; over a socket of this machine without the host's name, as syslog(3) sends it. RFC 5426 section 3.1: one message
 * a datagram. */
#include "proxy/net/access_output.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/base/log.h"

/* Facility local7, severity informational (RFC 3164 section 4.1.1): 23 * 8 + 6. */
enum { SYSLOG_PRIORITY = 190, SYSLOG_HEAD_MAX = 192, SYSLOG_HOST_MAX = 65, SYSLOG_NAME_MAX = 300 };

struct access_syslog {
	struct access_output base;
	int fd;                        /* -1: not open */
	bool failing;                  /* the latest message was lost, which was logged */
	struct sockaddr_storage address;
	socklen_t len;
	char host[SYSLOG_HOST_MAX];    /* of this machine, with a blank behind it; empty: a socket of this machine */
	char name[SYSLOG_NAME_MAX];
};

static int access_syslog_open(struct access_output *o)
{
	struct access_syslog *s = (struct access_syslog *)o;
	int fd = socket(s->address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), saved;

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&s->address, s->len)) {
		saved = errno;
		close(fd);
		errno = saved;
		return -1;
	}
	if (s->fd >= 0)
		close(s->fd);
	s->fd = fd;
	return 0;
}

/* Section 4.1.2: "Mmm dd hh:mm:ss" in local time, the day without a leading zero. */
static size_t access_syslog_head(const struct access_syslog *s, char head[SYSLOG_HEAD_MAX])
{
	time_t now = time(NULL);
	char stamp[32] = "";
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(stamp, sizeof stamp, "%b %e %H:%M:%S", &tm);
	return (size_t)snprintf(head, SYSLOG_HEAD_MAX, "<%d>%s %sutfeed[%d]: ", SYSLOG_PRIORITY, stamp, s->host,
	    (int)getpid());
}

static bool access_syslog_send(const struct access_syslog *s, struct iovec parts[2])
{
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	struct pollfd p = { .fd = s->fd, .events = POLLOUT };

	if (s->fd < 0) {
		errno = ENOTCONN;
		return false;
	}
	if (sendmsg(s->fd, &message, MSG_NOSIGNAL) >= 0)
		return true;
	return (errno == EAGAIN || errno == ENOBUFS) && poll(&p, 1, ACCESS_OUTPUT_WAIT_MS) == 1 &&
	    sendmsg(s->fd, &message, MSG_NOSIGNAL) >= 0;
}

/* A server that was started anew has another socket: the message is sent once more over a new one. Where a server does
 * not read, the first message has waited long enough for all that follow. */
static uint64_t access_syslog_write(struct access_output *o, const char *lines, size_t len)
{
	struct access_syslog *s = (struct access_syslog *)o;
	char head[SYSLOG_HEAD_MAX];
	size_t head_len = access_syslog_head(s, head);
	uint64_t lost = 0;
	bool full = false;

	for (size_t at = 0, n; at < len; at += n + 1) {
		struct iovec parts[2] = { { head, head_len }, { (char *)(uintptr_t)(lines + at), 0 } };

		n = (size_t)((const char *)memchr(lines + at, '\n', len - at) - (lines + at));
		parts[1].iov_len = n;
		if (!full && (access_syslog_send(s, parts) ||
		    (errno != EAGAIN && !access_syslog_open(o) && access_syslog_send(s, parts))))
			continue;
		full = true;
		lost++;
	}
	if (lost && !s->failing)
		log_error("access-log-syslog %s: %s: lines are lost", s->name, strerror(errno));
	s->failing = lost;
	return lost;
}

static void access_syslog_free(struct access_output *o)
{
	struct access_syslog *s = (struct access_syslog *)o;

	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

static void access_syslog_to_path(struct access_syslog *s, const char *path)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&s->address;

	un->sun_family = AF_UNIX;
	snprintf(un->sun_path, sizeof un->sun_path, "%s", path);
	s->len = sizeof *un;
	snprintf(s->name, sizeof s->name, "%s", path);
}

/* The name is looked up once, at the start, as nginx and HAProxy do it. */
static int access_syslog_to_host(struct access_syslog *s, const struct conf_redis *to)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *found;
	char port[8];
	int err;

	snprintf(port, sizeof port, "%u", to->port);
	snprintf(s->name, sizeof s->name, "%s:%s", to->host, port);
	if ((err = getaddrinfo(to->host, port, &hints, &found))) {
		log_error("access-log-syslog %s: %s", s->name, gai_strerror(err));
		return -1;
	}
	memcpy(&s->address, found->ai_addr, found->ai_addrlen);
	s->len = found->ai_addrlen;
	freeaddrinfo(found);
	if (gethostname(s->host, sizeof s->host - 1))
		snprintf(s->host, sizeof s->host, "localhost");
	s->host[sizeof s->host - 2] = '\0';
	s->host[strcspn(s->host, ". ")] = '\0';        /* section 4.1.2: without the domain */
	strcat(s->host, " ");
	return 0;
}

struct access_output *access_output_syslog(const struct conf_redis *to)
{
	static const struct access_output_ops ops = { access_syslog_open, access_syslog_write, access_syslog_free };
	struct access_syslog *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->base = (struct access_output){ &ops, s->name };
	s->fd = -1;
	if (to->path)
		access_syslog_to_path(s, to->path);
	else if (access_syslog_to_host(s, to)) {
		free(s);
		return NULL;
	}
	return &s->base;
}
