/* Owns the lookup of labels and the facts of each charset (charsets.def, labels.def).
 * Must not know: how any of them is decoded.
 * Invariant: labels.def is sorted by strcmp, and every charset's own name is one of its rows (test_charset checks
 * both). */
#include "core/decode/charset.h"

#include <assert.h>
#include <string.h>

/* Every label of labels.def is shorter (test_charset checks it). */
enum { LABEL_MAX = 64 };

static const struct charset_info infos[CS_COUNT] = {
#define CHARSET(id, name, family, kind, iconv_name) [CS_##id] = { name, family, kind, iconv_name },
#include "core/decode/charsets.def"
#undef CHARSET
};

static const struct charset_label labels[] = {
#define LABEL(text, charset) { text, CS_##charset, false, false },
#define ASCII(text) { text, CS_WINDOWS_1252, true, false },
#define LITERAL(text, charset) { text, CS_##charset, false, true },
#include "core/decode/labels.def"
#undef LITERAL
#undef ASCII
#undef LABEL
};

enum { LABEL_COUNT = sizeof labels / sizeof labels[0] };

const struct charset_info *charset_info(enum charset cs)
{
	assert(cs > CS_NONE && cs < CS_COUNT);
	return &infos[cs];
}

const char *charset_name(enum charset cs)
{
	return cs == CS_NONE ? "" : charset_info(cs)->name;
}

/* `key` is in lower case; it may contain NUL bytes, which no label does. */
static const struct charset_label *label_find(const char *key, size_t len)
{
	size_t low = 0, high = LABEL_COUNT;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *text = labels[middle].text;
		size_t text_len = strlen(text);
		int order = memcmp(key, text, len < text_len ? len : text_len);

		if (order == 0 && len == text_len)
			return &labels[middle];
		if (order < 0 || (order == 0 && len < text_len))
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* ASCII white space as in the Encoding Standard, section 4.2 "get an encoding". */
static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

const struct charset_label *charset_lookup(const char *text, size_t len)
{
	char key[LABEL_MAX];

	while (len > 0 && is_space(text[0])) {
		text++;
		len--;
	}
	while (len > 0 && is_space(text[len - 1]))
		len--;
	if (len == 0 || len > sizeof key)
		return NULL;
	for (size_t i = 0; i < len; i++)
		key[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + ('a' - 'A')) : text[i];
	return label_find(key, len);
}

bool charset_is_thoughtless(enum charset cs)
{
	return cs == CS_WINDOWS_1252;
}

const struct charset_label *charset_label_at(size_t i)
{
	return i < LABEL_COUNT ? &labels[i] : NULL;
}
