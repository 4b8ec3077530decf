/* The former process's side of a takeover; see takeover.h. */
#include "proxy/server/takeover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "proxy/base/log.h"
#include "proxy/net/unix_socket.h"
#include "proxy/server/notify.h"
#include "proxy/server/sockets.h"
#include "proxy/server/takeover_internal.h"
#include "proxy/server/takeover_message.h"
#include "proxy/settings/reload_report.h"

/* How long the next process may take to ask, and to become ready; and to take a message. */
enum { TAKEOVER_ASK_MS = 5000, TAKEOVER_READY_MS = 120 * 1000, TAKEOVER_SEND_S = 1 };

struct takeover {
	struct unix_socket file;       /* of the path, if this process is to remove it */
	int fd;                        /* listens; -1: the next process has it alone */
	int peer;                      /* the next process; -1: none */
	pid_t pid;                     /* its number */

	bool asked;                    /* it has the sockets */
	bool waits, trial;             /* it takes nothing over, and waits for the report of a reload, or of a trial */
	bool given;                    /* it serves */
	uint64_t due_ms;               /* by then it has to go on */
};

bool takeover_peer(int fd, struct ucred *peer)
{
	socklen_t len = sizeof *peer;

	*peer = (struct ucred){ -1, (uid_t)-1, (gid_t)-1 };
	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &len) && (!peer->uid || peer->uid == geteuid());
}

struct takeover *takeover_new(const char *path, struct takeover_former *former)
{
	struct takeover *takeover = calloc(1, sizeof *takeover);

	if (!takeover) {
		log_error("takeover-socket: out of memory");
		return NULL;
	}
	takeover->peer = -1;
	takeover->fd = former->listening >= 0 ? former->listening
	    : unix_socket_bind(&takeover->file, SOCK_SEQPACKET, path, S_IRUSR | S_IWUSR);
	if (takeover->fd < 0) {
		log_error("takeover-socket %s: %s", path, strerror(errno));
		takeover_free(&takeover);
	}
	former->listening = -1;
	return takeover;
}

void takeover_own(struct takeover *takeover, const char *path)
{
	unix_socket_know(&takeover->file, path);
}

/* ---- the process that asks ---- */

struct pollfd takeover_poll(const struct takeover *takeover)
{
	return (struct pollfd){ .fd = takeover->peer >= 0 ? takeover->peer : takeover->fd, .events = POLLIN };
}

uint64_t takeover_due_ms(const struct takeover *takeover)
{
	return takeover->peer >= 0 ? takeover->due_ms : UINT64_MAX;
}

static void give_hang_up(struct takeover *takeover)
{
	if (takeover->peer >= 0)
		close(takeover->peer);
	takeover->peer = -1;
	takeover->asked = takeover->waits = false;
}

static void give_refuse(struct takeover *takeover, const char *why)
{
	log_warn("takeover-socket: process %ld %s: %s", (long)takeover->pid,
	    takeover->waits ? "gets no answer" : "does not take over", why);
	if (takeover_send(takeover->peer, TAKEOVER_NO, why, NULL, 0))
		log_warn("takeover-socket: %s", strerror(errno));
	give_hang_up(takeover);
}

