/* Messages to the service manager; see notify.h. */
#include "proxy/server/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proxy/base/log.h"

enum { NOTIFY_TEXT_MAX = 512 };

/* A name that begins with @ is in the abstract namespace (unix(7)). */
static bool notify_address(struct notify *notify, const char *name)
{
	size_t len = strlen(name);

	if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof notify->to.sun_path)
		return false;
	notify->to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(notify->to.sun_path, name, len);
	if (name[0] == '@')
		notify->to.sun_path[0] = '\0';
	notify->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] != '@'));
	return true;
}

/* A decimal number above 0; 0: it is none. */
static uint64_t notify_number(const char *text)
{
	char *end;
	unsigned long long value;

	if (!text || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	return errno || *end ? 0 : value;
}

static uint64_t notify_watchdog_us(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t value = notify_number(usec);

	if (!usec || (pid && notify_number(pid) != (uint64_t)getpid()))
		return 0;
	if (!value)
		log_warn("WATCHDOG_USEC is no number of microseconds: the service manager's watchdog is not served");
	return value;
}

static void notify_to(struct notify *notify, const char *name, uint64_t watchdog_us)
{
	if (!notify_address(notify, name))
		log_warn("NOTIFY_SOCKET is no path of a Unix socket and no abstract name: the service manager is told "
		         "nothing");
	else if ((notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
		log_warn("NOTIFY_SOCKET: %s", strerror(errno));
	else
		notify->watchdog_us = watchdog_us;
}

void notify_open(struct notify *notify)
{
	const char *name = getenv("NOTIFY_SOCKET");

	*notify = (struct notify){ .fd = -1 };
	if (name && *name)
		notify_to(notify, name, notify_watchdog_us());
}

void notify_adopt(struct notify *notify, const char *name, uint64_t watchdog_us)
{
	if (notify->fd < 0)
		notify_to(notify, name, watchdog_us);
	else if (!notify->watchdog_us)
		notify->watchdog_us = watchdog_us;
}

bool notify_name(const struct notify *notify, char buf[sizeof ((struct sockaddr_un *)0)->sun_path + 1])
{
	size_t len = notify->to_len - offsetof(struct sockaddr_un, sun_path);

	if (notify->fd < 0)
		return false;
	memcpy(buf, notify->to.sun_path, len);
	buf[len] = '\0';
	if (!buf[0])
		buf[0] = '@';
	return true;
}

bool notify_is_abstract(const struct notify *notify)
{
	return notify->fd >= 0 && !notify->to.sun_path[0];
}

void notify_close(struct notify *notify)
{
	if (notify->fd >= 0)
		close(notify->fd);
	notify->fd = -1;
	notify->watchdog_us = 0;
}

/* The socket is not connected: a manager that was started anew has another one of the same name. */
__attribute__((format(printf, 2, 3)))
static void notify_say(const struct notify *notify, const char *format, ...)
{
	char text[NOTIFY_TEXT_MAX];
	va_list ap;

	if (notify->fd < 0)
		return;
	va_start(ap, format);
	int len = vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (len >= (int)sizeof text)
		len = sizeof text - 1;
	if (sendto(notify->fd, text, (size_t)len, MSG_NOSIGNAL, (const struct sockaddr *)&notify->to, notify->to_len) <
	    0)
		log_warn("NOTIFY_SOCKET: %s: the service manager was not told", strerror(errno));
}

void notify_ready(const struct notify *notify, const char *status)
{
	notify_say(notify, "READY=1\nSTATUS=%s", status);
}

void notify_reloading(const struct notify *notify)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	notify_say(notify, "RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=reading the configuration again",
	    (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000);
}

void notify_stopping(const struct notify *notify, const char *status)
{
	notify_say(notify, "STOPPING=1\nSTATUS=%s", status);
}

void notify_watchdog(const struct notify *notify)
{
	notify_say(notify, "WATCHDOG=1");
}

void notify_main_pid(const struct notify *notify, pid_t pid)
{
	if (pid > 0)                   /* else it is in a namespace that this one does not see */
		notify_say(notify, "MAINPID=%ld", (long)pid);
}
