/* The folder of a path, by its text alone. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/base/path.h"

static const struct { const char *path, *folder; } cases[] = {
	{ "/a/b", "/a" }, { "/a", "/" }, { "a/b", "a" }, { "a", "." }, { "/", "/" }, { "//", "/" }, { "a/b//", "a" }, { "/a//b", "/a" }, { "//a", "/" },
	{ "a/../b", "a/.." }, { "./a", "." },
};

static void folders(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *folder = path_folder(cases[i].path);

		UNIT_ROW(folder && !strcmp(folder, cases[i].folder), "%s: %s", cases[i].path, folder ? folder : "NULL");
		free(folder);
	}
}

UNIT_SUITE(path, { "folders", folders })
