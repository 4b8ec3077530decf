/* Secondary keys; see vary.h. */
#include "proxy/http/vary.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VARY_NAMES_MAX = 32, VARY_NAMES_MAX_BYTES = 64 * 1024, VARY_MEMBERS_MAX = 64 };

static int compare_names(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;
	size_t n = x->len < y->len ? x->len : y->len;
	int order = strncasecmp(x->at, y->at, n);

	return order ? order : x->len < y->len ? -1 : x->len > y->len;
}

/* Fields that utfeed writes itself, so that clients' requests cannot be compared by them. */
static bool is_ours(struct slice name)
{
	static const char *const ours[] = { "range", "if-range", "if-none-match", "if-modified-since", "if-match",
		"if-unmodified-since" };

	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (slice_is(name, ours[i]))
			return true;
	return false;
}

/* Every request of one URL has the same Host. */
static bool never_differs(struct slice name)
{
	return slice_is(name, "accept-encoding") || slice_is(name, "host");
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
		/* With so many fields hardly two requests are equal, so this counts as "*". */
		if (slice_is(name, "*") || is_ours(name) || n == VARY_NAMES_MAX)
			return VARY_ALL;
		if (!never_differs(name))
			list[n++] = name;
	}
	qsort(list, n, sizeof *list, compare_names);
	for (size_t i = 0; i < n; i++) {
		if (i && !compare_names(&list[i - 1], &list[i]))
			continue;
		if (names->len > start)
			text_puts(names, ",");
		for (size_t j = 0; j < list[i].len; j++)
			text_add(names, &(char){ (char)tolower((unsigned char)list[i].at[j]) }, 1);
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

/* Whether the field is a list of preferences, like Accept, in which case and order of the words mean nothing (RFC 9110
 * sections 12.4.2 and 12.5, RFC 4647 section 2). */
static bool is_preference(struct slice name)
{
	return slice_is(name, "accept") || slice_is(name, "accept-language") || slice_is(name, "accept-charset");
}

/* Takes the member before the next comma outside quotes; false at the end. An empty value is one empty member. */
static bool next_member(struct slice *rest, struct slice *member)
{
	size_t len = 0;
	bool quoted = false;

	if (!rest->at)
		return false;
	for (; len < rest->len && (quoted || rest->at[len] != ','); len++) {
		quoted ^= rest->at[len] == '"';
		len += quoted && rest->at[len] == '\\' && len + 1 < rest->len;
	}
	*member = slice_trim((struct slice){ rest->at, len });
	*rest = len < rest->len ? (struct slice){ rest->at + len + 1, rest->len - len - 1 } : (struct slice){ NULL, 0 };
	return true;
}

/* Appends a member of a list: a preference in lower case and without blanks, anything else as it stands. */
static void add_member(struct text *key, struct slice member, bool preference)
{
	if (!preference)
		text_add(key, member.at, member.len);
	for (size_t i = 0; preference && i < member.len; i++)
		if (member.at[i] != ' ' && member.at[i] != '\t')
			text_add(key, &(char){ (char)tolower((unsigned char)member.at[i]) }, 1);
}

static void add_members(struct text *key, struct slice *list, size_t n, bool preference, bool *any)
{
	if (preference)
		qsort(list, n, sizeof *list, compare_names);
	for (size_t i = 0; i < n; i++) {
		text_puts(key, *any ? "," : "=");
		add_member(key, list[i], preference);
		*any = true;
	}
}

/* Takes the first of the remaining field lines. False: there is none left. */
static bool vary_next_line(struct slice *sent, struct slice *name, struct slice *value)
{
	struct slice line;

	if (!sent->len)
		return false;
	line = slice_until(*sent, '\n', sent);
	if (line.len && line.at[line.len - 1] == '\r')
		line.len--;
	*name = slice_until(line, ':', value);
	*value = slice_trim(*value);
	return true;
}

/* Each name gets a line. No value contains the end of a line, so that different requests never write the same text. */
void vary_key(struct text *key, struct slice names, struct slice sent)
{
	struct slice rest = names, list[VARY_MEMBERS_MAX];

	while (rest.at && rest.len) {
		struct slice name = slice_until(rest, ',', &rest), lines = sent, field, value;
		bool any = false, preference = is_preference(name);
		size_t n = 0;

		text_add(key, name.at, name.len);
		while (vary_next_line(&lines, &field, &value)) {
			if (field.len != name.len || strncasecmp(field.at, name.at, field.len))
				continue;
			while (next_member(&value, &list[n]))
				if (++n == VARY_MEMBERS_MAX) {        /* longer lists are sorted piece by piece */

					add_members(key, list, n, preference, &any);
					n = 0;
				}
		}
		add_members(key, list, n, preference, &any);
		text_puts(key, "\n");
	}
}
