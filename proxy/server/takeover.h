/* Owns how a new utfeed takes the listening sockets over from the running one: an upgrade refuses or cuts no
 * connection. Owns, too, how a command asks the running utfeed to reload. Both use the Unix socket of takeover-socket.
 * Must not know: what is served, what a reload does.
 * The order: the next process asks and gets the sockets; it serves; it says so; the former one accepts nothing from
 * then on. Until it says so the former one goes on as if nothing had been asked.
 * Invariants: both sides speak only with a process of the same user, or of root; at no time does nobody accept. */
#ifndef UTFEED_PROXY_SERVER_TAKEOVER_H
#define UTFEED_PROXY_SERVER_TAKEOVER_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct conf;
struct notify;
struct reload_report;
struct sockets;

/* ---- the next process ---- */

struct takeover_former {
	int fd;                        /* to the former process; -1: there is none */
	int listening;                 /* the socket of takeover-socket itself, from it; -1: none */
	int offers;                    /* the addresses that it has sockets for */
};

/* Asks the process that listens on takeover-socket, if there is one. It gives its sockets and the address of its
 * service manager. -1: it gives no sockets, or they do not fit (logged). */
int takeover_ask(struct takeover_former *, const struct conf *, struct sockets *, struct notify *)
    __attribute__((warn_unused_result));
/* Tells the former process that its sockets are served here, and waits until it has let go of them. -1: it goes on by
 * itself (logged). */
int takeover_finish(struct takeover_former *, const struct sockets *) __attribute__((warn_unused_result));
void takeover_former_free(struct takeover_former *);

/* ---- somebody who does not take over ---- */

enum { TAKEOVER_WHY_MAX = 160 };
/* Asks the process that listens on the path to read its configuration again, or to try (trial). The lines of its report
 * go to the file, as reload_report_lines() writes them. -1: it has no answer, and why says the reason. */
int takeover_ask_reload(const char *path, bool trial, FILE *, char why[TAKEOVER_WHY_MAX])
    __attribute__((warn_unused_result));

/* ---- the former process ---- */

struct takeover;

/* Listens on takeover-socket: with the socket that a former process gave, or with one bound now. NULL: logged. */
struct takeover *takeover_new(const char *path, struct takeover_former *);
/* The path is this process's own from now on, which a former process gave. */
void takeover_own(struct takeover *, const char *path);
/* What to poll, and by when to look again anyway (UINT64_MAX: never). */
struct pollfd takeover_poll(const struct takeover *);
uint64_t takeover_due_ms(const struct takeover *);
/* What the caller has to do. GIVEN: the next process serves; those sockets are marked as given. ASKS_: the
 * configuration is to be read again, or tried, and the report of that goes to takeover_report(). */
enum takeover_event { TAKEOVER_NOTHING, TAKEOVER_GIVEN, TAKEOVER_ASKS_RELOAD, TAKEOVER_ASKS_TRIAL };
/* Does what there is to do by itself. */
enum takeover_event takeover_turn(struct takeover *, struct sockets *, const struct notify *, uint64_t now_ms);
/* Tells the report to whoever asked for it, if somebody did. */
void takeover_report(struct takeover *, const struct reload_report *);
/* The process that serves now. */
pid_t takeover_heir(const struct takeover *);
/* Says good-bye to it: nothing is accepted here any more. */
void takeover_leave(struct takeover *);
/* Removes the path, unless the next process has it. */
void takeover_free(struct takeover **);

#endif
