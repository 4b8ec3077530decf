/* Owns `utfeed normalise`: feeding one body to the normaliser, as a stream in constant memory. */
#include "proxy/command/cmd.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "core/normalise/normalise.h"
#include "proxy/coding/gzip_peel.h"

static const char usage[] =
    "utfeed normalise [-i] [-p POLICY] [-t CONTENT-TYPE] [--content-language TAG]\n"
    "    [--no-repair | --repair REPAIRS] [--base URL] [--gateway URL] [--to utf-8|us-ascii] [FILE]";

enum { READ_BYTES = 65536 };

struct job {
	struct normalise_options options;
	bool head;                  /* -i: header lines come first */
	const char *path;
};

/* Prints the type of what is normalised. -1: out of memory. */
static int normalise_print_type(const struct normalise_options *options, const struct verdict *v)
{
	char *own = NULL;

	if (v->keeps_type)
		own = media_type_relabel(options->content_type, options->content_type_len,
		    normalise_charset(options->output));
	if (v->keeps_type && !own)
		return NORMALISE_NO_MEMORY;
	printf("Content-Type: %s\r\n", own ? own : normalise_content_type(options->output));
	free(own);
	return 0;
}

/* Prints the header lines as the proxy sends them. */
static int normalise_on_decided(void *arg, const struct verdict *v)
{
	const struct job *job = arg;
	char rule[VERDICT_FORMAT_MAX];

	if (!job->head)
		return 0;
	if (v->kind == VERDICT_CHARSET && normalise_print_type(&job->options, v) != 0)
		return NORMALISE_NO_MEMORY;
	if (v->kind == VERDICT_NONE && job->options.content_type_len > 0)
		printf("Content-Type: %s\r\n", job->options.content_type);
	verdict_format(v, rule, sizeof(rule));
	printf("X-Encoding-Rule: %s\r\n\r\n", rule);
	return 0;
}

static int normalise_on_write(void *arg, const uint8_t *bytes, size_t len)
{
	(void)arg;
	return fwrite(bytes, 1, len, stdout) == len ? 0 : 1;
}

static int normalise_take(void *arg, const uint8_t *bytes, size_t len)
{
	return normaliser_feed(arg, bytes, len);
}

/* Feeds the whole input and flushes the output after each read. 0, a NORMALISE_ code, GZIP_PEEL_DAMAGED, or 1: reading
 * or writing failed. */
static int normalise_pump(struct gzip_peel *peel, int fd, const char *path)
{
	static uint8_t buf[READ_BYTES];
	ssize_t got;
	int rc = 0;

	while (rc == 0 && (got = cmd_read(fd, path, buf, sizeof(buf))) != 0) {
		if (got < 0)
			return 1;
		rc = gzip_peel_feed(peel, buf, (size_t)got);
		if (rc == 0 && fflush(stdout) != 0)
			rc = 1;
	}
	return rc ? rc : gzip_peel_finish(peel);
}

static int run(struct job *job)
{
	struct normalise_events events = { normalise_on_decided, NULL, normalise_on_write, job };
	struct normaliser *normaliser = normaliser_new(&job->options, &events);
	struct gzip_peel *peel = gzip_peel_new(&job->options, (struct sink){ normalise_take, normaliser });
	char rule[VERDICT_FORMAT_MAX];
	const struct verdict *v;
	int fd = cmd_open(job->path, "normalise", false), rc = NORMALISE_NO_MEMORY;

	if (normaliser && peel && fd >= 0)
		rc = normalise_pump(peel, fd, job->path);
	if (rc == 0)
		rc = normaliser_finish(normaliser);
	if (normaliser && rc == NORMALISE_REJECTED) {
		verdict_format(normaliser_verdict(normaliser), rule, sizeof(rule));
		fprintf(stderr, "utfeed: %s: refused by its policy: %s\n", job->path, rule);
	} else if (rc == GZIP_PEEL_DAMAGED) {
		fprintf(stderr, "utfeed: %s: the gzip is damaged, or unpacks to too much\n", job->path);
	} else if (fd >= 0 && rc == NORMALISE_NO_MEMORY) {
		fprintf(stderr, "utfeed: out of memory\n");
	} else if (normaliser && rc == NORMALISE_OK && (v = normaliser_verdict(normaliser)) &&
	    v->kind == VERDICT_NONE) {
		/* as in the proxy; only here is somebody who can be told so */
		fprintf(stderr, "utfeed: %s: passed as it is: %s\n", job->path,
		    v->reason == VREASON_EMPTY ? "it is empty" : "it is no feed");
	}
	if (cmd_flush() != CMD_OK)
		rc = 1;
	cmd_close(fd);
	gzip_peel_free(&peel);
	normaliser_free(&normaliser);
	return rc == 0 ? CMD_OK : rc == NORMALISE_REJECTED ? CMD_BROKEN : CMD_USAGE;
}

