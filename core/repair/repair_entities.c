/* Owns names of entities; see repair_entities.h. */
#include "core/repair/repair_entities.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* All names in one block, without pointers to them, which a shared library would have to relocate. */
static const struct entity_names {
#define ENTITY(name, first, second) char of_##name[sizeof(#name)];
#include "core/repair/entities.def"
#undef ENTITY
} entity_names = {
#define ENTITY(name, first, second) #name,
#include "core/repair/entities.def"
#undef ENTITY
};

static const struct entity {
	uint32_t first;
	uint16_t second;
	uint16_t name;                  /* offset in entity_names */
} entities[] = {
#define ENTITY(name, first, second) { first, second, offsetof(struct entity_names, of_##name) },
#include "core/repair/entities.def"
#undef ENTITY
};

_Static_assert(sizeof(entity_names) <= UINT16_MAX, "every name has an offset of 16 bits");

static int compare(const char *known, const uint8_t *name, size_t len)
{
	int order = strncmp(known, (const char *)name, len);

	return order == 0 && known[len] != '\0' ? 1 : order;
}

bool entity_find(const uint8_t *name, size_t len, struct entity_text *text)
{
	size_t low = 0, high = sizeof(entities) / sizeof(entities[0]);

	while (low < high) {
		const struct entity *middle = &entities[(low + high) / 2];
		int order = compare((const char *)&entity_names + middle->name, name, len);

		if (order == 0) {
			*text = (struct entity_text){ middle->first, middle->second };
			return true;
		}
		if (order < 0)
			low = (low + high) / 2 + 1;
		else
			high = (low + high) / 2;
	}
	return false;
}

bool entity_is_predefined(const uint8_t *name, size_t len)
{
	static const char *const own[] = { "amp", "lt", "gt", "quot", "apos" };

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (compare(own[i], name, len) == 0)
			return true;
	return false;
}

int declared_add(struct declared_names *d, const uint8_t *name, size_t len)
{
	if (d->any || declared_has(d, name, len))
		return 0;
	if (len > ENTITY_NAME_MAX || d->len + len + 1 > ENTITY_DECLARED_MAX) {
		d->any = true;
		return 0;
	}
	char *names = realloc(d->names, d->len + len + 1);
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
