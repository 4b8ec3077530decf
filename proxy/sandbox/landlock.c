/* The kernel's Landlock, by its system calls; see landlock.h. */
#include "proxy/sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif

/* A header may be older than the kernel, or absent. The numbers are the same for all machines but Alpha. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/* The rights of the kernel, as its header has them (LANDLOCK_ACCESS_FS_). */
enum {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_REMOVE_FILE = 1 << 5,
	FS_MAKE_REG = 1 << 8,
	FS_REFER = 1 << 13,
	FS_TRUNCATE = 1 << 14,
	FS_IOCTL_DEV = 1 << 15,
	FS_OF_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV
};
enum { NET_BIND_TCP = 1 << 0, SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0, SCOPE_SIGNAL = 1 << 1 };
enum { CREATE_RULESET_VERSION = 1 << 0, RULE_PATH_BENEATH = 1 };

#ifdef LANDLOCK_ACCESS_FS_REFER
_Static_assert(LANDLOCK_ACCESS_FS_READ_DIR == (int)FS_READ_DIR && LANDLOCK_ACCESS_FS_MAKE_REG == (int)FS_MAKE_REG &&
		LANDLOCK_ACCESS_FS_REMOVE_FILE == (int)FS_REMOVE_FILE && LANDLOCK_ACCESS_FS_REFER == (int)FS_REFER &&
		LANDLOCK_CREATE_RULESET_VERSION == (int)CREATE_RULESET_VERSION &&
		LANDLOCK_RULE_PATH_BENEATH == (int)RULE_PATH_BENEATH,
	"what is written here is what the kernel's header has");
#endif

/* struct landlock_ruleset_attr; a kernel takes as much of it as its version has. */
struct ruleset_attr {
	uint64_t fs, net, scoped;
};

/* struct landlock_path_beneath_attr */
struct path_attr {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

/* What each version has learned. All of it is refused unless it is allowed. */
static const struct {
	struct ruleset_attr refused;
	size_t size;                   /* of the attr */
} versions[] = {
	{ { (1 << 13) - 1, 0, 0 }, 8 },
	{ { FS_REFER, 0, 0 }, 8 },
	{ { FS_TRUNCATE, 0, 0 }, 8 },
	{ { 0, NET_BIND_TCP, 0 }, 16 },
	{ { FS_IOCTL_DEV, 0, 0 }, 16 },
	{ { 0, 0, SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL }, 24 },
};
enum { VERSIONS = sizeof versions / sizeof *versions };

static const struct {
	enum landlock_right right;
	uint64_t fs;
} right_bits[] = {
	{ LANDLOCK_READ, FS_READ_FILE | FS_READ_DIR },
	{ LANDLOCK_APPEND, FS_WRITE_FILE | FS_MAKE_REG },
	{ LANDLOCK_STORE,
	    FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_TRUNCATE | FS_MAKE_REG | FS_REMOVE_FILE },
	{ LANDLOCK_REMOVE, FS_REMOVE_FILE },
};

struct landlock {
	int fd;                        /* the ruleset */
	uint64_t refused;              /* the rights to files that it knows */
};

int landlock_version(void)
{
	return (int)syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, CREATE_RULESET_VERSION);
}

static struct ruleset_attr attr_of(int version, bool abstract, size_t *size)
{
	struct ruleset_attr attr = { 0, 0, 0 };

	for (int i = 0; i < version && i < VERSIONS; i++) {
		attr.fs |= versions[i].refused.fs;
		attr.net |= versions[i].refused.net;
		attr.scoped |= versions[i].refused.scoped;
		*size = versions[i].size;
	}
	if (abstract)
		attr.scoped &= ~(uint64_t)SCOPE_ABSTRACT_UNIX_SOCKET;
	return attr;
}

struct landlock *landlock_new(bool abstract)
{
	struct landlock *landlock = NULL;
	size_t size = 0;
	int version = landlock_version();
	struct ruleset_attr attr = attr_of(version, abstract, &size);

	if (version < 1 || !(landlock = malloc(sizeof *landlock)))
		return NULL;
	landlock->refused = attr.fs;
	if ((landlock->fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0)) >= 0)
		return landlock;
	int err = errno;
	free(landlock);
	errno = err;
	return NULL;
}

static uint64_t bits_of(unsigned rights)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < sizeof right_bits / sizeof *right_bits; i++)
		if (rights & right_bits[i].right)
			bits |= right_bits[i].fs;
	return bits;
}

static int allow_open(const struct landlock *landlock, int fd, unsigned rights)
{
	struct path_attr attr = { .allowed = bits_of(rights) & landlock->refused, .parent_fd = fd };
	struct stat about;

	if (fstat(fd, &about))
		return -1;
	if (!S_ISDIR(about.st_mode))
		attr.allowed &= FS_OF_FILES;
	if (!attr.allowed)
		return 0;
	return syscall(SYS_landlock_add_rule, landlock->fd, RULE_PATH_BENEATH, &attr, 0) ? -1 : 0;
}

/* EBADFD: a pipe, or what else has no place in a folder (/dev/stdout may lead there); Landlock does not refuse it. */
static bool is_absent(int err)
{
	return err == ENOENT || err == ENOTDIR || err == EACCES || err == ELOOP || err == ENAMETOOLONG || err == EBADFD;
}

int landlock_allow(struct landlock *landlock, const char *path, unsigned rights)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return is_absent(errno) ? 1 : -1;
	int status = allow_open(landlock, fd, rights);
	int err = errno;
	close(fd);
	errno = err;
	return status && is_absent(err) ? 1 : status;
}

int landlock_enforce(struct landlock *landlock)
{
	return syscall(SYS_landlock_restrict_self, landlock->fd, 0) ? -1 : 0;
}

void landlock_free(struct landlock **lp)
{
	struct landlock *landlock = *lp;

	*lp = NULL;
	if (!landlock)
		return;
	close(landlock->fd);
	free(landlock);
}