int cmd_normalise(int argc, char **argv)
{
	enum { OPT_NO_REPAIR = 256, OPT_REPAIR, OPT_BASE, OPT_GATEWAY, OPT_LANGUAGE, OPT_TO, OPT_HELP };
	static const struct option options[] = {
		{ "include", no_argument, NULL, 'i' },
		{ "policy", required_argument, NULL, 'p' },
		{ "content-type", required_argument, NULL, 't' },
		{ "content-language", required_argument, NULL, OPT_LANGUAGE },
		{ "no-repair", no_argument, NULL, OPT_NO_REPAIR },
		{ "repair", required_argument, NULL, OPT_REPAIR },
		{ "base", required_argument, NULL, OPT_BASE },
		{ "gateway", required_argument, NULL, OPT_GATEWAY },
		{ "to", required_argument, NULL, OPT_TO },
		{ "help", no_argument, NULL, OPT_HELP },
		{ NULL, 0, NULL, 0 },
	};
	struct job job = { .options = { .policy = POLICY_AUTO, .repairs = REPAIR_ALL }, .path = "-" };
	struct conf_error error;
	int opt, policy;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "ip:t:", options, NULL)) != -1) {
		switch (opt) {
		case 'i':
			job.head = true;
			break;
		case 'p':
			policy = policy_lookup(optarg, strlen(optarg));
			if (policy < 0)
				return cmd_usage(usage, "no such policy (utfeed policies lists them)", optarg);
			job.options.policy = (enum policy)policy;
			break;
		case 't':
			if (cmd_content_type(&job.options, optarg, usage) != CMD_OK)
				return CMD_USAGE;
			break;
		case OPT_NO_REPAIR:
			job.options.repairs = 0;
			break;
		case OPT_REPAIR:
			if (conf_read_repairs(optarg, &job.options.repairs, &error) != 0)
				return cmd_usage(usage, "--repair", error.text);
			break;
		case OPT_BASE:
			cmd_base(&job.options, optarg);
			break;
		case OPT_GATEWAY:
			if (cmd_gateway(&job.options, optarg, usage) != CMD_OK)
				return CMD_USAGE;
			break;
		case OPT_LANGUAGE:
			cmd_content_language(&job.options, optarg);
			break;
		case OPT_TO:
			if (!strcmp(optarg, "us-ascii"))
				job.options.output = OUTPUT_US_ASCII;
			else if (!strcmp(optarg, "utf-8"))
				job.options.output = OUTPUT_UTF_8;
			else
				return cmd_usage(usage, "--to is utf-8 or us-ascii, not", optarg);
			break;
		case OPT_HELP:
			printf("usage: %s\n", usage);
			return CMD_OK;
		default:
			return cmd_usage(usage, NULL, NULL);
		}
	}
	if (job.options.base)
		job.options.repairs |= REPAIR_BASE;
	if (argc - optind > 1)
		return cmd_usage(usage, "one file at a time", argv[optind + 1]);
	if (optind < argc)
		job.path = argv[optind];
	return run(&job);
}
