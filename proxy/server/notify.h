/* Owns the messages to the service manager about this process: datagrams to the socket that NOTIFY_SOCKET names
 * (sd_notify(3)). Must not know: what happens in the process.
 * Invariant: a manager that does not read costs its message and nothing else; without NOTIFY_SOCKET nothing is sent.
 * Sources: sd_notify(3), sd_watchdog_enabled(3). */
#ifndef UTFEED_PROXY_SERVER_NOTIFY_H
#define UTFEED_PROXY_SERVER_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

struct notify {
	int fd;                        /* -1: without a manager */
	struct sockaddr_un to;
	socklen_t to_len;
	/* the manager acts where it heard no WATCHDOG=1 for so long; 0: it does not wait for that */
	uint64_t watchdog_us;
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. A value that cannot be used is logged and ignored. */
void notify_open(struct notify *);
/* Tells the manager of the former process, unless this one has its own. name and usec: as in the variables. */
void notify_adopt(struct notify *, const char *name, uint64_t watchdog_us);
/* Whether the manager's socket has no file. */
bool notify_is_abstract(const struct notify *);
/* The value of NOTIFY_SOCKET, for the next process; false: this process has no manager. */
bool notify_name(const struct notify *, char buf[sizeof ((struct sockaddr_un *)0)->sun_path + 1]);
void notify_close(struct notify *);

/* The states, each with a line for people. */
void notify_ready(const struct notify *, const char *status);
void notify_reloading(const struct notify *);
void notify_stopping(const struct notify *, const char *status);
void notify_watchdog(const struct notify *);
/* Another process of the service counts from now on. */
void notify_main_pid(const struct notify *, pid_t);

#endif
