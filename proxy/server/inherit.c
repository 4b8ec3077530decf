/* Sockets by LISTEN_FDS; see inherit.h. */
#include "proxy/server/inherit.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proxy/base/log.h"
#include "proxy/server/sockets.h"

/* More than any manager gives; it bounds what is read from the variable. */
enum { INHERIT_MAX = 4096, INHERIT_FROM_MAX = 160 };

static const char *const variables[] = { "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID" };

/* A decimal number; -1: it is none, or above most. */
static long inherit_number(const char *text, long most)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	long value = strtol(text, &end, 10);
	return errno || *end || value > most ? -1 : value;
}

static size_t count_names(const char *names)
{
	size_t n = 1;

	for (; *names; names++)
		n += *names == ':';
	return n;
}

const char *inherit_read(const char *pid, const char *fds, const char *names, pid_t own, struct inherit *in)
{
	long n;

	*in = (struct inherit){ 0, NULL };
	if (!pid || !fds || inherit_number(pid, INT32_MAX) != own)
		return NULL;
	if ((n = inherit_number(fds, INHERIT_MAX)) < 0)
		return "LISTEN_FDS is not a number of descriptors";
	if (names && n && count_names(names) != (size_t)n)
		return "LISTEN_FDNAMES names more or fewer descriptors than LISTEN_FDS says";
	*in = (struct inherit){ (size_t)n, names };
	return NULL;
}

const char *inherit_name(const struct inherit *in, size_t i, size_t *len)
{
	const char *name = in->names ? in->names : "";

	while (i-- && (name = strchr(name, ':')) != NULL)
		name++;
	if (!name)
		name = "";
	*len = strcspn(name, ":");
	return name;
}

static int inherit_one(struct sockets *sockets, const struct conf *conf, const struct inherit *in, size_t i)
{
	char from[INHERIT_FROM_MAX], shown[INHERIT_FROM_MAX / 2];
	int fd = INHERIT_FIRST + (int)i;
	struct socket_gift gift = { .fds = &fd, .n = 1, .held = true, .offer = -1, .from = from };

	gift.name = inherit_name(in, i, &gift.name_len);
	log_escape(shown, sizeof shown, gift.name, gift.name_len);
	snprintf(from, sizeof from, "LISTEN_FDS: descriptor %d%s%s%s", fd, *shown ? " (" : "", shown,
	    *shown ? ")" : "");
	return sockets_adopt(sockets, conf, &gift);
}

int inherit_sockets(struct sockets *sockets, const struct conf *conf)
{
	struct inherit in;
	const char *fault =
	    inherit_read(getenv("LISTEN_PID"), getenv("LISTEN_FDS"), getenv("LISTEN_FDNAMES"), getpid(), &in);
	int status = 0;

	if (fault) {
		log_error("%s", fault);
		status = -1;
	}
	/* The names stand in the environment. */
	for (size_t i = 0; i < in.n && !status; i++)
		status = inherit_one(sockets, conf, &in, i);
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
		unsetenv(variables[i]);
	return status;
}
