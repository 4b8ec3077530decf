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
	struct takeover *t = calloc(1, sizeof *t);

	if (!t) {
		log_error("takeover-socket: out of memory");
		return NULL;
	}
	t->peer = -1;
	t->fd = former->listening >= 0 ? former->listening
	                               : unix_socket_bind(&t->file, SOCK_SEQPACKET, path, S_IRUSR | S_IWUSR);
	if (t->fd < 0) {
		log_error("takeover-socket %s: %s", path, strerror(errno));
		takeover_free(&t);
	}
	former->listening = -1;
	return t;
}

void takeover_own(struct takeover *t, const char *path)
{
	unix_socket_know(&t->file, path);
}

/* ---- one who asks ---- */

struct pollfd takeover_poll(const struct takeover *t)
{
	return (struct pollfd){ .fd = t->peer >= 0 ? t->peer : t->fd, .events = POLLIN };
}

uint64_t takeover_due_ms(const struct takeover *t)
{
	return t->peer >= 0 ? t->due_ms : UINT64_MAX;
}

static void give_hang_up(struct takeover *t)
{
	if (t->peer >= 0)
		close(t->peer);
	t->peer = -1;
	t->asked = t->waits = false;
}

static void give_refuse(struct takeover *t, const char *why)
{
	log_warn("takeover-socket: process %ld %s: %s", (long)t->pid,
	    t->waits ? "gets no answer" : "does not take over", why);
	if (takeover_send(t->peer, TAKEOVER_NO, why, NULL, 0))
		log_warn("takeover-socket: %s", strerror(errno));
	give_hang_up(t);
}

