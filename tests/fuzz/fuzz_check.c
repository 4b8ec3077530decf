/* Owns feeding arbitrary bodies to the report and to all that shows it. The first line is the Content-Type.
 * Invariant tested: no byte of a peer is markup, a control character, or anything but UTF-8: every tag of the document is one of the report's
 * own. */
#include "proxy/report/check.h"

#include <stdlib.h>
#include <string.h>

#include "core/text/utf8.h"
#include "proxy/report/advice.h"
#include "proxy/report/check_html.h"
#include "proxy/report/check_json.h"
#include "proxy/report/check_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* The attributes that the report writes have no '<', no '>' and no quotes but their own. */
static void check_tag(const char *tag)
{
	static const char *const names[] = { "article", "h2", "h3", "bdi", "p", "ol", "li", "ul", "label", "textarea", "div", "figure", "figcaption",
		"pre", "table", "caption", "thead", "tbody", "tr", "th", "td", "b", "span", "details", "summary" };
	size_t len;

	tag += *tag == '/';
	len = strcspn(tag, " >");
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strlen(names[i]) == len && memcmp(names[i], tag, len) == 0) {
			require(!memchr(tag, '<', strcspn(tag, ">")) && tag[strcspn(tag, ">")] == '>');
			return;
		}
	abort();
}

static void check_output(const char *text, size_t len, bool html)
{
	require(strlen(text) == len && utf8_valid_prefix((const uint8_t *)text, len) == len);
	for (size_t i = 0; i < len; i++) {
		require((unsigned char)text[i] >= 0x20 || text[i] == '\n' || (html && text[i] == '\t'));
		require(text[i] != 0x7f && ((unsigned char)text[i] != 0xc2 || (unsigned char)text[i + 1] >= 0xa0));
		if (html && text[i] == '<')
			check_tag(text + i + 1);
	}
}

static void check_shown(const struct check_report *r)
{
	static const struct check_style style = { false, true };

	for (int way = 0; way < 3; way++) {
		char *text = NULL;
		size_t len = 0;
		struct json j = { .out = open_memstream(&text, &len) };

		require(j.out != NULL);
		if (way == 0)
			check_html_report(j.out, r, 1);
		else if (way == 1)
			check_report_text(j.out, r, &style);
		else
			require(check_report_json(&j, NULL, r) == 0);
		fclose(j.out);
		check_output(text, len, way == 0);
		free(text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = memchr(data, '\n', size);
	size_t type_len = line ? (size_t)(line - data) : 0;
	char *type = calloc(1, type_len + 1);
	struct check_options o = { .normalise = { .policy = POLICY_AUTO, .repairs = REPAIR_ALL, .http = type_len > 0, .content_type = type },
		.explain = true };
	struct check *c;

	require(type != NULL);
	memcpy(type, data, type_len);
	o.normalise.content_type_len = strlen(type);
	require((c = check_new(&o)) != NULL);
	if (line)
		require(check_feed(c, line + 1, size - type_len - 1) == 0);
	require(check_finish(c) == 0);
	check_report_of(c)->file = type;
	require(check_is_fine(check_report_of(c)) || !advice_is_none(check_report_of(c)));
	check_shown(check_report_of(c));
	check_free(&c);
	free(type);
	return 0;
}
