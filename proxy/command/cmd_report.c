/* Owns `utfeed report`: access logs or the list of feeds of a running utfeed in, an account of publishers out. */
#include "proxy/command/cmd.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proxy/report/log_stream.h"
#include "proxy/report/publishers_show.h"

static const char usage[] = "utfeed report [--csv | --json] [--feeds | --origins] [LOG...]";

enum report_output { REPORT_TABLE, REPORT_CSV, REPORT_JSON };

/* How compressed files begin, and what reads them. */
static const struct {
	const char *bytes, *program;
} compressions[] = {
	{ "\x1f\x8b", "zcat" },
	{ "\x28\xb5\x2f\xfd", "zstdcat" },
	{ "\xfd" "7zXZ", "xzcat" },
	{ "BZh", "bzcat" },
};

/* Whether the first bytes of a log are those of a compressed file; told. Rotated logs are. */
static bool report_is_compressed(const char *path, const char *bytes, size_t len)
{
	bool named = strcmp(path, "-");

	for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++) {
		size_t n = strlen(compressions[i].bytes);

		if (len < n || memcmp(bytes, compressions[i].bytes, n))
			continue;
		fprintf(stderr, "utfeed: %s: is compressed; write: %s %s | utfeed report\n",
		    named ? path : "standard input", compressions[i].program, named ? path : "FILE");
		return true;
	}
	return false;
}

/* Reads the log to its end. CMD_OK, or the exit status; told. */
static int report_read_from(struct publishers *publishers, int fd, const char *path)
{
	static char buf[64 * 1024];
	static struct log_stream stream;
	ssize_t got = cmd_read(fd, path, buf, sizeof buf);
	int failed = 0;

	if (got > 0 && report_is_compressed(path, buf, (size_t)got))
		return CMD_USAGE;
	stream.publishers = publishers;
	for (; !failed && got > 0; got = cmd_read(fd, path, buf, sizeof buf))
		failed = log_stream_feed(&stream, buf, (size_t)got);
	if (!failed)
		failed = log_stream_end(&stream);
	if (failed)
		return cmd_no_memory();
	return got < 0 ? CMD_USAGE : CMD_OK;
}

static int report_read(struct publishers *publishers, const char *path)
{
	int fd = cmd_open(path, "report", false), status;

	if (fd < 0)
		return CMD_USAGE;
	status = report_read_from(publishers, fd, path);
	cmd_close(fd);
	return status;
}

static void report_tell(const struct publishers *publishers)
{
	uint64_t strange = publishers->unread - publishers->combined;

	if (publishers->combined > 0)
		fprintf(stderr,
		    "utfeed: %" PRIu64 " of %" PRIu64 " lines are of a combined log, which says neither the label nor "
		    "the encoding nor the repairs of a feed; write log-format = json (or text) in utfeed's "
		    "configuration\n",
		    publishers->combined, publishers->lines);
	if (strange > 0)
		fprintf(stderr, "utfeed: %" PRIu64 " of %" PRIu64 " lines are not of an access log; write "
		    "the names of logs that utfeed wrote\n", strange,
		    publishers->lines);
	if (publishers->left_out > 0)
		fprintf(stderr, "utfeed: %" PRIu64 " lines are left out: they are of more feeds than %d\n",
		    publishers->left_out, PUBLISHERS_FEEDS_MAX);
}

static int report_show(struct publishers *publishers, enum report_output output, enum publishers_view view)
{
	publishers_sort(publishers);
	report_tell(publishers);
	if (output == REPORT_JSON)
		publishers_show_json(stdout, publishers, view == VIEW_ORIGINS);
	else
		(output == REPORT_CSV ? publishers_show_csv : publishers_show_table)(stdout, publishers, view);
	return cmd_flush();
}

static int report_run(char **logs, int n, enum report_output output, enum publishers_view view)
{
	struct publishers *publishers = publishers_new();
	int status = publishers ? CMD_OK : cmd_no_memory();

	if (n == 0 && status == CMD_OK)
		status = report_read(publishers, "-");
	for (int i = 0; i < n && status == CMD_OK; i++)
		status = report_read(publishers, logs[i]);
	if (status == CMD_OK)
		status = report_show(publishers, output, view);
	publishers_free(&publishers);
	return status;
}

int cmd_report(int argc, char **argv)
{
	enum { OPT_CSV = 256, OPT_JSON, OPT_FEEDS, OPT_ORIGINS, OPT_HELP };
	static const struct option options[] = {
		{ "csv", no_argument, NULL, OPT_CSV },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "feeds", no_argument, NULL, OPT_FEEDS },
		{ "origins", no_argument, NULL, OPT_ORIGINS },
		{ "help", no_argument, NULL, OPT_HELP },
		{ NULL, 0, NULL, 0 },
	};
	enum report_output output = REPORT_TABLE;
	enum publishers_view view = VIEW_PUBLISHERS;
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case OPT_CSV:
			output = REPORT_CSV;
			break;
		case OPT_JSON:
			output = REPORT_JSON;
			break;
		case OPT_FEEDS:
			view = VIEW_FEEDS;
			break;
		case OPT_ORIGINS:
			view = VIEW_ORIGINS;
			break;
		case OPT_HELP:
			printf("usage: %s\n", usage);
			return CMD_OK;
		default:
			return cmd_usage(usage, NULL, NULL);
		}
	}
	return report_run(argv + optind, argc - optind, output, view);
}
