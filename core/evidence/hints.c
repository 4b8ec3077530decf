/* Owns what is said of a feed's language; see hints.h. */
#include "core/evidence/hints.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum {
	TAG = 4 * LANGUAGE_NAT,
	DOMAIN = 3 * LANGUAGE_NAT,
	LOOK = 8192, /* a feed says these things at its start */
	VALUE = 64
};

static const struct {
	const char *domain, *languages;
} countries[] = {
#define COUNTRY(domain, languages) { domain, languages },
#include "core/evidence/hints.def"
#undef COUNTRY
};

static void hint(struct hints *h, enum language l, uint8_t weight)
{
	if (l != LANGUAGE_NONE && l != LANGUAGE_EN && h->weight[l] < TAG + DOMAIN)
		h->weight[l] = h->weight[l] == 0 || h->weight[l] == weight ? weight : TAG + DOMAIN;
}

static size_t span_until(const char *text, size_t len, const char *ends)
{
	size_t n = 0;

	while (n < len && text[n] != '\0' && !strchr(ends, text[n]))
		n++;
	return n;
}

/* A language tag (BCP 47), or several with commas between them (RFC 9110 section 8.5). More than one language other
 * than English says nothing: it is the list of a site's languages, or that of a feed in several. */
static void hints_read_language(struct hints *h, const char *value, size_t len)
{
	enum language l, only = LANGUAGE_EN;
	size_t at = 0, n;

	while (at < len) {
		n = span_until(value + at, len - at, " \t\r\n,;");
		l = n == 0 ? LANGUAGE_EN : language_of_tag(value + at, n);
		if (l != LANGUAGE_EN && only != LANGUAGE_EN && l != only)
			return;
		only = l != LANGUAGE_EN ? l : only;
		at += n + (n == 0);
		if (at < len && value[at] == ';')
			at += span_until(value + at, len - at, ",");
	}
	hint(h, only, TAG);
}

static void read_country(struct hints *h, const char *languages)
{
	size_t n;

	for (; *languages != '\0'; languages += n + (languages[n] == ' ')) {
		n = strcspn(languages, " ");
		hint(h, language_of_tag(languages, n), DOMAIN);
	}
}

/* The URL of the feed, or a host. */
static void hints_read_url(struct hints *h, const char *url, size_t len)
{
	size_t scheme = span_until(url, len, ":/?#"), host, dot, i;

	if (len - scheme >= 3 && memcmp(url + scheme, "://", 3) == 0) {
		url += scheme + 3;
		len -= scheme + 3;
	}
	host = span_until(url, len, ":/?#<\"'& \t\r\n");
	for (dot = host; dot > 0 && url[dot - 1] != '.'; dot--)
		continue;
	for (i = 0; dot > 0 && i < sizeof countries / sizeof countries[0]; i++)
		if (strlen(countries[i].domain) == host - dot &&
		    strncasecmp(countries[i].domain, url + dot, host - dot) == 0)
			read_country(h, countries[i].languages);
}

/* A hint is the text behind a mark, up to a character that ends it. rare: the offset of the mark's
 * character that feeds have least. */
static const struct mark {
	const char *text;
	size_t rare;
	const char *ends;
	void (*read)(struct hints *, const char *, size_t);
} marks[] = {
	{ "<language>", 4, "<", hints_read_language },
	{ "<dc:language>", 3, "<", hints_read_language },
	{ "xml:lang=\"", 3, "\"", hints_read_language },
	{ "xml:lang='", 3, "'", hints_read_language },
	{ "<link>", 4, "<", hints_read_url },
	{ "href=\"", 4, "\"", hints_read_url },
};

/* Where the text goes on behind the mark; NULL: it has none. */
static const char *find_mark(const struct mark *mark, const char *text, size_t len)
{
	const char *end = text + len, *at = text, *from;
	size_t n = strlen(mark->text);

	while ((at = memchr(at, mark->text[mark->rare], (size_t)(end - at)))) {
		from = (size_t)(at - text) < mark->rare ? NULL : at - mark->rare;
		if (from && (size_t)(end - from) >= n && memcmp(from, mark->text, n) == 0)
			return from + n;
		at++;
	}
	return NULL;
}

/* Each mark counts once: the first says it of the feed, later ones of its items. */
void hints_read_feed(struct hints *h, const uint8_t *bytes, size_t len)
{
	const char *text = (const char *)bytes, *found;
	size_t n;

	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
		found = find_mark(&marks[i], text, len < LOOK ? len : LOOK);
		if (!found)
			continue;
		n = (size_t)(text + len - found);
		marks[i].read(h, found, span_until(found, n < VALUE ? n : VALUE, marks[i].ends));
	}
}

/* Whether a hint of this weight has been read. */
static bool knows(const struct hints *h, uint8_t weight)
{
	for (size_t i = 0; i < LANGUAGE_COUNT; i++)
		if (h->weight[i] == weight || h->weight[i] == TAG + DOMAIN)
			return true;
	return false;
}

void hints_read_told(struct hints *h, const struct hints_told *told)
{
	if (told->content_language && !knows(h, TAG))
		hints_read_language(h, told->content_language, told->content_language_len);
	if (told->url && !knows(h, DOMAIN))
		hints_read_url(h, told->url, strlen(told->url));
}
