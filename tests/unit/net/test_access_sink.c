/* Owns the cases of proxy/net/access_sink.c and its file, which may be a named pipe that is read when the case says so.
 * Invariant: every line that was put is read as a whole, or counted as lost, once. */
#include "proxy/net/access_sink.h"

#include "conf/conf.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/utfeed-sink-XXXXXX";

static const char *in_folder(char path[64], const char *name)
{
	snprintf(path, 64, "%s/%s", folder, name);
	return path;
}

static struct conf *load(const char *option, const char *value)
{
	char word[128];
	const char *const words[] = { "serve", word };
	static char *const none[] = { NULL };
	struct conf_error error;
	struct conf *conf = conf_new();

	snprintf(word, sizeof word, "--%s=%s", option, value);
	CU_ASSERT_FATAL(conf && conf_load(conf, 2, (char *const *)(uintptr_t)words, none, &error) == 0);
	return conf;
}

static struct access_sink *open_sink(const char *option, const char *value)
{
	struct conf *conf = load(option, value);
	struct access_sink *sink;

	CU_ASSERT_EQUAL_FATAL(access_sink_new(&sink, conf), 0);
	CU_ASSERT_EQUAL_FATAL(access_sink_start(sink), 0);
	conf_free(&conf);
	return sink;
}

static size_t read_file(const char *path, char *buf, size_t cap)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, cap - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static void no_sink(void)
{
	struct conf *conf = load("access-log", "on");
	struct access_sink *sink = (void *)conf;

	CU_ASSERT(access_sink_new(&sink, conf) == 0 && sink == NULL);
	access_sink_free(&sink);
	conf_free(&conf);
}

static void file_is_appended_to(void)
{
	char path[64], text[64];
	struct access_sink *sink = open_sink("access-log-file", in_folder(path, "log"));
	struct stat st;

	CU_ASSERT_EQUAL(access_sink_put(sink, "a\nb\n", 4), 0);
	access_sink_free(&sink);
	sink = open_sink("access-log-file", path);
	CU_ASSERT_EQUAL(access_sink_put(sink, "c\n", 2), 0);
	access_sink_free(&sink);
	read_file(path, text, sizeof text);
	CU_ASSERT_STRING_EQUAL(text, "a\nb\nc\n");
	CU_ASSERT(!stat(path, &st) && (st.st_mode & 07777) == 0640);
	unlink(path);
}

/* What was put before the order is in the old file, what was put after it in the new one. */
static void reopened(void)
{
	char path[64], old[64], text[64];
	struct access_sink *sink = open_sink("access-log-file", in_folder(path, "log"));

	CU_ASSERT_EQUAL(access_sink_put(sink, "a\n", 2), 0);
	CU_ASSERT_EQUAL(rename(path, in_folder(old, "log.1")), 0);
	access_sink_reopen(sink);
	while (access(path, F_OK))
		usleep(1000);
	CU_ASSERT_EQUAL(access_sink_put(sink, "b\n", 2), 0);
	access_sink_free(&sink);
	read_file(old, text, sizeof text);
	CU_ASSERT_STRING_EQUAL(text, "a\n");
	read_file(path, text, sizeof text);
	CU_ASSERT_STRING_EQUAL(text, "b\n");
	unlink(path);
	unlink(old);
}

static void folder_is_absent(void)
{
	char path[64];
	struct conf *conf = load("access-log-file", in_folder(path, "absent/log"));
	struct access_sink *sink;

	CU_ASSERT(access_sink_new(&sink, conf) == -1 && sink == NULL);
	conf_free(&conf);
}

enum { LINE = 1000, LINES = 4 * ACCESS_SINK_BYTES / LINE };

/* Counts the whole lines that come out of the pipe; *at: how far the latest one has come. */
static unsigned read_lines(int fd, size_t *at)
{
	char bytes[64 * 1024];
	ssize_t n = read(fd, bytes, sizeof bytes);
	unsigned whole = 0;

	for (ssize_t i = 0; i < n; i++, ++*at)
		if (bytes[i] == '\n') {
			whole += *at == LINE - 1;
			*at = (size_t)-1;
		}
	return whole;
}

/* Nobody reads the pipe at first: memory is bounded, whoever puts lines does not wait, and in the end each line was read or counted. */
static void nobody_reads(void)
{
	char path[64], line[LINE];
	struct access_sink *sink;
	uint64_t lost = 0, whole = 0;
	size_t at = 0;
	int fd;

	CU_ASSERT_EQUAL_FATAL(mkfifo(in_folder(path, "pipe"), 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	sink = open_sink("access-log-file", path);
	memset(line, 'x', sizeof line);
	line[LINE - 1] = '\n';
	for (int i = 0; i < LINES; i++)
		lost += access_sink_put(sink, line, sizeof line);
	CU_ASSERT(lost > 0 && lost < LINES);
	while (whole + lost < LINES) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		poll(&p, 1, 10);
		whole += read_lines(fd, &at);
		lost += access_sink_put(sink, "", 0);
	}
	CU_ASSERT(whole > 0 && whole + lost == LINES);
	close(fd);
	access_sink_free(&sink);
	unlink(path);
}

static int make_folder(void)
{
	return mkdtemp(folder) ? 0 : -1;
}

static void cases(void)
{
	signal(SIGPIPE, SIG_IGN);      /* as server.c has it */
	CU_ASSERT_EQUAL_FATAL(make_folder(), 0);
	no_sink();
	file_is_appended_to();
	reopened();
	folder_is_absent();
	nobody_reads();
	rmdir(folder);
}

UNIT_SUITE(access_sink, { "lines reach their file, or are counted", cases })
