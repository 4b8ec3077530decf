/* Owns what start and end tags mean together; see repair_elements.h.
 * An end tag whose element is open closes those within it, too. One whose element is not open is dropped where HTML
 * knows its name, as HTML does with it: `</b>` in a text ends nothing. Of any other name it ends the innermost element
 * where that has held nothing but text: `<title>News</titel>`. */
#include "core/repair/repair_elements.h"

#include <string.h>
#include <strings.h>

void elements_begin(struct elements *e, uint64_t *counts, struct sink sink)
{
	e->counts = counts;
	e->sink = sink;
	stack_begin(&e->stack);
}

void elements_free(struct elements *e)
{
	stack_free(&e->stack);
}

static int to_lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* HTML 4.01's elements that stand in a body, sorted; not link and title, which feeds have, too. */
static bool is_html(const uint8_t *name, size_t len)
{
	static const char *const names[] = { "a", "abbr", "acronym", "address", "applet", "area", "b", "bdo", "big",
		"blockquote", "body", "br", "button", "caption", "center", "cite", "code", "col", "colgroup", "dd",
		"del", "dfn", "dir", "div", "dl", "dt", "em", "fieldset", "font", "form", "h1", "h2", "h3", "h4",
		"h5", "h6", "head", "hr", "html", "i", "iframe", "img", "input", "ins", "kbd", "label", "legend",
		"li", "map", "menu", "noscript", "object", "ol", "optgroup", "option", "p", "param", "pre", "q", "s",
		"samp", "script", "select", "small", "span", "strike", "strong", "style", "sub", "sup", "table",
		"tbody", "td", "textarea", "tfoot", "th", "thead", "tr", "tt", "u", "ul", "var" };
	size_t low = 0, high = sizeof(names) / sizeof(names[0]);

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = 0;

		for (size_t i = 0; i <= len && order == 0; i++)
			order = (uint8_t)names[middle][i] - (i == len ? 0 : to_lower(name[i]));
		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

int elements_open(struct elements *e, const uint8_t *name, size_t len)
{
	if (e->closed)
		return 0;
	e->doubtful |= !e->rooted && is_html(name, len);
	e->rooted = true;
	e->leaf = true;
	return stack_push(&e->stack, name, len);
}

void elements_pass(struct elements *e, const uint8_t *name, size_t len)
{
	e->doubtful |= !e->rooted && is_html(name, len);
	e->closed |= e->stack.depth == 0 && !e->stack.lost;
	e->rooted = true;
	e->leaf = false;
}

bool elements_match(const struct elements *e, const uint8_t *name, size_t len)
{
	size_t n;

	if (e->stack.depth == 0)
		return false;
	const uint8_t *top = stack_top(&e->stack, &n);
	return n == len && memcmp(top, name, len) == 0;
}

void elements_close(struct elements *e)
{
	stack_pop(&e->stack);
	e->leaf = false;
	e->closed = e->stack.depth == 0;
}

static int elements_put(const struct elements *e, const void *text, size_t len)
{
	return len > 0 ? e->sink.write(e->sink.arg, text, len) : 0;
}

static int close_top(struct elements *e)
{
	size_t len;
	const uint8_t *name = stack_top(&e->stack, &len);
	int rc = elements_put(e, "</", 2);

	rc = rc ? rc : elements_put(e, name, len);
	rc = rc ? rc : elements_put(e, ">", 1);
	elements_close(e);
	return rc;
}

/* Whether an end tag of a name that is not open is the misspelled one of the innermost element. */
static bool ends_top(const struct elements *e, const uint8_t *name, size_t len)
{
	size_t n;

	if (e->stack.depth < 2)
		return false;
	const uint8_t *top = stack_top(&e->stack, &n);
	if (n == len && strncasecmp((const char *)top, (const char *)name, len) == 0)
		return true;
	return e->leaf && !is_html(name, len);
}

bool elements_drops(struct elements *e, const uint8_t *name, size_t len)
{
	if (e->stack.lost || e->stack.depth == 0 || !(e->flags & REPAIR_TAGS))
		return false;
	return stack_find(&e->stack, name, len) == 0 && !e->stack.lost && !ends_top(e, name, len);
}

int elements_mend(struct elements *e, const uint8_t *name, size_t name_len, const uint8_t *in, size_t len)
{
	int rc = 0;

	if (e->stack.lost || e->stack.depth == 0)
		return elements_put(e, in, len);
	if (!(e->flags & REPAIR_TAGS)) {
		stack_lose(&e->stack);
		return elements_put(e, in, len);
	}
	uint32_t closes = stack_find(&e->stack, name, name_len);
	if (e->stack.lost)
		return elements_put(e, in, len);
	e->counts[REPAIRED_TAGS]++;
	if (closes == 0)
		closes = ends_top(e, name, name_len);
	e->dropped = closes == 0;
	while (rc == 0 && closes-- > 0)
		rc = close_top(e);
	return rc;
}

int elements_finish(struct elements *e)
{
	int rc = 0;

	while (rc == 0 && e->stack.depth > 0)
		rc = close_top(e);
	return rc;
}
