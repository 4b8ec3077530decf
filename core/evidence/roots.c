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

enum root root_at(const struct scan *s)
{
	char name[64];
	size_t n = 0, ahead = 1, i;
	int c = scan_peek(s, 1);

	if (scan_peek(s, 0) != '<')
		return ROOT_NONE;
	if (c == SCAN_END)
		return ROOT_SHORT;
	if (!scan_is_letter(c) && c != '_')
		return ROOT_NONE;
	for (; scan_is_name(c = scan_peek(s, ahead)); ahead++) {
		if (c == ':' && ahead > 1)
			n = 0;
		else if (n + 1 < sizeof name)
			name[n++] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
	}
	if (c == SCAN_END)
		return ROOT_SHORT;
	name[n] = '\0';
	for (i = 0; i < sizeof roots / sizeof roots[0]; i++)
		if (strcmp(name, roots[i].name) == 0)
			return roots[i].root;
	return ROOT_OTHER;
}
