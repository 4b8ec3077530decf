/* Secondary keys; see vary.h. */
#include "vary.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VARY_NAMES_MAX = 32 };

static int compare_names(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;
	size_t n = x->len < y->len ? x->len : y->len;
	int order = strncasecmp(x->at, y->at, n);

	return order ? order : x->len < y->len ? -1 : x->len > y->len;
}

enum vary vary_names(struct text *names, const struct http_msg *m)
{
	struct slice list[VARY_NAMES_MAX], name;
	struct http_list it = { 0, 0 };
	size_t n = 0, start = names->len;

	while (http_msg_next_member(m, H_VARY, &it, &name)) {
		/* So many that nobody will ask twice alike: as good as "*". */
		if (slice_is(name, "*") || n == VARY_NAMES_MAX)
			return VARY_ALL;
		if (!slice_is(name, "accept-encoding"))
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

/* Fields whose values are words in lists, compared without regard to case (RFC 9110 sections 12.4, 12.5; RFC 4647). */
static bool folds_case(struct slice name)
{
	return slice_is(name, "accept") || slice_is(name, "accept-language") || slice_is(name, "accept-charset");
}

static void add_value(struct text *key, struct slice value, bool fold)
{
	bool blank = false;

	for (size_t i = 0; i < value.len; i++) {
		char c = value.at[i];

		if (c == ' ' || c == '\t') {
			blank = true;
			continue;
		}
		/* Blanks count between words only, and as one. */
		if (blank && c != ',' && c != ';' && key->len && key->bytes[key->len - 1] != ',' && key->bytes[key->len - 1] != ';' &&
		    key->bytes[key->len - 1] != '=')
			text_puts(key, " ");
		blank = false;
		text_add(key, &(char){ fold ? (char)tolower((unsigned char)c) : c }, 1);
	}
}

/* The order of languages says nothing: weights do (RFC 9110 section 12.5.4). */
static void add_languages(struct text *key, const struct http_msg *m)
{
	struct slice list[VARY_NAMES_MAX];
	struct http_list it = { 0, 0 };
	size_t n = 0;

	while (n < VARY_NAMES_MAX && http_msg_next_member(m, H_ACCEPT_LANGUAGE, &it, &list[n]))
		n++;
	qsort(list, n, sizeof *list, compare_names);
	for (size_t i = 0; i < n; i++) {
		if (i)
			text_puts(key, ",");
		add_value(key, list[i], true);
	}
}

void vary_key(struct text *key, struct slice names, const struct http_msg *request)
{
	struct slice rest = names;

	while (rest.at && rest.len) {
		struct slice name = slice_until(rest, ',', &rest);
		bool any = false;

		text_add(key, name.at, name.len);
		for (uint32_t i = 0; i < request->n_fields; i++) {
			const struct http_field *f = &request->fields[i];
			struct slice n = http_field_name(request, f);

			if (n.len != name.len || strncasecmp(n.at, name.at, n.len))
				continue;
			text_puts(key, any ? "," : "=");
			any = true;
			if (!slice_is(name, "accept-language"))
				add_value(key, slice_trim(http_field_value(request, f)), folds_case(name));
		}
		if (any && slice_is(name, "accept-language"))
			add_languages(key, request);
		text_puts(key, ";");
	}
}
