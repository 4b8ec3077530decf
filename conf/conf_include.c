/* Owns what an include line names: one file, the *.conf files of a folder, or those of a pattern, sorted by name.
 * Must not know: what is in the files.
 * Invariant: the list does not depend on the order in which a folder gives its files, nor on the locale. */
#include "conf/conf_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define INCLUDES "; write the name of a file, of a folder, or FOLDER/*.conf"

/* Folders within the folder are left out. */
static int add_entry(struct conf_paths *paths, const char *folder, const char *name, struct conf_error *error)
{
	struct stat about;
	char *path;

	if (asprintf(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name) < 0)
		return conf_fail_memory(error);
	if (stat(path, &about) != 0 || S_ISDIR(about.st_mode)) {
		free(path);
		return 0;
	}
	return conf_paths_add(paths, path, error);
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_matching(struct conf_paths *paths, const char *folder, const char *pattern, struct conf_error *error)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int status = 0;

	if (!dir)
		return conf_fail(error, "include: %.200s: %s" INCLUDES, folder, strerror(errno));
	while (status == 0 && (entry = readdir(dir)))
		if (fnmatch(pattern, entry->d_name, FNM_PERIOD) == 0)
			status = add_entry(paths, folder, entry->d_name, error);
	closedir(dir);
	if (paths->count)
		qsort(paths->items, paths->count, sizeof(*paths->items), compare_paths);
	return status;
}

static bool has_wildcard(const char *text)
{
	return strpbrk(text, "*?[");
}

static int add_pattern(struct conf_paths *paths, const char *path, struct conf_paths *folders, struct conf_error *error)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *folder = name == path ? strdup(".") : strndup(path, (size_t)(name - path));
	int status;

	if (!folder)
		return conf_fail_memory(error);
	if (has_wildcard(folder)) {
		free(folder);
		return conf_fail(error, "include: the name of a folder has a wildcard" INCLUDES);
	}
	status = add_matching(paths, folder, name, error);
	return conf_paths_add(folders, folder, error) != 0 ? -1 : status;
}

/* A relative path is one from the folder of the file that has the line. */
static char *include_path(const char *from, const char *text)
{
	const char *slash = strrchr(from, '/');
	char *path;

	if (*text == '/' || !slash)
		return strdup(text);
	return asprintf(&path, "%.*s%s", (int)(slash - from) + 1, from, text) < 0 ? NULL : path;
}

int conf_include_paths(const char *from, const char *text, struct conf_paths *paths, struct conf_paths *folders,
    struct conf_error *error)
{
	char *path = include_path(from, text);
	struct stat about;
	int status;

	if (!path)
		return conf_fail_memory(error);
	if (!*text)
		status = conf_fail(error, "include: is empty" INCLUDES);
	else if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
		status = add_matching(paths, path, "*.conf", error);
		return conf_paths_add(folders, path, error) != 0 ? -1 : status;
	} else if (has_wildcard(path) && access(path, F_OK) != 0)
		status = add_pattern(paths, path, folders, error);
	else
		status = conf_paths_add(paths, strdup(path), error);
	free(path);
	return status;
}
