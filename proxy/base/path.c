/* The text of paths; see path.h. */
#include "proxy/base/path.h"

#include <string.h>

static size_t without_slashes(const char *path, size_t len)
{
	while (len > 1 && path[len - 1] == '/')
		len--;
	return len;
}

char *path_folder(const char *path)
{
	size_t len = without_slashes(path, strlen(path));

	while (len && path[len - 1] != '/')
		len--;
	len = without_slashes(path, len);
	return len ? strndup(path, len) : strdup(".");
}
