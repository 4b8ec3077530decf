/* Owns the list of what utfeed may open once it serves, made of a configuration and of what libraries open by
 * themselves. Must not know: Landlock.
 * Invariant: a file is listed with its folder, because a new file may take its name (rename(2)), and the kernel sees
 * that as another file. There are two exceptions: a folder that is not utfeed's own (grants_are_wide()), and a file
 * that is a mount of its own, which cannot be replaced. */
#ifndef UTFEED_PROXY_SANDBOX_GRANTS_H
#define UTFEED_PROXY_SANDBOX_GRANTS_H

#include <stdbool.h>
#include <stddef.h>

struct conf;

struct grant {
	char *path;
	unsigned rights;               /* a set of enum landlock_right */
};

struct grants {
	struct grant *items;           /* sorted by path */
	size_t n;
	bool failed;                   /* out of memory */
};

/* What the configuration names. on_alone is called for a file whose folder is not listed for that reason. */
typedef void grants_alone_f(const char *path, const char *folder);
void grants_add_conf(struct grants *, const struct conf *, grants_alone_f *on_alone);
/* What the C library, OpenSSL and c-ares may open at any time, and numbers of the kernel; proc: those of /proc, too. */
void grants_add_system(struct grants *, bool proc, grants_alone_f *on_alone);
void grants_free(struct grants *);

/* Whether a folder holds what is nobody's business: the root, a folder in which everybody makes files (/tmp), the
 * user's home (home: its path, NULL: not known) or one above it. Or there is no such folder. */
bool grants_are_wide(const char *folder, const char *home);

#endif
