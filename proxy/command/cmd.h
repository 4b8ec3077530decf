/* Owns what the commands that need no server share. Each takes the arguments from its own name on and returns the exit
 * status. */
#ifndef UTFEED_PROXY_COMMAND_CMD_H
#define UTFEED_PROXY_COMMAND_CMD_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "core/normalise/normalise.h"

enum cmd_status {
	CMD_OK = 0,
	CMD_BROKEN = 1,     /* the feed is not well-formed, is not a feed, or is an error by the policy asked for. */
	CMD_USAGE = 2       /* Wrong arguments, an unreadable file, or a system without memory or converters */
};

int cmd_ca(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_normalise(int argc, char **argv);
int cmd_fleet(int argc, char **argv);
int cmd_healthcheck(int argc, char **argv);
int cmd_opml(int argc, char **argv);
int cmd_reload(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_policies(int argc, char **argv);
int cmd_charsets(int argc, char **argv);

/* Returns a descriptor to read from; "-" is standard input. -1: failed; the reason is on standard error. Where a URL
 * may be meant it says how to have it read: by this command, or by curl if the command does not fetch URLs. */
int cmd_open(const char *path, const char *command, bool fetches) __attribute__((warn_unused_result));
void cmd_close(int fd);
/* Reads up to len bytes, as many as there are now but at least one. 0: the end; -1: failed; the reason is on standard
 * error. */
ssize_t cmd_read(int fd, const char *path, void *buf, size_t len);
/* Sets the options as if the body came by HTTP with that Content-Type; "": without one. CMD_USAGE: type cannot be
 * the value of a field (RFC 9110 section 5.5). */
int cmd_content_type(struct normalise_options *, const char *type, const char *usage)
    __attribute__((warn_unused_result));
/* The options that tell of the body what a response would: --content-language, and --base, its URL. */
void cmd_content_language(struct normalise_options *, const char *tag);
void cmd_base(struct normalise_options *, const char *url);
/* --gateway, through which URLs of the body lead; the text is changed in place. CMD_USAGE: it is not one. */
int cmd_gateway(struct normalise_options *, char *url, const char *usage) __attribute__((warn_unused_result));
/* Writes a line that ends with what another process told. That may be anything, and a terminal obeys none of it. */
void cmd_tell(FILE *, const char *told, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Writes out what standard output holds. CMD_USAGE: that failed (told). */
int cmd_flush(void) __attribute__((warn_unused_result));
/* Tells that memory ran out; returns CMD_USAGE. */
int cmd_no_memory(void);
/* Prints the message and the usage line on standard error; returns CMD_USAGE. */
int cmd_usage(const char *usage, const char *message, const char *detail) __attribute__((warn_unused_result));

#endif
