/* Owns what the commands that need no server share. See cmd.h. */
#include "proxy/command/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/base/url_mask.h"
#include "proxy/http/meant_url.h"
#include "proxy/report/visible.h"

enum { CMD_SHOWN_MAX = 2048 };

/* Tells that there is no such file. Somebody who wrote no URL of http or https may mean one. */
static void cmd_tell_absent(const char *path, const char *command, bool fetches)
{
	const char *why = strerror(errno);
	struct text url = { 0 };
	enum meant_url meant = meant_url(&url, (struct slice){ path, strlen(path) });
	char shown[CMD_SHOWN_MAX];

	url_mask(shown, sizeof shown, path, strlen(path));
	fputs("utfeed: ", stderr);
	visible_bytes(stderr, shown);
	url_mask(shown, sizeof shown, url.bytes ? url.bytes : "", url.failed ? 0 : url.len);
	switch (meant) {
	case MEANT_NO_URL:
		fprintf(stderr, ": %s; write the name of a file%s\n", why,
		    fetches ? ", or a URL that begins with http:// or https://" : "");
		break;
	case MEANT_OTHER_SCHEME:
		fputs(": there is no such file; write a URL that begins with http:// or https://\n", stderr);
		break;
	case MEANT_URL:
		fputs(": there is no such file; for the URL write: ", stderr);
		fputs(fetches ? "utfeed check '" : "curl -sL '", stderr);
		visible_bytes(stderr, shown);
		fprintf(stderr, fetches ? "'\n" : "' | utfeed %s\n", command);
	}
	text_free(&url);
}

int cmd_open(const char *path, const char *command, bool fetches)
{
	if (!strcmp(path, "-"))
		return STDIN_FILENO;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG))
		cmd_tell_absent(path, command, fetches);
	else if (fd < 0)
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
		fprintf(stderr, "utfeed: %s: %s%s\n", path, strerror(errno),
		    errno == EISDIR ? "; write the name of a file in it" : "");
	return n;
}

int cmd_content_type(struct normalise_options *options, const char *type, const char *usage)
{
	for (const char *at = type; *at; at++)
		if (((unsigned char)*at < 0x20 && *at != '\t') || *at == 0x7f)
			return cmd_usage(usage, "the Content-Type has a control character; write it without", NULL);
	options->http = true;
	options->content_type = *type ? type : NULL;
	options->content_type_len = strlen(type);
	return CMD_OK;
}

void cmd_content_language(struct normalise_options *options, const char *tag)
{
	options->content_language = tag;
	options->content_language_len = strlen(tag);
}

void cmd_base(struct normalise_options *options, const char *url)
{
	options->base = url;
	options->repairs |= REPAIR_BASE;
}

int cmd_gateway(struct normalise_options *options, char *url, const char *usage)
{
	struct conf_error error;

	if (conf_read_gateway(url, &error) != 0)
		return cmd_usage(usage, "--gateway", error.text);
	options->gateway = url;
	return CMD_OK;
}

void cmd_tell(FILE *out, const char *told, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(out, fmt, args);
	va_end(args);
	visible_text(out, told, true, "");
	putc('\n', out);
}

int cmd_flush(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return CMD_OK;
	perror("utfeed: standard output");
	return CMD_USAGE;
}

int cmd_no_memory(void)
{
	fputs("utfeed: out of memory\n", stderr);
	return CMD_USAGE;
}

int cmd_usage(const char *usage, const char *message, const char *detail)
{
	if (message)
		fprintf(stderr, "utfeed: %s%s%s\n", message, detail ? ": " : "", detail ? detail : "");
	fprintf(stderr, "usage: %s\n", usage);
	return CMD_USAGE;
}
