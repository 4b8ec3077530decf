/* What utfeed may open once it serves; see grants.h. */
#include "proxy/sandbox/grants.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conf/conf.h"
#include "proxy/base/path.h"
#include "proxy/net/tls_context.h"
#include "proxy/sandbox/landlock.h"

/* Where the path stands, or would stand, in the list, which is sorted. */
static size_t grants_find(const struct grants *g, const char *path, bool *there)
{
	size_t from = 0, to = g->n;

	*there = false;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int order = strcmp(g->items[middle].path, path);

		if (!order) {
			*there = true;
			return middle;
		}
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool grants_have(const struct grants *g, const char *path, unsigned rights)
{
	bool there;
	size_t at = grants_find(g, path, &there);

	return there && (g->items[at].rights & rights) == rights;
}

static void grants_insert(struct grants *g, size_t at, char *path, unsigned rights)
{
	struct grant *grown = reallocarray(g->items, g->n + 1, sizeof *grown);

	if (!grown) {
		free(path);
		g->failed = true;
		return;
	}
	g->items = grown;
	memmove(grown + at + 1, grown + at, (g->n++ - at) * sizeof *grown);
	grown[at] = (struct grant){ path, rights };
}

/* Takes over path, which may be NULL for want of memory. */
static void grants_add(struct grants *g, char *path, unsigned rights)
{
	bool there = false;
	size_t at = path ? grants_find(g, path, &there) : 0;

	g->failed |= !path;
	if (there) {
		g->items[at].rights |= rights;
		free(path);
	} else if (path)
		grants_insert(g, at, path, rights);
}

static void grants_copy(struct grants *g, const char *path, unsigned rights)
{
	grants_add(g, strdup(path), rights);
}

/* ---- folders ---- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether the folder is that path, or one above it. */
static bool is_above(const struct stat *folder, const char *path)
{
	char *real = realpath(path, NULL), *end;
	struct stat at;
	bool is = !real && errno == ENOMEM;

	while (!is && real && *real) {
		is = !stat(real, &at) && same_file(&at, folder);
		if (!(end = strrchr(real, '/')))
			break;
		*end = '\0';
	}
	free(real);
	return is;
}

bool grants_are_wide(const char *folder, const char *home)
{
	struct stat about, root;

	if (stat(folder, &about) || stat("/", &root))
		return true;
	return same_file(&about, &root) || (about.st_mode & S_ISVTX) || (home && *home && is_above(&about, home));
}

/* ---- the configuration ---- */

struct conf_grants {
	struct grants *to;
	grants_alone_f *on_alone;
	const char *home;
};

/* A file that is mounted by itself (containers do it with resolv.conf) cannot be replaced by another one. */
static bool is_mount(const char *path)
{
	struct statx about;

	return !statx(AT_FDCWD, path, 0, STATX_TYPE, &about) && (about.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
	    (about.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static void add_folder_of(const struct conf_grants *wanted, const char *path, unsigned rights)
{
	char *folder = path_folder(path);

	if (!folder || !grants_are_wide(folder, wanted->home)) {
		grants_add(wanted->to, folder, rights);
		return;
	}
	if (!grants_have(wanted->to, folder, rights))
		wanted->on_alone(path, folder);
	free(folder);
}

/* Where a part of the path is a link, the folder that it leads to as well: links of renewed certificates change. */
static void add_with_folder(const struct conf_grants *wanted, const char *path, unsigned rights)
{
	char *real = realpath(path, NULL);
	bool elsewhere = real && strcmp(real, path);
	struct stat about;

	wanted->to->failed |= !real && errno == ENOMEM;
	grants_copy(wanted->to, path, rights);
	/* nobody replaces a device or a pipe by renaming a file */
	if ((!real || !stat(real, &about)) && !is_mount(path) && (!real || S_ISREG(about.st_mode))) {
		add_folder_of(wanted, path, rights);
		if (elsewhere)
			add_folder_of(wanted, real, rights);
	}
	free(real);
}

static void add_to_read(const struct conf_grants *wanted, const char *path)
{
	struct stat about;

	if (!stat(path, &about) && S_ISDIR(about.st_mode))
		grants_copy(wanted->to, path, LANDLOCK_READ);
	else
		add_with_folder(wanted, path, LANDLOCK_READ);
}

static void add_path_of_conf(void *arg, enum conf_use use, const char *path)
{
	const struct conf_grants *wanted = arg;
	char *folder;

	switch (use) {
	case CONF_USE_NONE:
		break;
	case CONF_USE_READ:
		add_to_read(wanted, path);
		break;
	case CONF_USE_APPEND:
		add_with_folder(wanted, path, LANDLOCK_APPEND);
		break;
	case CONF_USE_FOLDER:
		grants_copy(wanted->to, path, LANDLOCK_STORE);
		break;
	case CONF_USE_SOCKET:
		folder = path_folder(path);
		grants_add(wanted->to, folder, LANDLOCK_REMOVE);
		break;
	}
}

void grants_add_conf(struct grants *g, const struct conf *conf, grants_alone_f *on_alone)
{
	struct conf_grants c = { g, on_alone, getenv("HOME") };

	/* First what needs no folder: it may have files of the others in it. */
	for (size_t i = 0; i < conf->sandbox_read.count; i++)
		grants_copy(g, conf->sandbox_read.items[i], LANDLOCK_READ);
	conf_each_path(conf, add_path_of_conf, &c);
}

/* ---- the system ---- */

/* /usr has the parts of programs and no secrets: converters of iconv, certificate authorities, time zones. The resolver
 * of the C library, c-ares and OpenSSL read the files in /etc. workers = auto counts processors. The program itself has
 * the names of its functions. The store in LMDB reads the id of the machine's boot. */
static const char *const system_paths[] = { "/usr", "/etc/ld.so.cache", "/etc/localtime", "/etc/nsswitch.conf",
	"/etc/host.conf", "/etc/gai.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/services", "/etc/svc.conf",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/dev/null", "/sys/devices/system/cpu",
	"/proc/self/exe", "/proc/sys/kernel/random/boot_id" };

/* Variables that name files or folders, several with colons between them. */
static const char *const system_variables[] = { "GCONV_PATH", "LD_LIBRARY_PATH", "TZDIR", "HOSTALIASES",
	"OPENSSL_CONF", "OPENSSL_MODULES" };

/* These may name what operators keep for themselves: the rules are those of the configuration. */
static void add_path_list(void *conf_grants, const char *list)
{
	const struct conf_grants *wanted = conf_grants;

	for (size_t len; *list; list += len + (list[len] == ':')) {
		char *path;

		len = strcspn(list, ":");
		if (!(path = strndup(list, len)))
			wanted->to->failed = true;
		else if (*path)
			add_to_read(wanted, path);
		free(path);
	}
}

/* A converter or a resolver's module may lie beside a library that is loaded already. */
static int add_library(struct dl_phdr_info *info, size_t size, void *grants)
{
	char *folder;

	(void)size;
	if (info->dlpi_name && info->dlpi_name[0] == '/') {
		folder = path_folder(info->dlpi_name);
		grants_add(grants, folder, LANDLOCK_READ);
	}
	return 0;
}

void grants_add_system(struct grants *g, bool proc, grants_alone_f *on_alone)
{
	struct conf_grants c = { g, on_alone, getenv("HOME") };

	for (size_t i = 0; i < sizeof system_paths / sizeof *system_paths; i++)
		grants_copy(g, system_paths[i], LANDLOCK_READ);
	if (proc)
		grants_copy(g, "/proc", LANDLOCK_READ);
	for (size_t i = 0; i < sizeof system_variables / sizeof *system_variables; i++) {
		const char *value = getenv(system_variables[i]);

		if (value)
			add_path_list(&c, value);
	}
	tls_context_system_paths(add_path_list, &c);
	dl_iterate_phdr(add_library, g);
}

void grants_free(struct grants *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->items[i].path);
	free(g->items);
	*g = (struct grants){ 0 };
}
