/* The next process's side of a takeover; see takeover.h. */
#include "proxy/server/takeover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/net/unix_socket.h"
#include "proxy/server/notify.h"
#include "proxy/server/sockets.h"
#include "proxy/server/takeover_internal.h"
#include "proxy/server/takeover_message.h"

/* A takeover has no more messages. */
enum { TAKEOVER_MESSAGES_MAX = TAKEOVER_OFFERS_MAX + 4, TAKEOVER_ANSWER_S = 5 };

static int take_fail(const char *what)
{
	log_error("takeover-socket: %s", what);
	return -1;
}

int takeover_connect(const char *path, int answer_s)
{
	const struct timeval patience = { .tv_sec = answer_s };
	struct sockaddr_storage to;
	socklen_t len = unix_socket_address(&to, path);
	int fd;

	if (strlen(path) > CONF_UNIX_PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if ((fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (!connect(fd, (struct sockaddr *)&to, len))
		return fd;
	close(fd);
	return -1;
}

/* Takes the sockets of one address: their kind, and " held" if a service manager has them, too. */
static int take_sockets(struct takeover_message *message, int offer, const struct conf *conf, struct sockets *sockets)
{
	static const char held[] = " held";
	size_t len = strlen(message->text), rest = len - (sizeof held - 1);
	char from[64];
	struct socket_gift gift = { .fds = message->fds,
		.n = message->n_fds,
		.name = message->text,
		.name_len = len,
		.offer = offer,
		.from = from };

	if (len > sizeof held - 1 && !strcmp(message->text + rest, held)) {
		gift.held = true;
		gift.name_len = rest;
	}
	snprintf(from, sizeof from, "takeover-socket: socket %d", offer);
	return sockets_adopt(sockets, conf, &gift);
}

static int take_path(struct takeover_former *former, struct takeover_message *message)
{
	if (former->listening >= 0 || message->n_fds != 1) {
		takeover_drop(message, 0);
		return take_fail("the former process gave no socket for its path, or two");
	}
	former->listening = message->fds[0];
	return 0;
}

/* The text is WATCHDOG_USEC, a blank and NOTIFY_SOCKET. */
static int take_notify(struct takeover_message *message, struct notify *notify)
{
	char *name;
	unsigned long long watchdog_us = strtoull(message->text, &name, 10);

	takeover_drop(message, 0);
	if (*name != ' ')
		return take_fail("the former process does not say how it tells its service manager");
	notify_adopt(notify, name + 1, watchdog_us);
	return 0;
}

static int take_refused(struct takeover_message *message)
{
	takeover_drop(message, 0);
	log_error("takeover-socket: the former process goes on by itself: %s", message->text);
	return -1;
}

static int take_receive(struct takeover_former *former, struct takeover_message *message)
{
	int got = takeover_receive(former->fd, message);

	if (got > 0)
		return 0;
	log_error("takeover-socket: no answer from the former process (%s); it may be handing over to another one",
	    got ? strerror(errno) : "it ended");
	return -1;
}

static int take_all(struct takeover_former *former, const struct conf *conf, struct sockets *sockets,
    struct notify *notify)
{
	struct takeover_message m;
	int offers = 0, status = 0;

	for (int i = 0; i < TAKEOVER_MESSAGES_MAX && !status; i++) {
		if (take_receive(former, &m))
			return -1;
		switch (m.word) {
		case TAKEOVER_SOCKET:
			if (offers == TAKEOVER_OFFERS_MAX) {
				takeover_drop(&m, 0);
				return take_fail("the former process has too many addresses");
			}
			status = take_sockets(&m, offers++, conf, sockets);
			break;
		case TAKEOVER_PATH: status = take_path(former, &m); break;
		case TAKEOVER_NOTIFY: status = take_notify(&m, notify); break;
		case TAKEOVER_END: takeover_drop(&m, 0); former->offers = offers; return 0;
		case TAKEOVER_NO: return take_refused(&m);
		default: takeover_drop(&m, 0); status = take_fail("the former process says what it must not");
		}
	}
	return status ? status : take_fail("the former process does not come to an end");
}

int takeover_ask(struct takeover_former *former, const struct conf *conf, struct sockets *sockets,
    struct notify *notify)
{
	const char *path = conf->takeover_socket;
	struct ucred peer;

	*former = (struct takeover_former){ -1, -1, 0 };
	if (!*path || (former->fd = takeover_connect(path, TAKEOVER_ANSWER_S)) < 0) {
		if (!*path || errno == ENOENT || errno == ECONNREFUSED)
			return 0;
		log_error("takeover-socket %s: %s", path, strerror(errno));
		return -1;
	}
	if (!takeover_peer(former->fd, &peer)) {
		log_error("takeover-socket %s: user %ld listens there, who is neither root nor the user of this "
		          "process", path, (long)peer.uid);
		return -1;
	}
	log_info("takeover-socket %s: taking over from the process that listens there", path);
	if (takeover_send(former->fd, TAKEOVER_HELLO, TAKEOVER_VERSION, NULL, 0))
		return take_fail(strerror(errno));
	return take_all(former, conf, sockets, notify);
}

/* Which of the former process's groups are served here, as the text of TAKEOVER_READY. */
static void take_list(const struct takeover_former *former, const struct sockets *sockets, char text[TAKEOVER_TEXT_MAX])
{
	memset(text, '0', (size_t)former->offers);
	text[former->offers] = '\0';
	for (size_t i = 0; i < sockets->n; i++)
		if (sockets->groups[i].offer >= 0)
			text[sockets->groups[i].offer] = '1';
}

int takeover_finish(struct takeover_former *former, const struct sockets *sockets)
{
	struct takeover_message m;
	char text[TAKEOVER_TEXT_MAX];

	if (former->fd < 0)
		return 0;
	take_list(former, sockets, text);
	/* One who has hung up may have said why. */
	if (takeover_send(former->fd, TAKEOVER_READY, text, NULL, 0))
		log_warn("takeover-socket: %s", strerror(errno));
	int got = takeover_receive(former->fd, &m);
	if (got > 0)
		takeover_drop(&m, 0);
	if (got > 0 && m.word == TAKEOVER_NO)
		return take_refused(&m);
	if (got <= 0)
		log_warn("takeover-socket: the former process does not say whether it let go (%s)",
		    got ? strerror(errno) : "it ended");
	close(former->fd);
	former->fd = -1;
	return 0;
}

void takeover_former_free(struct takeover_former *former)
{
	if (former->fd >= 0)
		close(former->fd);
	if (former->listening >= 0)
		close(former->listening);
	*former = (struct takeover_former){ -1, -1, 0 };
}
