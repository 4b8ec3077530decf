/* Owns the cases of proxy/base/memory_limit.c and proxy/settings/budget.c. Must not know: this machine's control groups: it makes its own, of files. */
#include "proxy/base/memory_limit.h"
#include "proxy/settings/budget.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

/* What is written where; each path's folders are made. */
static const struct {
	const char *rule, *groups;
	struct { const char *path, *text; } files[4];
	uint64_t limit;
} rows[] = {
	{ "trust 26: no control groups at all", NULL, { { NULL, NULL } }, UINT64_MAX },
	{ "trust 26: version 2, its own limit", "0::/a\n", { { "a/memory.max", "50331648\n" } }, 48 * MIB },
	{ "trust 26: version 2, none", "0::/a\n", { { "a/memory.max", "max\n" }, { "a/memory.high", "max\n" } }, UINT64_MAX },
	{ "trust 26: version 2, nested: the least counts", "0::/a/b/c\n",
	    { { "a/b/c/memory.max", "max\n" }, { "a/b/memory.max", "104857600\n" }, { "a/memory.max", "52428800\n" } }, 50 * MIB },
	{ "trust 26: version 2, where it is held back", "0::/a\n", { { "a/memory.max", "104857600\n" }, { "a/memory.high", "83886080\n" } }, 80 * MIB },
	{ "trust 26: version 2, a container's own view", "0::/\n", { { "memory.max", "67108864\n" } }, 64 * MIB },
	{ "trust 26: version 1", "5:cpu,cpuacct:/x\n4:memory:/a/b\n0::/z\n",
	    { { "memory/a/b/memory.limit_in_bytes", "9223372036854771712\n" }, { "memory/a/memory.limit_in_bytes", "33554432\n" } }, 32 * MIB },
	{ "trust 26: version 1, a path of the machine, seen from a container", "4:hugetlb,memory:/docker/0123\n",
	    { { "memory/memory.limit_in_bytes", "134217728\n" } }, 128 * MIB },
	{ "trust 26: a name that memory is part of", "4:memoryless:/a\n", { { "memory/a/memory.limit_in_bytes", "1\n" } }, UINT64_MAX },
	{ "trust 26: what is no line of it", "nonsense\n:\n4:memory\n", { { "memory/memory.limit_in_bytes", "1\n" } }, UINT64_MAX },
};

static void write_file(const char *root, const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	f = fopen(path, "w");
	CU_ASSERT_FATAL(f != NULL);
	fputs(text, f);
	fclose(f);
}

static void groups(void)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char root[] = "/tmp/utfeed-budget-XXXXXX", command[64];
		uint64_t limit;

		CU_ASSERT_FATAL(mkdtemp(root) != NULL);
		if (rows[i].groups)
			write_file(root, "proc/self", "cgroup", rows[i].groups);
		for (size_t k = 0; k < 4 && rows[i].files[k].path; k++)
			write_file(root, "sys/fs/cgroup", rows[i].files[k].path, rows[i].files[k].text);
		limit = memory_limit_group(root);
		UNIT_ROW(limit == rows[i].limit, "%s: %llu", rows[i].rule, (unsigned long long)limit);
		snprintf(command, sizeof command, "rm -rf %s", root);
		CU_ASSERT_EQUAL(system(command), 0);
	}
	CU_ASSERT(memory_limit_machine() > 16 * MIB);
}

static void shares(void)
{
	static const struct {
		const char *rule;
		struct budget b;
		uint64_t cache;
		bool fits;
	} sums[] = {
		{ "trust 26: a container of 48 MB: its quarter", { 48 * MIB, 4096 * MIB, 0, 200, 1, 0 }, 12 * MIB, true },
		{ "trust 26: the same, with what it is told", { 48 * MIB, 4096 * MIB, 64 * MIB, 100, 1, 0 }, 64 * MIB, false },
		{ "trust 26: more clients than it has room for", { 48 * MIB, 4096 * MIB, 0, 10000, 1, 0 }, 12 * MIB, false },
		{ "trust 26: a large container: its quarter", { 4096 * MIB, 65536 * MIB, 0, 10000, 4, 0 }, 1024 * MIB, true },
		{ "trust 26: a machine, not for us alone", { UINT64_MAX, 65536 * MIB, 0, 10000, 4, 0 }, 64 * MIB, true },
		{ "trust 26: a small machine", { UINT64_MAX, 128 * MIB, 0, 1000, 1, 0 }, 32 * MIB, true },
		{ "trust 26: a group larger than its machine", { 65536 * MIB, 1024 * MIB, 0, 1000, 1, 0 }, 64 * MIB, true },
		{ "trust 26: next to nothing", { 2 * MIB, 1024 * MIB, 0, 10, 1, 0 }, MIB, false },
		{ "trust 26: nobody knows", { UINT64_MAX, UINT64_MAX, 0, 10, 1, 0 }, 64 * MIB, true },
		{ "first hour: a container of 100 MB by itself", { 100 * MIB, 4096 * MIB, 0, 10000, 1, 128 * MIB }, 25 * MIB, false },
		{ "first hour: what the manual has for it", { 100 * MIB, 4096 * MIB, 25 * MIB, 1000, 1, 32 * MIB }, 25 * MIB, true },
		{ "first hour: decoders alone are too large", { 100 * MIB, 4096 * MIB, 25 * MIB, 1000, 1, 48 * MIB }, 25 * MIB, false },
		{ "first hour: decoders of any size, where nobody knows", { UINT64_MAX, UINT64_MAX, 0, 10, 1, SIZE_MAX / 2 }, 64 * MIB, true },
	};

	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
		size_t cache = budget_cache_bytes(&sums[i].b);

		UNIT_ROW(cache == sums[i].cache, "%s: %zu", sums[i].rule, cache);
		UNIT_ROW((budget_sum(&sums[i].b) <= budget_limit(&sums[i].b)) == sums[i].fits, "%s", sums[i].rule);
	}
}

UNIT_SUITE(budget, { "control groups", groups }, { "shares", shares })
