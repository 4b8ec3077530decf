/* Owns names of entities; see repair_entities.h. */
#include "core/repair/repair_entities.h"

#include <stdlib.h>
#include <string.h>

static const struct entity {
	const char *name;
	uint32_t code;
} entities[] = {
#define ENTITY(name, code) { name, code },
#include "core/repair/entities.def"
#undef ENTITY
};

static int compare(const char *known, const uint8_t *name, size_t len)
{
	int order = strncmp(known, (const char *)name, len);

	return order == 0 && known[len] != '\0' ? 1 : order;
}

uint32_t entity_code(const uint8_t *name, size_t len)
{
	size_t low = 0, high = sizeof(entities) / sizeof(entities[0]);

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = compare(entities[middle].name, name, len);

		if (order == 0)
			return entities[middle].code;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

bool entity_is_predefined(const uint8_t *name, size_t len)
{
	static const char *const names[] = { "amp", "lt", "gt", "quot", "apos" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (compare(names[i], name, len) == 0)
			return true;
	return false;
}

int declared_add(struct declared_names *d, const uint8_t *name, size_t len)
{
	char *names;

	if (d->any || declared_has(d, name, len))
		return 0;
	if (len > ENTITY_NAME_MAX || d->len + len + 1 > ENTITY_DECLARED_MAX) {
		d->any = true;
		return 0;
	}
	names = realloc(d->names, d->len + len + 1);
	if (!names)
		return -1;
	memcpy(names + d->len, name, len);
	names[d->len + len] = '\0';
	d->names = names;
	d->len += len + 1;
	return 0;
}

bool declared_has(const struct declared_names *d, const uint8_t *name, size_t len)
{
	if (d->any)
		return true;
	for (size_t at = 0; at < d->len; at += strlen(d->names + at) + 1)
		if (compare(d->names + at, name, len) == 0)
			return true;
	return false;
}

void declared_free(struct declared_names *d)
{
	free(d->names);
	d->names = NULL;
	d->len = 0;
}
