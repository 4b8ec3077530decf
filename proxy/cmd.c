/* Owns what the commands that need no server share. See cmd.h. */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int cmd_open(const char *path)
{
	int fd;

	if (strcmp(path, "-") == 0)
		return STDIN_FILENO;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fprintf(stderr, "utfeed: %s: %s\n", path, strerror(errno));
	return fd;
}

void cmd_close(int fd)
{
	if (fd > STDERR_FILENO)
		close(fd);
}

ssize_t cmd_read(int fd, const char *path, void *buf, size_t len)
{
	ssize_t n;

	do
		n = read(fd, buf, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		fprintf(stderr, "utfeed: %s: %s\n", path, strerror(errno));
	return n;
}

bool cmd_is_field_value(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
			return false;
	return true;
}

int cmd_usage(const char *usage, const char *message, const char *detail)
{
	if (message)
		fprintf(stderr, "utfeed: %s%s%s\n", message, detail ? ": " : "", detail ? detail : "");
	fprintf(stderr, "usage: %s\n", usage);
	return CMD_USAGE;
}
