/* Owns `utfeed opml`: a reader's subscription list, whatever its encoding, becomes one in UTF-8 whose feeds lead
 * through a gateway. */
#include "proxy/command/cmd.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "conf/conf.h"
#include "core/normalise/normalise.h"
#include "proxy/command/opml.h"

static const char usage[] = "utfeed opml --gateway URL [FILE]";

enum { OPML_BYTES_MAX = 64 << 20, OPML_READ_BYTES = 65536 };

static int opml_on_decided(void *arg, const struct verdict *v)
{
	(void)arg, (void)v;
	return 0;
}

static int opml_on_write(void *arg, const uint8_t *bytes, size_t len)
{
	struct text *t = arg;

	text_add(t, (const char *)bytes, len);
	return t->failed ? NORMALISE_NO_MEMORY : 0;
}

static int opml_say(const char *path, const char *what, int status)
{
	fprintf(stderr, "utfeed: %s: %s\n", path, what);
	return status;
}

/* Feeds the file. CMD_OK, or the exit status; told. */
static int opml_pump(struct normaliser *normaliser, int fd, const char *path)
{
	static uint8_t buf[OPML_READ_BYTES];
	uint64_t total = 0;
	ssize_t got;
	int rc = 0;

	while (rc == 0 && (got = cmd_read(fd, path, buf, sizeof buf)) != 0) {
		if (got < 0)
			return CMD_USAGE;
		total += (uint64_t)got;
		if (total > OPML_BYTES_MAX)
			return opml_say(path, "longer than 64 MB", CMD_BROKEN);
		rc = normaliser_feed(normaliser, buf, (size_t)got);
	}
	if (rc == 0)
		rc = normaliser_finish(normaliser);
	if (rc == NORMALISE_NO_MEMORY)
		return opml_say(path, "out of memory", CMD_USAGE);
	if (normaliser_verdict(normaliser)->kind != VERDICT_CHARSET)
		return opml_say(path, "is not a subscription list; write the name of an OPML file, which readers "
		    "export", CMD_BROKEN);
	return CMD_OK;
}

/* Reads the file as UTF-8: only its declaration and a byte order mark change. */
static int opml_read(struct text *text, const char *path)
{
	const struct normalise_options options = { .policy = POLICY_AUTO, .repairs = REPAIR_BOM | REPAIR_DECLARATION };
	struct normalise_events events = { opml_on_decided, NULL, opml_on_write, text };
	struct normaliser *normaliser = normaliser_new(&options, &events);
	int fd = cmd_open(path, "opml", false), status = CMD_USAGE;

	if (fd >= 0)
		status = normaliser ? opml_pump(normaliser, fd, path) : opml_say(path, "out of memory", CMD_USAGE);
	cmd_close(fd);
	normaliser_free(&normaliser);
	return status;
}

static int opml_write(const struct text *out, const struct opml_counts *counts, const char *path)
{
	(void)fwrite(out->bytes, 1, out->len, stdout);
	if (cmd_flush() != CMD_OK)
		return CMD_USAGE;
	if (counts->left > 0)
		fprintf(stderr, "utfeed: %s: %zu rewritten; %zu left, because they are not http URLs\n", path,
		    counts->rewritten, counts->left);
	return CMD_OK;
}

static int opml_run(const char *gateway, const char *path)
{
	struct text text = { 0 }, out = { 0 };
	struct opml_counts counts;
	int status = opml_read(&text, path);

	if (status == CMD_OK)
		switch (opml_rewrite(&out, text.bytes, text.len, gateway, &counts)) {
		case OPML_OK:
			status = opml_write(&out, &counts, path);
			break;
		case OPML_NOT_OPML:
			status = opml_say(path, "is not a subscription list: its root is not opml; write the name of "
			    "an OPML file", CMD_BROKEN);
			break;
		case OPML_NO_MEMORY:
			status = opml_say(path, "out of memory", CMD_USAGE);
			break;
		}
	text_free(&text);
	text_free(&out);
	return status;
}

int cmd_opml(int argc, char **argv)
{
	enum { OPT_GATEWAY = 256, OPT_HELP };
	static const struct option options[] = {
		{ "gateway", required_argument, NULL, OPT_GATEWAY },
		{ "help", no_argument, NULL, OPT_HELP },
		{ NULL, 0, NULL, 0 },
	};
	struct conf_error error;
	char *gateway = NULL;
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == OPT_HELP) {
			printf("usage: %s\n", usage);
			return CMD_OK;
		}
		if (opt != OPT_GATEWAY)
			return cmd_usage(usage, NULL, NULL);
		gateway = optarg;
	}
	if (!gateway)
		return cmd_usage(usage, "--gateway is missing: the URL under which utfeed listens", NULL);
	if (argc - optind > 1)
		return cmd_usage(usage, "one file at a time", argv[optind + 1]);
	if (conf_read_gateway(gateway, &error) != 0)
		return cmd_usage(usage, "--gateway", error.text);
	return opml_run(gateway, optind < argc ? argv[optind] : "-");
}
