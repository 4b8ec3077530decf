/* Secondary keys; see vary.h. */
#include "proxy/http/vary.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VARY_NAMES_MAX = 32, VARY_NAMES_MAX_BYTES = 64 * 1024 };

static int compare_names(const void *a, const void *b)
{
	const struct slice *first = a, *second = b;
	size_t n = first->len < second->len ? first->len : second->len;
	int order = strncasecmp(first->at, second->at, n);

	return order ? order : first->len < second->len ? -1 : first->len > second->len;
}

/* What the value of a request field does to the choice of a response. */
enum vary_field {
	VARY_AS_IT_STANDS,     /* order and case of its members count; blanks round commas do not */
	VARY_PREFERENCE,       /* the same, after vary_add_preference() */
	VARY_ALIKE,            /* equal in all requests to one URL */
	VARY_OURS              /* utfeed writes it itself: clients' requests cannot be compared by it */
};

/* All other fields count as they stand. Preferences are those of RFC 9110 section 12.5, whose order counts: of members
 * with equal weight many origins take the first (section 12.5.4). */
#define FIELD(name, is) { name, sizeof name - 1, is }
static const struct { const char *name; size_t len; enum vary_field is; } vary_fields[] = {
	FIELD("accept", VARY_PREFERENCE),
	FIELD("accept-charset", VARY_PREFERENCE),
	FIELD("accept-encoding", VARY_ALIKE),
	FIELD("accept-language", VARY_PREFERENCE),
	FIELD("host", VARY_ALIKE),
	FIELD("if-match", VARY_OURS),
	FIELD("if-modified-since", VARY_OURS),
	FIELD("if-none-match", VARY_OURS),
	FIELD("if-range", VARY_OURS),
	FIELD("if-unmodified-since", VARY_OURS),
	FIELD("range", VARY_OURS),
};

static enum vary_field vary_field_is(struct slice name)
{
	for (size_t i = 0; i < sizeof vary_fields / sizeof *vary_fields; i++)
		if (vary_fields[i].len == name.len && !strncasecmp(name.at, vary_fields[i].name, name.len))
			return vary_fields[i].is;
	return VARY_AS_IT_STANDS;
}

/* Appends ASCII in lower case. */
static void add_lower(struct text *t, struct slice s)
{
	text_add(t, s.at, s.len);
	for (size_t i = t->len - s.len; !t->failed && i < t->len; i++)
		t->bytes[i] |= t->bytes[i] >= 'A' && t->bytes[i] <= 'Z' ? 0x20 : 0;
}

enum vary vary_names(struct text *names, const struct http_msg *m)
{
	return vary_union(names, m, (struct slice){ NULL, 0 });
}

enum vary vary_union(struct text *names, const struct http_msg *m, struct slice others)
{
	struct slice list[VARY_NAMES_MAX], name;
	struct http_list it = { 0, 0 };
	size_t n = 0, start = names->len;

	while (others.at && others.len && n < VARY_NAMES_MAX)
		list[n++] = slice_until(others, ',', &others);
	while (http_msg_next_member(m, H_VARY, &it, &name)) {
		enum vary_field is = vary_field_is(name);

		/* With so many fields hardly two requests are equal, so this counts as "*". */
		if (slice_is(name, "*") || is == VARY_OURS || n == VARY_NAMES_MAX)
			return VARY_ALL;
		if (is != VARY_ALIKE)
			list[n++] = name;
	}
	qsort(list, n, sizeof *list, compare_names);
	for (size_t i = 0; i < n; i++) {
		if (i && !compare_names(&list[i - 1], &list[i]))
			continue;
		if (names->len > start)
			text_puts(names, ",");
		add_lower(names, list[i]);
	}
	return n ? VARY_FIELDS : VARY_NOTHING;
}

bool vary_names_valid(struct slice names)
{
	size_t n = 1;

	for (size_t i = 0; i < names.len; i++) {
		if (names.at[i] < ' ' || names.at[i] > '~')
			return false;
		n += names.at[i] == ',';
	}
	return names.len && names.len <= VARY_NAMES_MAX_BYTES && n <= VARY_NAMES_MAX;
}

/* Takes the part before the next `by` outside quotes; false at the end. An empty value is one empty part. quotes: the
 * value may have some. */
static bool next_part(struct slice *rest, char by, bool quotes, struct slice *part)
{
	size_t len = 0;
	bool quoted = false;

	if (!rest->at)
		return false;
	if (!quotes) {
		*part = slice_until(*rest, by, rest);
		return true;
	}
	for (; len < rest->len && (quoted || rest->at[len] != by); len++) {
		quoted ^= rest->at[len] == '"';
		len += quoted && rest->at[len] == '\\' && len + 1 < rest->len;
	}
	*part = slice_trim((struct slice){ rest->at, len });
	*rest = len < rest->len ? (struct slice){ rest->at + len + 1, rest->len - len - 1 } : (struct slice){ NULL, 0 };
	return true;
}

/* Whether the parameter says what holds without it: a weight of 1 (RFC 9110 section 12.4.2). */
static bool is_full_weight(struct slice name, struct slice value)
{
	if (!slice_is(name, "q") || !value.len || value.at[0] != '1' || (value.len > 1 && value.at[1] != '.'))
		return false;
	for (size_t i = 2; i < value.len; i++)
		if (value.at[i] != '0')
			return false;
	return true;
}

/* Appends a member of Accept or a field like it: the range and the names of parameters in lower case, without blanks
 * round semicolons and without a last weight of 1. A parameter's value may be one whose case counts, as that of profile
 * is. */
static void vary_add_preference(struct text *key, struct slice member, bool quotes)
{
	struct slice part, name, value;

	next_part(&member, ';', quotes, &part);
	add_lower(key, part);
	while (next_part(&member, ';', quotes, &part)) {
		name = slice_until(part, '=', &value);
		if (!member.at && value.at && is_full_weight(name, value))
			return;
		text_puts(key, ";");
		add_lower(key, name);
		if (value.at) {
			text_puts(key, "=");
			text_add(key, value.at, value.len);
		}
	}
}

/* Takes the first of the remaining field lines. False: there is none left. */
static bool vary_next_line(struct slice *sent, struct slice *name, struct slice *value)
{
	if (!sent->len)
		return false;
	struct slice line = slice_until(*sent, '\n', sent);
	if (line.len && line.at[line.len - 1] == '\r')
		line.len--;
	*name = slice_until(line, ':', value);
	*value = slice_trim(*value);
	return true;
}

/* Each name gets a line. No value contains the end of a line, so that different requests never write the same text. */
void vary_key(struct text *key, struct slice names, struct slice sent)
{
	struct slice rest = names;

	while (rest.at && rest.len) {
		struct slice name = slice_until(rest, ',', &rest), lines = sent, field, value, member;
		bool any = false, preference = vary_field_is(name) == VARY_PREFERENCE, quotes;

		text_add(key, name.at, name.len);
		while (vary_next_line(&lines, &field, &value)) {
			if (field.len != name.len || strncasecmp(field.at, name.at, field.len))
				continue;
			quotes = value.len && memchr(value.at, '"', value.len);
			while (next_part(&value, ',', quotes, &member)) {
				text_puts(key, any ? "," : ":");
				any = true;
				if (preference)
					vary_add_preference(key, member, quotes);
				else
					text_add(key, member.at, member.len);
			}
		}
		text_puts(key, "\n");
	}
}
