/* Owns comparing first bytes with those of known files; see container.h. */
#include "core/evidence/container.h"

#include <string.h>

static const struct {
	const char *name;
	uint16_t at, len;
	const char *bytes;              /* with "?" for any byte */
} containers[] = {
#define CONTAINER(name, at, bytes) { name, at, sizeof bytes - 1, bytes },
#include "core/evidence/containers.def"
#undef CONTAINER
};

#define CONTAINER(name, at, bytes) \
	_Static_assert(at + sizeof bytes - 1 <= CONTAINER_WINDOW, name " is known within the window");
#include "core/evidence/containers.def"
#undef CONTAINER

static bool container_fits(const uint8_t *at, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != '?' && at[i] != (uint8_t)bytes[i])
			return false;
	return true;
}

/* Nearly every body begins so, and none of these files does. */
static bool container_is_ruled_out(const uint8_t *bytes, size_t len)
{
	return len > 0 && bytes[0] == '<';
}

const char *container_name(const uint8_t *bytes, size_t len)
{
	if (container_is_ruled_out(bytes, len))
		return NULL;
	for (size_t i = 0; i < sizeof containers / sizeof containers[0]; i++)
		if (len >= (size_t)containers[i].at + containers[i].len &&
		    container_fits(bytes + containers[i].at, containers[i].bytes, containers[i].len))
			return containers[i].name;
	return NULL;
}

bool container_may_come(const uint8_t *bytes, size_t len)
{
	if (container_is_ruled_out(bytes, len))
		return false;
	for (size_t i = 0; i < sizeof containers / sizeof containers[0]; i++) {
		size_t at = containers[i].at, known = len > at ? len - at : 0;

		if (known < containers[i].len && (!known || container_fits(bytes + at, containers[i].bytes, known)))
			return true;
	}
	return false;
}

/* The method is deflate, and no flag is set that is reserved. */
bool container_is_gzip(const uint8_t *bytes, size_t len)
{
	static const uint8_t magic[] = { GZIP_FIRST, 0x8b, 8 };
	enum { RESERVED_FLAGS = 0xe0 };

	return len >= GZIP_MAGIC && memcmp(bytes, magic, sizeof magic) == 0 && !(bytes[3] & RESERVED_FLAGS);
}
