/* Owns what the commands that need no server share. Each takes the arguments from its own name on and returns the exit
 * status. */
#ifndef UTFEED_PROXY_COMMAND_CMD_H
#define UTFEED_PROXY_COMMAND_CMD_H

#include <sys/types.h>

#include "core/normalise/normalise.h"

enum cmd_status {
	CMD_OK = 0,
	CMD_BROKEN = 1,     /* the feed is: not well-formed, not a feed, or an error by the policy asked for */
	CMD_USAGE = 2       /* wrong arguments, a file that cannot be read, or the system lacks what it takes */
};

int cmd_check(int argc, char **argv);
int cmd_normalise(int argc, char **argv);
int cmd_policies(int argc, char **argv);
int cmd_charsets(int argc, char **argv);

/* A descriptor to read from, standard input for "-". -1: it said why on standard error. */
int cmd_open(const char *path) __attribute__((warn_unused_result));
void cmd_close(int fd);
/* Reads up to len bytes, as many as there are now but at least one: 0 at the end, -1 with a message. */
ssize_t cmd_read(int fd, const char *path, void *buf, size_t len);
/* As if it came with that Content-Type; "": as a response without one. CMD_USAGE: it is no field value (RFC 9110
 * section 5.5). */
int cmd_content_type(struct normalise_options *, const char *type, const char *usage)
    __attribute__((warn_unused_result));
/* Says the message and the usage line on standard error; CMD_USAGE. */
int cmd_usage(const char *usage, const char *message, const char *detail) __attribute__((warn_unused_result));

#endif
