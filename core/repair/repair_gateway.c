/* Owns which URLs lead through a gateway; see repair_gateway.h. */
#include "core/repair/repair_gateway.h"

#include <string.h>
#include <strings.h>

#include "core/repair/repair_name.h"

static const struct {
	const char *element, *attribute, *relation;
} attributes[] = {
#define ATTRIBUTE(element, attribute, relation) { element, attribute, relation },
#define TEXT(parent, element)
#include "core/repair/enclosures.def"
};

static const struct {
	const char *parent, *element;
} texts[] = {
#define ATTRIBUTE(element, attribute, relation)
#define TEXT(parent, element) { parent, element },
#include "core/repair/enclosures.def"
};

static const char scheme[] = "https://";

bool gateway_fits(const char *gateway)
{
	size_t n = 0;

	while (n <= GATEWAY_MAX && gateway[n] > 0x20 && gateway[n] < 0x7f && !strchr("&<>\"'`\\", gateway[n]))
		n++;
	return n > 0 && n <= GATEWAY_MAX && !gateway[n];
}

static bool is_called(const char *word, const uint8_t *in, size_t len)
{
	return strlen(word) == len && memcmp(word, in, len) == 0;
}

bool gateway_may_have_text(const uint8_t *name, size_t len)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (is_called(texts[i].element, name, len))
			return true;
	return false;
}

bool gateway_has_text(const uint8_t *name, size_t len, const uint8_t *parent, size_t parent_len)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (is_called(texts[i].element, name, len) && is_called(texts[i].parent, parent, parent_len))
			return true;
	return false;
}

/* ---- where a URL starts ---- */

/* One character as an XML parser reads it. len 0: the end of the text is needed to tell. */
struct letter {
	char c;                         /* '\0': one that no scheme has */
	size_t len;
};

/* Reads a numeric reference of ASCII with a few digits, which some programs write "/" and ":" as. */
static struct letter letter_reference(const uint8_t *in, size_t len)
{
	enum { DIGITS_MAX = 4 };
	size_t at = 2, digits = 0;
	bool hex = len > 2 && in[2] == 'x';
	unsigned value = 0;

	if (len < 3)
		return (struct letter){ '\0', len == 1 || in[1] == '#' ? 0 : 1 };
	if (in[1] != '#')
		return (struct letter){ '\0', 1 };
	for (at += hex; at < len && digits < DIGITS_MAX; at++, digits++) {
		uint8_t c = in[at];

		if (c >= '0' && c <= '9')
			value = value * (hex ? 16 : 10) + (unsigned)(c - '0');
		else if (hex && (c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			value = value * 16 + (unsigned)((c | 0x20) - 'a' + 10);
		else
			break;
	}
	if (at == len)
		return (struct letter){ '\0', 0 };
	return (struct letter){ digits > 0 && in[at] == ';' && value < 0x80 ? (char)value : '\0', at + 1 };
}

static struct letter letter_read(const uint8_t *in, size_t len, bool plain)
{
	if (len == 0)
		return (struct letter){ '\0', 0 };
	if (in[0] == '&' && !plain)
		return letter_reference(in, len);
	return (struct letter){ in[0] < 0x80 ? (char)in[0] : '\0', 1 };
}

/* Whether the text begins with the word, in any case of letters. */
static enum gateway_answer text_begins(const char *word, const uint8_t *in, size_t len, bool plain)
{
	size_t at = 0;

	for (; *word; word++) {
		struct letter l = letter_read(in + at, len - at, plain);

		if (l.len == 0)
			return GATEWAY_CUT;
		if (l.c == '\0' || strncasecmp(&l.c, word, 1) != 0)
			return GATEWAY_NO;
		at += l.len;
	}
	return GATEWAY_YES;
}

enum gateway_answer gateway_takes(const char *gateway, const uint8_t *in, size_t len, bool plain)
{
	enum gateway_answer is_https = text_begins(scheme, in, len, plain);
	char own[GATEWAY_MAX + 2];
	size_t n = strlen(gateway);

	if (is_https != GATEWAY_YES || strncasecmp(gateway, scheme, strlen(scheme)) != 0)
		return is_https;
	memcpy(own, gateway, n);
	memcpy(own + n, "/", 2);
	enum gateway_answer already = text_begins(own, in, len, true);
	return already == GATEWAY_YES ? GATEWAY_NO : already == GATEWAY_NO ? GATEWAY_YES : GATEWAY_CUT;
}

/* ---- tags ---- */

static bool has_relation(const struct tag *t, const uint8_t *in, const char *relation)
{
	size_t len, at = tag_find(t, in, "rel", &len);

	return at > 0 && strlen(relation) == len && strncasecmp(relation, (const char *)in + at, len) == 0;
}

size_t gateway_in_tag(const char *gateway, const struct tag *t, const uint8_t *in)
{
	size_t i = 0, len;

	while (i < sizeof(attributes) / sizeof(attributes[0]) &&
	    !is_called(attributes[i].element, in + t->name.at, t->name.len))
		i++;
	if (i == sizeof(attributes) / sizeof(attributes[0]) ||
	    (attributes[i].relation && !has_relation(t, in, attributes[i].relation)))
		return 0;
	size_t at = tag_find(t, in, attributes[i].attribute, &len);
	for (; at > 0 && len > 0 && name_is_space(in[at]); at++)
		len--;
	return at > 0 && gateway_takes(gateway, in + at, len, false) == GATEWAY_YES ? at : 0;
}
