/* Owns `utfeed ca`: makes an authority for interception, shows one, and tells how it comes to be trusted. Must not
 * know: X.509. Invariant: a file that exists is never written over, and a key is never readable by others, from the
 * moment that its file is made. */
#include "proxy/command/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proxy/command/ca_trust.h"
#include "proxy/net/ca.h"

static const char usage[] = "utfeed ca [--rsa] [--for NAME]... [--days N] --cert FILE --key FILE\n"
	"       utfeed ca --show FILE";

enum { CA_NAMES_MAX = 100, CA_DAYS = 1825, CA_DAYS_MAX = 36500 };

struct ca_arguments {
	struct ca_wish wish;
	const char *names[CA_NAMES_MAX];
	const char *cert, *key, *show;
};

static int ca_complain(const char *path, const char *what)
{
	fprintf(stderr, "utfeed: %s: %s\n", path, what);
	return CMD_USAGE;
}

static int ca_create(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);

	if (fd < 0)
		ca_complain(path, errno != EEXIST ? strerror(errno) :
			"is there already, and is not written over; write another name");
	return fd;
}

/* Whether all that was written will survive; closes the descriptor in any case. */
static bool ca_finish(int fd, const char *path)
{
	bool fine = !fsync(fd);

	fine &= !close(fd);
	if (!fine)
		ca_complain(path, strerror(errno));
	return fine;
}

/* Makes the files; none of them is left where that fails. */
static int ca_write(const struct ca_arguments *arguments)
{
	int key = ca_create(arguments->key, 0600), cert = key < 0 ? -1 : ca_create(arguments->cert, 0644),
	    status = CMD_OK;
	struct ca_why why;

	if (cert >= 0 && ca_make(&arguments->wish, cert, key, &why))
		status = ca_complain(why.file == CA_FILE_CERT ? arguments->cert : arguments->key, why.text);
	bool fine = cert < 0 || ca_finish(cert, arguments->cert);
	fine &= key < 0 || ca_finish(key, arguments->key);
	if (status == CMD_OK && fine && cert >= 0)
		return CMD_OK;
	if (cert >= 0)
		unlink(arguments->cert);
	if (key >= 0)
		unlink(arguments->key);
	return CMD_USAGE;
}

static int ca_tell(const char *cert, const char *key)
{
	struct ca_why why;
	struct ca *ca = ca_read_certificate(cert, &why);

	if (!ca)
		return ca_complain(cert, why.text);
	ca_show(ca, stdout);
	ca_unref(&ca);
	ca_trust_tell(stdout, cert, key);
	return cmd_flush();
}

static int ca_add_name(struct ca_arguments *arguments, const char *name)
{
	name += *name == '.';          /* as the option intercept has it */
	if (!ca_is_name(name, true))
		return cmd_usage(usage,
		    "--for takes a host (all names below it are meant, too), an address or a block of addresses", name);
	if (arguments->wish.n_names == CA_NAMES_MAX)
		return cmd_usage(usage, "too many names", name);
	arguments->names[arguments->wish.n_names++] = name;
	return CMD_OK;
}

static int ca_days(struct ca_arguments *arguments, const char *text)
{
	char *end;
	unsigned long days = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !days || days > CA_DAYS_MAX)
		return cmd_usage(usage, "--days takes a number from 1 to 36500", text);
	arguments->wish.days = (unsigned)days;
	return CMD_OK;
}

/* CMD_OK: read; -1: help was printed. */
static int ca_read_arguments(struct ca_arguments *arguments, int argc, char **argv)
{
	enum { OPT_RSA = 256, OPT_FOR, OPT_DAYS, OPT_CERT, OPT_KEY, OPT_SHOW, OPT_HELP };
	static const struct option options[] = {
		{ "rsa", no_argument, NULL, OPT_RSA }, { "for", required_argument, NULL, OPT_FOR },
		{ "days", required_argument, NULL, OPT_DAYS }, { "cert", required_argument, NULL, OPT_CERT },
		{ "key", required_argument, NULL, OPT_KEY }, { "show", required_argument, NULL, OPT_SHOW },
		{ "help", no_argument, NULL, OPT_HELP }, { NULL, 0, NULL, 0 },
	};
	int opt, status = CMD_OK;

	optind = 0;
	while (status == CMD_OK && (opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (opt) {
		case OPT_RSA: arguments->wish.kind = CA_RSA; break;
		case OPT_FOR: status = ca_add_name(arguments, optarg); break;
		case OPT_DAYS: status = ca_days(arguments, optarg); break;
		case OPT_CERT: arguments->cert = optarg; break;
		case OPT_KEY: arguments->key = optarg; break;
		case OPT_SHOW: arguments->show = optarg; break;
		case OPT_HELP: printf("usage: %s\n", usage); return -1;
		default: status = cmd_usage(usage, NULL, NULL);
		}
	if (status == CMD_OK && optind < argc)
		status = cmd_usage(usage, "takes no such argument", argv[optind]);
	return status;
}

int cmd_ca(int argc, char **argv)
{
	struct ca_arguments a = { .wish = { .days = CA_DAYS, .now_s = time(NULL) } };
	int status = ca_read_arguments(&a, argc, argv);

	a.wish.names = a.names;
	if (status != CMD_OK)
		return status < 0 ? CMD_OK : status;
	if (a.show)
		return a.cert || a.key ? cmd_usage(usage, "--show stands alone", NULL) : ca_tell(a.show, NULL);
	if (!a.cert || !a.key)
		return cmd_usage(usage, "--cert and --key name the files that are to be made", NULL);
	if ((status = ca_write(&a)) == CMD_OK)
		status = ca_tell(a.cert, a.key);
	return status;
}
