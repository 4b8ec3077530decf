/* Owns prefixes that are used without a declaration; see repair_namespaces.h. */
#include "core/repair/repair_namespaces.h"

#include <stdio.h>

static const struct {
	const char *prefix, *uri;
} namespaces[] = {
#define NAMESPACE(prefix, uri) { prefix, uri },
#include "core/repair/namespaces.def"
#undef NAMESPACE
};

enum { NAMESPACES = sizeof(namespaces) / sizeof(namespaces[0]) };
_Static_assert(NAMESPACES <= 64, "a bit for each");

static const char declaration[] = "xmlns:";

/* The bit of the row that has the prefix; 0: none. */
static uint64_t find_prefix(const uint8_t *prefix, size_t len)
{
	for (size_t i = 0; i < NAMESPACES; i++)
		if (strncmp(namespaces[i].prefix, (const char *)prefix, len) == 0 && namespaces[i].prefix[len] == '\0')
			return (uint64_t)1 << i;
	return 0;
}

/* The bit of the row that a name has the prefix of. */
static uint64_t find_used(const uint8_t *name, size_t len)
{
	const uint8_t *colon = memchr(name, ':', len);

	return colon && colon > name ? find_prefix(name, (size_t)(colon - name)) : 0;
}

static void remember(struct namespaces *n, const uint8_t *name, size_t len)
{
	const uint8_t *colon = memchr(name, ':', len);
	size_t prefix = colon ? (size_t)(colon - name) : 0;

	if (prefix == 0 || prefix > PREFIX_SEEN_MAX)
		return;
	struct prefix_seen *s = &n->seen[namespaces_slot(name, prefix)];
	s->time = n->time;
	s->len = (uint8_t)prefix;
	memcpy(s->text, name, prefix);
}

static void enter_scope(struct namespaces *n, uint64_t scope, uint32_t depth)
{
	if (n->scopes == SCOPES_MAX) {
		n->scope = UINT64_MAX;
		n->scopes = 0;
		n->depth = 0;
		return;
	}
	n->before[n->scopes].depth = n->depth;
	n->before[n->scopes++].scope = n->scope;
	n->scope = scope;
	n->depth = depth;
}

uint64_t namespaces_enter(struct namespaces *n, const struct tag *t, const uint8_t *in, uint32_t depth)
{
	uint64_t used = find_used(in + t->name.at, t->name.len), declared = 0;
	const size_t word = sizeof(declaration) - 1;

	for (unsigned i = 0; t->colons && i < t->attributes; i++) {
		const uint8_t *name = in + t->attribute[i].at;
		size_t len = t->attribute[i].len;

		if (len > word && memcmp(name, declaration, word) == 0)
			declared |= find_prefix(name + word, len - word);
		else
			used |= find_used(name, len);
	}
	/* What stands behind the attributes that were noted may declare anything */
	if (t->attributes == TAG_ATTRIBUTES_MAX)
		declared = UINT64_MAX;
	uint64_t missing = used & ~(n->scope | declared);
	if (depth > 0 && ((declared | missing) & ~n->scope))
		enter_scope(n, n->scope | declared | missing, depth);
	if (depth > 0 || !((declared | missing) & used))
		remember(n, in + t->name.at, t->name.len);
	return missing;
}

void namespaces_doubt(struct namespaces *n, uint32_t depth)
{
	if (depth > 0)
		enter_scope(n, UINT64_MAX, depth);
	else
		n->scope = UINT64_MAX;
}

void namespaces_leave(struct namespaces *n)
{
	n->scopes--;
	n->scope = n->before[n->scopes].scope;
	n->depth = n->before[n->scopes].depth;
	n->time++;
}

size_t namespaces_text(uint64_t *missing, char text[NAMESPACE_TEXT_MAX])
{
	size_t i = (size_t)__builtin_ctzll(*missing);

	*missing &= *missing - 1;
	return (size_t)snprintf(text, NAMESPACE_TEXT_MAX, " xmlns:%s=\"%s\"", namespaces[i].prefix, namespaces[i].uri);
}
