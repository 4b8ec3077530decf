/* Owns the names of root elements by which a feed is known, and HTML's.
 * Must not know: declarations, Content-Type. Source: utfeed-rules(7), "What is a feed". */
#include "core/evidence/roots.h"

#include <string.h>

/* Local names: a namespace prefix may stand before them (rdf:RDF, atom:feed, html:html). */
static const struct {
	const char *name;
	enum root root;
} roots[] = {
	{ "rss", ROOT_FEED }, { "feed", ROOT_FEED }, { "rdf", ROOT_FEED }, { "channel", ROOT_FEED },
	{ "opml", ROOT_FEED },
	{ "urlset", ROOT_FEED }, { "sitemapindex", ROOT_FEED }, { "html", ROOT_HTML },
};

enum { NAME_MAX_BYTES = 64 };

/* The local name of the tag at the cursor, in lower case, cut to the array. Returns the character behind it. */
static int root_name(const struct scan *s, char name[NAME_MAX_BYTES])
{
	size_t n = 0;
	int c;

	for (size_t ahead = 1; scan_is_name(c = scan_peek(s, ahead)); ahead++) {
		if (c == ':' && ahead > 1)
			n = 0;
		else if (n + 1 < NAME_MAX_BYTES)
			name[n++] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
	}
	name[n] = '\0';
	return c;
}

enum root root_at(const struct scan *s)
{
	char name[NAME_MAX_BYTES];
	int c = scan_peek(s, 1);

	if (scan_peek(s, 0) != '<')
		return ROOT_NONE;
	if (c == SCAN_END)
		return ROOT_SHORT;
	if (!scan_is_letter(c) && c != '_')
		return ROOT_NONE;
	if (root_name(s, name) == SCAN_END)
		return ROOT_SHORT;
	for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
		if (strcmp(name, roots[i].name) == 0)
			return roots[i].root;
	return ROOT_OTHER;
}

bool root_is_named(const struct scan *s, const char *local)
{
	char name[NAME_MAX_BYTES];

	root_name(s, name);
	return strcmp(name, local) == 0;
}
