/* Becoming another user; see privileges.h. */
#include "proxy/server/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/base/log.h"

/* Longer names are nobody's. */
enum { PRIVILEGES_NAME_MAX = 256 };

/* ---- who ---- */

static int privileges_unknown(const struct conf *conf, const char *value, const char *what)
{
	log_error("%s: %s%s", conf_place(conf, NULL, "user").text, value, what);
	return -1;
}

/* A number as `id -u` prints it; false: it is none. The largest one means no user (chown(2)). */
static bool read_id(const char *text, uint32_t *id)
{
	char *end;
	unsigned long value;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	*id = (uint32_t)value;
	return !errno && !*end && value < UINT32_MAX;
}

/* User and group by name or number. A user without an entry in passwd(5) needs a group, and has no other. */
static int find_user(struct privileges *user, const struct conf *conf)
{
	const char *colon = strchr(conf->user, ':'), *wanted = colon ? colon + 1 : NULL;
	char name[PRIVILEGES_NAME_MAX];

	snprintf(name, sizeof name, "%.*s", (int)strcspn(conf->user, ":"), conf->user);
	const struct passwd *known = getpwnam(name);
	const struct group *group = wanted ? getgrnam(wanted) : NULL;
	if (!known && !read_id(name, &user->uid))
		return privileges_unknown(conf, name, ": there is no such user; write a name or number of passwd(5)");
	if (!known && !(known = getpwuid(user->uid)) && !wanted)
		return privileges_unknown(conf, name,
			" has no entry in passwd(5), which would name its group; write NAME:GROUP");
	if (known) {
		user->uid = known->pw_uid;
		user->gid = known->pw_gid;
	}
	if (group)
		user->gid = group->gr_gid;
	else if (wanted && !read_id(wanted, &user->gid))
		return privileges_unknown(conf, wanted,
			": there is no such group; write a name or number of group(5)");
	user->n_groups = PRIVILEGES_GROUPS_MAX;
	if (known && getgrouplist(known->pw_name, user->gid, user->groups, &user->n_groups) < 0)
		return privileges_unknown(conf, name, " is in too many groups; write another user");
	if (!known) {
		user->groups[0] = user->gid;
		user->n_groups = 1;
	}
	return 0;
}

static bool is_already(const struct privileges *user)
{
	uid_t real, effective, saved;
	gid_t real_group, effective_group, saved_group;

	return !getresuid(&real, &effective, &saved) && !getresgid(&real_group, &effective_group, &saved_group) &&
	    real == user->uid && effective == user->uid && saved == user->uid && real_group == user->gid &&
	    effective_group == user->gid && saved_group == user->gid;
}

int privileges_find(struct privileges *user, const struct conf *conf)
{
	*user = (struct privileges){ .change = false };
	if (!*conf->user)
		return 0;
	if (find_user(user, conf))
		return -1;
	if (geteuid() && is_already(user))
		return 0;
	if (geteuid())
		return privileges_unknown(conf, conf->user,
			": only root can become another user; start utfeed as root, or leave this out");
	user->change = true;
	return 0;
}

/* ---- becoming it ---- */

static int privileges_fail(const char *what)
{
	log_error("user: %s: %s", what, strerror(errno));
	return -1;
}

bool privileges_lend(const struct privileges *user, struct privileges_lent *lent)
{
	struct privileges *own = &lent->own;

	lent->dumpable = prctl(PR_GET_DUMPABLE);
	*own = (struct privileges){ .uid = geteuid(), .gid = getegid(),
		.n_groups = getgroups(PRIVILEGES_GROUPS_MAX, own->groups) };
	return user->change && own->n_groups >= 0 && !setgroups((size_t)user->n_groups, user->groups) &&
	    !setegid(user->gid) && !seteuid(user->uid);
}

/* The kernel makes a process that changes its user one without core files. */
int privileges_return(const struct privileges_lent *lent)
{
	const struct privileges *own = &lent->own;

	if (seteuid(own->uid) || setegid(own->gid) || setgroups((size_t)own->n_groups, own->groups))
		return privileges_fail("the rights of the start cannot be had again");
	if (lent->dumpable == 1 && prctl(PR_SET_DUMPABLE, 1))
		log_warn("user: a crash will leave no core file: %s", strerror(errno));
	return 0;
}

/* The kernel takes a process's capabilities away along with user 0, unless somebody asked it not to. */
static bool has_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (syscall(SYS_capget, &head, data))
		return errno != ENOSYS;
	return data[0].effective || data[0].permitted || data[1].effective || data[1].permitted;
}

/* Tries to become root again. */
static int privileges_verify(const struct privileges *user)
{
	if (!is_already(user))
		return privileges_fail("the kernel says done, and it is not");
	if (user->gid && (!setgid(0) || !setegid(0))) {
		errno = EPERM;
		return privileges_fail("group 0 can be had again");
	}
	if (user->uid && (!setuid(0) || !seteuid(0) || has_capabilities())) {
		errno = EPERM;
		return privileges_fail("rights of root are left");
	}
	return 0;
}

static void privileges_warn_of(const struct conf *conf, const char *file)
{
	if (file && *file && access(file, R_OK))
		log_warn("user: %s cannot read %s (%s): SIGHUP will be refused", conf->user, file, strerror(errno));
}

/* What is read again later has to be readable by the user: who starts utfeed should not hear it from a failed
 * reload. */
static void privileges_warn(const struct conf *conf)
{
	const char *const files[] = { conf->file, conf->tls_listen_cert, conf->tls_listen_key,
		conf->admin_tls_cert, conf->admin_tls_key, conf->tls_ca_file, conf->intercept_ca_cert,
		conf->intercept_ca_key };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		privileges_warn_of(conf, files[i]);
	for (size_t i = 0; i < conf_route_count(conf); i++)
		privileges_warn_of(conf, conf_route_at(conf, i)->sign_key);
}

int privileges_drop(const struct privileges *user, const struct conf *conf)
{
	int dumpable = prctl(PR_GET_DUMPABLE);

	if (!user->change)
		return 0;
	if (setgroups((size_t)user->n_groups, user->groups))
		return privileges_fail("setgroups");
	if (setresgid(user->gid, user->gid, user->gid))
		return privileges_fail("setgid");
	if (setresuid(user->uid, user->uid, user->uid))
		return privileges_fail("setuid");
	if (privileges_verify(user))
		return -1;
	/* A process that changes its user leaves no core file unless it says that it may. */
	if (dumpable == 1 && prctl(PR_SET_DUMPABLE, 1))
		log_warn("user: a crash will leave no core file: %s", strerror(errno));
	/* One that said that it may not does not become one that may. */
	if (!dumpable)
		prctl(PR_SET_DUMPABLE, 0);
	privileges_warn(conf);
	return 0;
}
