/* Owns finding the name that somebody may have meant who wrote another one: one of another program, or one misspelt.
 * Must not know: where a name was written.
 * Invariant: a hint has names of the tables only, nothing of what was written. */
#include "conf/conf_internal.h"

/* names: with blanks between. */
static const struct { bool of_route; const char *names, *advice; } foreign[] = {
#define FOREIGN(names, advice) { false, names, advice },
#define FOREIGN_ROUTE(names, advice) { true, names, advice },
#include "conf/foreign.def"
#undef FOREIGN
#undef FOREIGN_ROUTE
};

enum { NEAR_NAME_MAX = 64, NEAR_MOST = 2 };

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A name is compared in small letters, with '-' for '_', so that it may be written as a flag, a variable or a line. */
static char plain(char c)
{
	return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* How many letters differ, are missing, are too many, or stand in each other's place. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][NEAR_NAME_MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		last[j] = before[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			bool same = plain(a[i - 1]) == plain(b[j - 1]);
			row[j] = smaller(last[j - 1] + !same, smaller(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2]) && plain(a[i - 2]) == plain(b[j - 1]))
				row[j] = smaller(row[j], before[j - 2] + 1);
		}
		size_t *free_row = before;
		before = last;
		last = row;
		row = free_row;
	}
	return last[b_len];
}

void conf_near_try(struct conf_near *near, const char *name)
{
	size_t most = near->len < 6 ? 1 : NEAR_MOST, len = strlen(name), far;

	if (near->len > NEAR_NAME_MAX || len > NEAR_NAME_MAX)
		return;
	far = distance(near->text, near->len, name, len);
	if (far <= most && (!near->name || far < near->distance)) {
		near->name = name;
		near->distance = far;
	}
}

void conf_near_rows(struct conf_near *near, const struct conf_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		conf_near_try(near, rows[i].name);
}

static bool near_is_among(const struct conf_near *near, const char *names)
{
	for (size_t len; *names; names += len + (names[len] == ' ')) {
		len = strcspn(names, " ");
		if (len == near->len && distance(near->text, near->len, names, len) == 0)
			return true;
	}
	return false;
}

const char *conf_near_foreign(const struct conf_near *near)
{
	if (near->len > NEAR_NAME_MAX)
		return NULL;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (foreign[i].of_route == near->of_route && near_is_among(near, foreign[i].names))
			return foreign[i].advice;
	return NULL;
}

/* The switch that somebody means who writes no-NAME, disable-NAME or enable-NAME. on: what to write. */
static const struct conf_row *near_switch(const struct conf_near *near, bool *on)
{
	static const struct { const char *word; bool on; } words[] = {
		{ "no-", false }, { "disable-", false }, { "without-", false }, { "enable-", true }, { "with-", true },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t len = strlen(words[i].word);
		const struct conf_row *row;

		if (near->len <= len || distance(near->text, len, words[i].word, len) != 0)
			continue;
		*on = words[i].on;
		if ((row = conf_option_find(near->text + len, near->len - len)))
			return row->type == CONF_TYPE_BOOL ? row : NULL;
	}
	return NULL;
}

struct conf_shown conf_near_hint(const struct conf_near *near, const char *before)
{
	const char *advice = conf_near_foreign(near);
	struct conf_shown hint;
	bool on;
	const struct conf_row *row = near_switch(near, &on);

	if (row)
		snprintf(hint.text, sizeof(hint.text), "write %s%s%s%s", before, row->name, *before ? " " : " = ",
		    on ? "on" : "off");
	else if (advice)
		snprintf(hint.text, sizeof(hint.text), "%s", advice);
	else if (near->name)
		snprintf(hint.text, sizeof(hint.text), "did you mean %s%s?", before, near->name);
	else
		snprintf(hint.text, sizeof(hint.text), "utfeed serve --help lists them");
	return hint;
}
