/* Owns reading an XML declaration in any family of Appendix F.1.
 * Must not know: which charset wins, or how bodies are decoded.
 * Invariant: never reads past XMLDECL_MAX_CHARS characters of a declaration, nor past the buffer. */
#include "core/evidence/xmldecl.h"

#include <string.h>

#include "core/evidence/scan.h"

struct decl_reader {
	struct scan scan;
	size_t limit;               /* byte offset where XMLDECL_MAX_CHARS end */
	bool starved;               /* the bytes ended before the limit */
};

static int xmldecl_peek(struct decl_reader *r)
{
	int c = r->scan.at < r->limit ? scan_peek(&r->scan, 0) : SCAN_END;

	if (c == SCAN_END && r->scan.at < r->limit)
		r->starved = true;
	return c;
}

static void xmldecl_step(struct decl_reader *r)
{
	r->scan.at += r->scan.family.unit;
}

static void skip_space(struct decl_reader *r)
{
	while (scan_is_space(xmldecl_peek(r)))
		xmldecl_step(r);
}

/* Whether "?>" stands here, all of it before the limit: bytes behind the limit never matter, whether they have come
 * already or not. */
static bool at_end_mark(struct decl_reader *r)
{
	if (xmldecl_peek(r) != '?')
		return false;
	struct decl_reader next = *r;
	xmldecl_step(&next);
	bool ends = xmldecl_peek(&next) == '>';
	r->starved |= next.starved;
	return ends;
}

/* Appends a character. The text is cut at cap: no known name or label is longer. Characters beyond ASCII become '?'. */
static void put(char *out, size_t cap, size_t *n, int c)
{
	if (*n + 1 < cap)
		out[(*n)++] = c == SCAN_OTHER || c < ' ' ? '?' : (char)c;
	out[*n] = '\0';
}

/* Reads name S? = S? "value". False: something else stands there, and the reader is where that differs. */
static bool read_attribute(struct decl_reader *r, char *name, size_t name_cap, char *value, size_t value_cap)
{
	size_t n = 0, v = 0;
	int c;

	name[0] = value[0] = '\0';
	while (scan_is_name(xmldecl_peek(r))) {
		put(name, name_cap, &n, xmldecl_peek(r));
		xmldecl_step(r);
	}
	skip_space(r);
	if (n == 0 || xmldecl_peek(r) != '=')
		return false;
	xmldecl_step(r);
	skip_space(r);
	int quote = xmldecl_peek(r);
	if (quote != '"' && quote != '\'')
		return false;
	xmldecl_step(r);
	while ((c = xmldecl_peek(r)) != quote) {
		if (c == SCAN_END || c == '<' || at_end_mark(r))
			return false;
		put(value, value_cap, &v, c);
		xmldecl_step(r);
	}
	xmldecl_step(r);
	return true;
}

static void xmldecl_trim(char *text)
{
	size_t lead = strspn(text, " "), n = strlen(text);

	while (n > lead && text[n - 1] == ' ')
		n--;
	memmove(text, text + lead, n - lead);
	text[n - lead] = '\0';
}

/* Whether a declaration starts at the cursor: "<?xml", and white space or "?" behind it. "<?xml?>" is one without
 * attributes. */
static enum scan_match xmldecl_starts(const struct scan *s)
{
	enum scan_match m = scan_match(s, "<?xml", false);

	if (m != SCAN_YES)
		return m;
	int c = scan_peek(s, 5);
	if (c == SCAN_END)
		return SCAN_SHORT;
	return scan_is_space(c) || c == '?' ? SCAN_YES : SCAN_NO;
}

static void read_attributes(struct xmldecl *d, struct decl_reader *r)
{
	char name[16], value[XMLDECL_LABEL_MAX];
	bool named = false;
	size_t start;

	while (xmldecl_peek(r) != SCAN_END && !at_end_mark(r)) {
		start = r->scan.at;
		if (!read_attribute(r, name, sizeof name, value, sizeof value)) {
			if (r->scan.at == start)
				xmldecl_step(r);
			continue;
		}
		if (strcmp(name, "encoding") == 0 && !named) {
			memcpy(d->encoding, value, sizeof value);
			xmldecl_trim(d->encoding);
			named = true;
		} else if (strcmp(name, "version") == 0 && strlen(value) < sizeof d->version) {
			memcpy(d->version, value, sizeof d->version);
		} else if (strcmp(name, "standalone") == 0) {
			d->standalone = strcmp(value, "yes") == 0;
		}
	}
}

void xmldecl_read(struct xmldecl *d, struct bom_family family, const uint8_t *bytes, size_t len, size_t at,
    bool complete)
{
	struct decl_reader r = { { family, bytes, len, at }, 0, false };
	enum scan_match m = SCAN_NO;

	*d = (struct xmldecl){ .state = XMLDECL_ABSENT, .start = at, .end = at, .standalone = -1 };
	if (family.unit != 0 && at <= len)
		m = xmldecl_starts(&r.scan);
	if (m == SCAN_NO || (m == SCAN_SHORT && complete))
		return;
	if (m == SCAN_SHORT) {
		d->state = XMLDECL_INCOMPLETE;
		return;
	}
	r.limit = at + XMLDECL_MAX_CHARS * family.unit;
	r.scan.at += strlen("<?xml") * family.unit;
	read_attributes(d, &r);
	if (at_end_mark(&r)) {
		d->state = XMLDECL_PRESENT;
		d->end = r.scan.at + strlen("?>") * family.unit;
		return;
	}
	*d = (struct xmldecl){ .start = at, .end = at, .standalone = -1 };
	d->state = r.starved && !complete ? XMLDECL_INCOMPLETE : XMLDECL_BROKEN;
}
