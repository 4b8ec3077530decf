/* The memory that this process may have; see memory_limit.h. */
#include "proxy/base/memory_limit.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a version of control groups is mounted, and the files of a group that limit memory. An absent file is no
 * limit. */
struct hierarchy {
	const char *mount;
	const char *files[2];
};

static const struct hierarchy v1 = { "/sys/fs/cgroup/memory", { "memory.limit_in_bytes" } };
static const struct hierarchy v2 = { "/sys/fs/cgroup", { "memory.max", "memory.high" } };

/* The limit in a file; "max", or anything else that is not a number, means no limit. */
static uint64_t read_limit(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long n;

	if (!f)
		return UINT64_MAX;
	bool number = fscanf(f, "%llu", &n) == 1;
	fclose(f);
	return number ? n : UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The lowest limit of the group and of all groups above it. In a container its own group may be the only one that can
 * be seen. */
static uint64_t limit_of(const char *root, const struct hierarchy *tree, char *group)
{
	uint64_t limit = UINT64_MAX;
	char path[PATH_MAX], *end;

	for (;;) {
		for (size_t i = 0; i < sizeof tree->files / sizeof *tree->files && tree->files[i]; i++)
			if (snprintf(path, sizeof path, "%s%s%s/%s", root, tree->mount, group, tree->files[i]) <
			    (int)sizeof path)
				limit = least(limit, read_limit(path));
		if (!(end = strrchr(group, '/')))
			return limit;
		*end = '\0';
	}
}

/* A line is HIERARCHY:CONTROLLERS:GROUP; the line of version 2 has number 0 and names no controllers. */
static uint64_t line_limit(const char *root, char *line)
{
	char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL, *word,
	     *rest = NULL;

	if (!group)
		return UINT64_MAX;
	*controllers++ = *group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	if (!*controllers)
		return limit_of(root, &v2, group);
	for (word = strtok_r(controllers, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		if (!strcmp(word, "memory"))
			return limit_of(root, &v1, group);
	return UINT64_MAX;
}

uint64_t memory_limit_group(const char *root)
{
	uint64_t limit = UINT64_MAX;
	char path[PATH_MAX], line[PATH_MAX + 64];
	FILE *f;

	if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path || !(f = fopen(path, "re")))
		return limit;
	while (fgets(line, sizeof line, f))
		limit = least(limit, line_limit(root, line));
	fclose(f);
	return limit;
}

uint64_t memory_limit_machine(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);

	return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : UINT64_MAX;
}