static void give_accept(struct takeover *takeover, uint64_t now_ms)
{
	static const struct timeval patience = { .tv_sec = TAKEOVER_SEND_S };
	struct ucred peer;

	if ((takeover->peer = accept4(takeover->fd, NULL, NULL, SOCK_CLOEXEC)) < 0)
		return;
	if (!takeover_peer(takeover->peer, &peer)) {
		log_warn("takeover-socket: user %ld asked, who is neither root nor the user of this process",
		    (long)peer.uid);
		give_hang_up(takeover);
		return;
	}
	setsockopt(takeover->peer, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	takeover->pid = peer.pid;
	takeover->due_ms = now_ms + TAKEOVER_ASK_MS;
}

static int give_notify(const struct takeover *takeover, const struct notify *notify)
{
	char name[sizeof ((struct sockaddr_un *)0)->sun_path + 1], text[sizeof name + 24];

	if (!notify_name(notify, name))
		return 0;
	snprintf(text, sizeof text, "%llu %s", (unsigned long long)notify->watchdog_us, name);
	return takeover_send(takeover->peer, TAKEOVER_NOTIFY, text, NULL, 0);
}

static int give_all(const struct takeover *takeover, const struct sockets *sockets, const struct notify *notify)
{
	char text[TAKEOVER_TEXT_MAX];

	if (sockets->n > TAKEOVER_OFFERS_MAX) {
		errno = E2BIG;
		return -1;
	}
	for (size_t i = 0; i < sockets->n; i++) {
		const struct socket_group *group = &sockets->groups[i];

		snprintf(text, sizeof text, "%s%s", socket_kind_name(group->kind), group->held ? " held" : "");
		if (takeover_send(takeover->peer, TAKEOVER_SOCKET, text, group->fds, group->n))
			return -1;
	}
	if (takeover_send(takeover->peer, TAKEOVER_PATH, "", &takeover->fd, 1) || give_notify(takeover, notify))
		return -1;
	return takeover_send(takeover->peer, TAKEOVER_END, "", NULL, 0);
}

static void give_hello(struct takeover *takeover, const char *version, const struct sockets *sockets,
    const struct notify *notify, uint64_t now_ms)
{
	if (strcmp(version, TAKEOVER_VERSION) != 0) {
		give_refuse(takeover, "it asks in another way than this version understands");
		return;
	}
	if (give_all(takeover, sockets, notify)) {
		give_refuse(takeover, strerror(errno));
		return;
	}
	takeover->asked = true;
	takeover->due_ms = now_ms + TAKEOVER_READY_MS;
	log_info("takeover-socket: process %ld has the sockets, too; this one goes on until that is ready",
	    (long)takeover->pid);
}

static bool give_ready(struct takeover *takeover, const char *taken, struct sockets *sockets)
{
	size_t n = strlen(taken);

	if (!takeover->asked || n > sockets->n || strspn(taken, "01") != n) {
		give_refuse(takeover, "it is ready for what it did not get");
		return false;
	}
	for (size_t i = 0; i < n; i++)
		atomic_store(&sockets->groups[i].given, taken[i] == '1');
	return takeover->given = true;
}

static enum takeover_event give_reload(struct takeover *takeover, bool trial, uint64_t now_ms)
{
	takeover->waits = true;
	takeover->trial = trial;
	takeover->due_ms = now_ms + TAKEOVER_READY_MS;
	log_info("takeover-socket: process %ld asks %s", (long)takeover->pid,
	    trial ? "what a reload would come to" : "for a reload");
	return trial ? TAKEOVER_ASKS_TRIAL : TAKEOVER_ASKS_RELOAD;
}

static int give_text(const struct takeover *takeover, enum takeover_word word, const char *first, const char *rest)
{
	char text[TAKEOVER_TEXT_MAX - 16];

	snprintf(text, sizeof text, "%s %s", first, rest);
	return takeover_send(takeover->peer, word, text, NULL, 0);
}

void takeover_report(struct takeover *takeover, const struct reload_report *report)
{
	char more[64];
	int status = 0;

	if (!takeover->waits || takeover->trial != report->trial)
		return;
	for (size_t i = 0; !status && i < report->n_texts; i++)
		status = give_text(takeover, TAKEOVER_SAID, reload_level_word(report->texts[i].level),
		    report->texts[i].text);
	snprintf(more, sizeof more, "%zu more messages, not kept", report->left_out);
	if (!status && report->left_out)
		status = give_text(takeover, TAKEOVER_SAID, reload_level_word(LOG_LEVEL_WARN), more);
	if (status ||
	    give_text(takeover, TAKEOVER_RESULT, reload_result_word(report->result), report->file ? report->file : ""))
		log_warn("takeover-socket: process %ld was not told what came of the reload: %s", (long)takeover->pid,
		    strerror(errno));
	give_hang_up(takeover);
}

static enum takeover_event give_answer(struct takeover *takeover, struct sockets *sockets, const struct notify *notify,
    uint64_t now_ms)
{
	struct takeover_message m;
	int got = takeover_receive(takeover->peer, &m);

	if (got > 0)
		takeover_drop(&m, 0);
	if (got > 0 && m.word == TAKEOVER_READY)
		return give_ready(takeover, m.text, sockets) ? TAKEOVER_GIVEN : TAKEOVER_NOTHING;
	if (got > 0 && !takeover->asked && !takeover->waits && (m.word == TAKEOVER_RELOAD || m.word == TAKEOVER_TRY))
		return give_reload(takeover, m.word == TAKEOVER_TRY, now_ms);
	if (got > 0 && m.word == TAKEOVER_HELLO && !takeover->asked && !takeover->waits)
		give_hello(takeover, m.text, sockets, notify, now_ms);
	else if (got > 0 || (got < 0 && errno == EBADMSG))
		give_refuse(takeover, "it says what it must not");
	else {
		log_warn("takeover-socket: process %ld left without %s; this one goes on", (long)takeover->pid,
		    takeover->waits ? "an answer" : "taking over");
		give_hang_up(takeover);
	}
	return TAKEOVER_NOTHING;
}

enum takeover_event takeover_turn(struct takeover *takeover, struct sockets *sockets, const struct notify *notify,
    uint64_t now_ms)
{
	struct pollfd p = takeover_poll(takeover);

	if (takeover->given || p.fd < 0)
		return TAKEOVER_NOTHING;
	if (poll(&p, 1, 0) == 1) {
		if (takeover->peer >= 0)
			return give_answer(takeover, sockets, notify, now_ms);
		give_accept(takeover, now_ms);
	} else if (takeover->peer >= 0 && now_ms >= takeover->due_ms)
		give_refuse(takeover, "it takes too long");
	return TAKEOVER_NOTHING;
}

pid_t takeover_heir(const struct takeover *takeover)
{
	return takeover->pid;
}

void takeover_leave(struct takeover *takeover)
{
	if (takeover_send(takeover->peer, TAKEOVER_BYE, "", NULL, 0))
		log_warn("takeover-socket: %s", strerror(errno));
	give_hang_up(takeover);
	close(takeover->fd);
	takeover->fd = -1;
}

void takeover_free(struct takeover **tp)
{
	struct takeover *takeover = *tp;

	*tp = NULL;
	if (!takeover)
		return;
	if (takeover->peer >= 0)
		give_refuse(takeover, "the former process ends");
	if (takeover->fd >= 0) {
		unix_socket_remove(&takeover->file);
		close(takeover->fd);
	}
	free(takeover);
}