static void give_accept(struct takeover *t, uint64_t now_ms)
{
	static const struct timeval patience = { .tv_sec = TAKEOVER_SEND_S };
	struct ucred peer;

	if ((t->peer = accept4(t->fd, NULL, NULL, SOCK_CLOEXEC)) < 0)
		return;
	if (!takeover_peer(t->peer, &peer)) {
		log_warn("takeover-socket: user %ld asked, who is neither root nor the user of this process",
		    (long)peer.uid);
		give_hang_up(t);
		return;
	}
	setsockopt(t->peer, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	t->pid = peer.pid;
	t->due_ms = now_ms + TAKEOVER_ASK_MS;
}

static int give_notify(const struct takeover *t, const struct notify *notify)
{
	char name[sizeof ((struct sockaddr_un *)0)->sun_path + 1], text[sizeof name + 24];

	if (!notify_name(notify, name))
		return 0;
	snprintf(text, sizeof text, "%llu %s", (unsigned long long)notify->watchdog_us, name);
	return takeover_send(t->peer, TAKEOVER_NOTIFY, text, NULL, 0);
}

static int give_all(const struct takeover *t, const struct sockets *s, const struct notify *notify)
{
	char text[TAKEOVER_TEXT_MAX];

	if (s->n > TAKEOVER_OFFERS_MAX) {
		errno = E2BIG;
		return -1;
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct socket_group *g = &s->groups[i];

		snprintf(text, sizeof text, "%s%s", socket_kind_name(g->kind), g->held ? " held" : "");
		if (takeover_send(t->peer, TAKEOVER_SOCKET, text, g->fds, g->n))
			return -1;
	}
	if (takeover_send(t->peer, TAKEOVER_PATH, "", &t->fd, 1) || give_notify(t, notify))
		return -1;
	return takeover_send(t->peer, TAKEOVER_END, "", NULL, 0);
}

static void give_hello(struct takeover *t, const char *version, const struct sockets *s, const struct notify *notify,
    uint64_t now_ms)
{
	if (strcmp(version, TAKEOVER_VERSION) != 0) {
		give_refuse(t, "it asks in another way than this version understands");
		return;
	}
	if (give_all(t, s, notify)) {
		give_refuse(t, strerror(errno));
		return;
	}
	t->asked = true;
	t->due_ms = now_ms + TAKEOVER_READY_MS;
	log_info("takeover-socket: process %ld has the sockets, too; this one goes on until that is ready",
	    (long)t->pid);
}

static bool give_ready(struct takeover *t, const char *taken, struct sockets *s)
{
	size_t n = strlen(taken);

	if (!t->asked || n > s->n || strspn(taken, "01") != n) {
		give_refuse(t, "it is ready for what it did not get");
		return false;
	}
	for (size_t i = 0; i < n; i++)
		atomic_store(&s->groups[i].given, taken[i] == '1');
	return t->given = true;
}

static enum takeover_event give_reload(struct takeover *t, bool trial, uint64_t now_ms)
{
	t->waits = true;
	t->trial = trial;
	t->due_ms = now_ms + TAKEOVER_READY_MS;
	log_info("takeover-socket: process %ld asks %s", (long)t->pid,
	    trial ? "what a reload would come to" : "for a reload");
	return trial ? TAKEOVER_ASKS_TRIAL : TAKEOVER_ASKS_RELOAD;
}

static int give_text(const struct takeover *t, enum takeover_word word, const char *first, const char *rest)
{
	char text[TAKEOVER_TEXT_MAX - 16];

	snprintf(text, sizeof text, "%s %s", first, rest);
	return takeover_send(t->peer, word, text, NULL, 0);
}

void takeover_report(struct takeover *t, const struct reload_report *r)
{
	char more[64];
	int status = 0;

	if (!t->waits || t->trial != r->trial)
		return;
	for (size_t i = 0; !status && i < r->n_texts; i++)
		status = give_text(t, TAKEOVER_SAID, reload_level_word(r->texts[i].level), r->texts[i].text);
	snprintf(more, sizeof more, "%zu more messages, not kept", r->left_out);
	if (!status && r->left_out)
		status = give_text(t, TAKEOVER_SAID, reload_level_word(LOG_LEVEL_WARN), more);
	if (status || give_text(t, TAKEOVER_RESULT, reload_result_word(r->result), r->file ? r->file : ""))
		log_warn("takeover-socket: process %ld was not told what came of the reload: %s", (long)t->pid,
		    strerror(errno));
	give_hang_up(t);
}

static enum takeover_event give_answer(struct takeover *t, struct sockets *s, const struct notify *notify,
    uint64_t now_ms)
{
	struct takeover_message m;
	int got = takeover_receive(t->peer, &m);

	if (got > 0)
		takeover_drop(&m, 0);
	if (got > 0 && m.word == TAKEOVER_READY)
		return give_ready(t, m.text, s) ? TAKEOVER_GIVEN : TAKEOVER_NOTHING;
	if (got > 0 && !t->asked && !t->waits && (m.word == TAKEOVER_RELOAD || m.word == TAKEOVER_TRY))
		return give_reload(t, m.word == TAKEOVER_TRY, now_ms);
	if (got > 0 && m.word == TAKEOVER_HELLO && !t->asked && !t->waits)
		give_hello(t, m.text, s, notify, now_ms);
	else if (got > 0 || (got < 0 && errno == EBADMSG))
		give_refuse(t, "it says what it must not");
	else {
		log_warn("takeover-socket: process %ld left without %s; this one goes on", (long)t->pid,
		    t->waits ? "an answer" : "taking over");
		give_hang_up(t);
	}
	return TAKEOVER_NOTHING;
}

enum takeover_event takeover_turn(struct takeover *t, struct sockets *s, const struct notify *notify, uint64_t now_ms)
{
	struct pollfd p = takeover_poll(t);

	if (t->given || p.fd < 0)
		return TAKEOVER_NOTHING;
	if (poll(&p, 1, 0) == 1) {
		if (t->peer >= 0)
			return give_answer(t, s, notify, now_ms);
		give_accept(t, now_ms);
	} else if (t->peer >= 0 && now_ms >= t->due_ms)
		give_refuse(t, "it takes too long");
	return TAKEOVER_NOTHING;
}

pid_t takeover_heir(const struct takeover *t)
{
	return t->pid;
}

void takeover_leave(struct takeover *t)
{
	if (takeover_send(t->peer, TAKEOVER_BYE, "", NULL, 0))
		log_warn("takeover-socket: %s", strerror(errno));
	give_hang_up(t);
	close(t->fd);
	t->fd = -1;
}

void takeover_free(struct takeover **tp)
{
	struct takeover *t = *tp;

	*tp = NULL;
	if (!t)
		return;
	if (t->peer >= 0)
		give_refuse(t, "the former process ends");
	if (t->fd >= 0) {
		unix_socket_remove(&t->file);
		close(t->fd);
	}
	free(t);
}
