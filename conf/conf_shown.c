/* Owns how messages show wrong values and names, and how people see secret values.
 * Must not know: the option that they belong to.
 * Invariant: no message has text that may be a password: the user information or query of a URL, or a value in the
 * place of a name. */
#include "conf/conf_internal.h"

#include <string.h>

static const char option_characters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";

/* The length of "http://" or the like at the start of a URL. */
static size_t shown_scheme_length(const char *value, size_t len)
{
	size_t at = 0;

	while (at < len && strchr(option_characters, value[at]))
		at++;
	return len - at >= 3 && memcmp(value + at, "://", 3) == 0 ? at + 3 : 0;
}

/* The value was refused, so all text before its last '@' may be a password, whatever it looks like. */
struct conf_shown conf_shown(const char *value, size_t len)
{
	struct conf_shown shown;
	const char *at = memrchr(value, '@', len), *query = memchr(value, '?', len);
	size_t scheme = at ? shown_scheme_length(value, len) : 0, from = at ? (size_t)(at - value) : 0, end = len;

	if (query && (!at || query > at))
		end = (size_t)(query - value);
	snprintf(shown.text, sizeof(shown.text), "%.*s%s%.*s%s", (int)scheme, value, at ? "***" : "", (int)(end - from),
	    value + from, end < len ? "?***" : "");
	return shown;
}

struct conf_shown conf_shown_name(const char *name, size_t len)
{
	struct conf_shown shown;

	if (len > 0 && len < 64 && strspn(name, option_characters) >= len)
		snprintf(shown.text, sizeof(shown.text), "'%.*s'", (int)len, name);
	else
		snprintf(shown.text, sizeof(shown.text), "what stands here");
	return shown;
}

static void show_secret(FILE *out, const struct conf_row *row, const void *member)
{
	(void)row;
	fputs(**(char *const *)member ? CONF_HIDDEN : "", out);
}

/* The kinds of values that are secret, or have a secret in them. */
static void (*const shows[CONF_TYPE_COUNT])(FILE *, const struct conf_row *, const void *member) = {
	[CONF_TYPE_SECRET] = show_secret,
	[CONF_TYPE_PARENT] = conf_parent_show,
	[CONF_TYPE_FIELDS] = conf_fields_show,
	[CONF_TYPE_ROUTE] = conf_route_show,
};

void conf_write_shown(FILE *out, const struct conf_row *row, const void *base)
{
	const void *member = (const char *)base + row->offset;

	if (shows[row->type])
		shows[row->type](out, row, member);
	else
		conf_types[row->type].format(out, row, member);
}
