/* Owns `utfeed check`: gathering the findings on a file. The file is read as a stream; only its first window is
 * held. */
#include "proxy/command/cmd.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/normalise/normalise.h"
#include "proxy/report/check_report.h"
#include "proxy/report/wellformed.h"

static const char usage[] =
    "utfeed check [--json] [--explain] [-t CONTENT-TYPE] [--content-language TAG] [--base URL]\n"
    "    FILE...";

struct check {
	bool json, explain;
	struct normalise_options options;
};

/* The start of the file, on which the normaliser (core/normalise) decides as well. */
struct window {
	uint8_t bytes[NORMALISE_SNIFF_BYTES];
	size_t len;
	bool complete;
};

static int check_on_decided(void *arg, const struct verdict *v)
{
	(void)arg, (void)v;
	return 0;
}

static int check_on_write(void *arg, const uint8_t *bytes, size_t len)
{
	wellformed_feed(arg, bytes, len);
	return 0;
}

static int read_window(struct window *w, int fd, const char *path)
{
	ssize_t got = 1;

	w->len = 0;
	while (
	    w->len < sizeof(w->bytes) && (got = cmd_read(fd, path, w->bytes + w->len, sizeof(w->bytes) - w->len)) > 0)
		w->len += (size_t)got;
	w->complete = got == 0;
	return got < 0 ? -1 : 0;
}

/* Feeds the window and the rest of the file to the normaliser. The window is not overwritten: the report's evidence
 * points into it. 0, a NORMALISE_ code, or 1: reading failed. */
static int check_pump(struct normaliser *n, const struct window *first, int fd, const char *path)
{
	static struct window rest;
	int rc = normaliser_feed(n, first->bytes, first->len);

	for (rest.complete = first->complete; rc == 0 && !rest.complete;) {
		if (read_window(&rest, fd, path) != 0)
			return 1;
		rc = normaliser_feed(n, rest.bytes, rest.len);
	}
	return rc ? rc : normaliser_finish(n);
}

static int report(const struct check *check, struct check_report *r, struct normaliser *n, struct wellformed *w)
{
	bool fine = wellformed_finish(w);

	r->result = normaliser_verdict(n);
	r->report = normaliser_report(n);
	r->normalised = r->result->kind == VERDICT_CHARSET;
	if (r->normalised && !fine) {
		r->fault = wellformed_fault(w);
		r->fault_line = wellformed_line(w);
	}
	(check->json ? check_report_json : check_report_text)(r);
	return r->normalised && fine ? CMD_OK : CMD_BROKEN;
}

static int check_open_file(const struct check *check, int fd, const char *path)
{
	static struct window window;
	static struct policy_explanation explanation;
	struct wellformed *w = wellformed_new(NULL);
	struct normalise_events events = { check_on_decided, NULL, check_on_write, w };
	struct normaliser *n = normaliser_new(&check->options, &events);
	const struct normalise_options *o = &check->options;
	struct check_report r = { .file = path, .content_type = o->content_type, .http = o->http };
	struct evidence evidence;
	int rc = NORMALISE_NO_MEMORY, status = CMD_USAGE;

	if (!w || !n)
		goto out;
	rc = 1;
	if (read_window(&window, fd, path) != 0)
		goto out;
	evidence_begin(&evidence, o->http, o->content_type, o->content_type_len, CS_NONE, window.bytes, window.len,
	    window.complete);
	evidence.told = normalise_told(o);
	evidence_finish(&evidence);
	rc = NORMALISE_NO_MEMORY;
	for (int i = 0; i < POLICY_COUNT; i++)
		if (policy_decide((enum policy)i, &evidence, &r.verdicts[i]))
			goto out;
	if (check->explain && policy_explain(POLICY_AUTO, &evidence, &explanation) != 0)
		goto out;
	r.explanation = check->explain ? &explanation : NULL;
	r.evidence = &evidence;
	r.first_len = window.len < sizeof(r.first) ? window.len : sizeof(r.first);
	memcpy(r.first, window.bytes, r.first_len);
	rc = check_pump(n, &window, fd, path);
	if (rc == 0 || rc == NORMALISE_REJECTED)
		status = report(check, &r, n, w);
out:
	if (rc == NORMALISE_NO_MEMORY)
		fprintf(stderr, "utfeed: out of memory\n");
	normaliser_free(&n);
	wellformed_free(&w);
	return status;
}

static int check_file(const struct check *check, const char *path)
{
	int fd = cmd_open(path), status;

	if (fd < 0)
		return CMD_USAGE;
	status = check_open_file(check, fd, path);
	cmd_close(fd);
	return status;
}

int cmd_check(int argc, char **argv)
{
	enum { OPT_JSON = 256, OPT_EXPLAIN, OPT_BASE, OPT_LANGUAGE, OPT_HELP };
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPT_JSON },
		{ "explain", no_argument, NULL, OPT_EXPLAIN },
		{ "content-type", required_argument, NULL, 't' },
		{ "content-language", required_argument, NULL, OPT_LANGUAGE },
		{ "base", required_argument, NULL, OPT_BASE },
		{ "help", no_argument, NULL, OPT_HELP },
		{ NULL, 0, NULL, 0 },
	};
	struct check check = { .options = { .policy = POLICY_AUTO, .repairs = REPAIR_ALL } };
	int opt, worst = CMD_OK;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "t:", options, NULL)) != -1) {
		switch (opt) {
		case OPT_JSON:
			check.json = true;
			break;
		case OPT_EXPLAIN:
			check.explain = true;
			break;
		case 't':
			if (cmd_content_type(&check.options, optarg, usage) != CMD_OK)
				return CMD_USAGE;
			break;
		case OPT_LANGUAGE:
			cmd_content_language(&check.options, optarg);
			break;
		case OPT_BASE:
			cmd_base(&check.options, optarg);
			break;
		case OPT_HELP:
			printf("usage: %s\n", usage);
			return CMD_OK;
		default:
			return cmd_usage(usage, NULL, NULL);
		}
	}
	if (optind == argc)
		return cmd_usage(usage, "no file named", NULL);
	for (int i = optind; i < argc; i++) {
		int status = check_file(&check, argv[i]);

		if (status > worst)
			worst = status;
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("utfeed: standard output");
		return CMD_USAGE;
	}
	return worst;
}
