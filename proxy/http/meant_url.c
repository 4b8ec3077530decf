/* Guessing which URL is meant; see meant_url.h. */
#include "proxy/http/meant_url.h"

#include <ctype.h>
#include <strings.h>

#include "conf/conf_near.h"
#include "proxy/http/loose_url.h"

static bool is_letter_or_digit(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static struct slice behind(struct slice s, size_t n)
{
	return (struct slice){ s.at + n, s.len - n };
}

/* ---- hosts ---- */

/* The length of an address in brackets; 0: there is none. */
static size_t bracket_length(struct slice s)
{
	const char *end = s.len && *s.at == '[' ? memchr(s.at, ']', s.len) : NULL;

	return end ? (size_t)(end - s.at) + 1 : 0;
}

/* The length of a name with dots, whose last label has two characters or more, of an IPv4 address or of localhost; 0:
 * there is none. */
static size_t host_length(struct slice s)
{
	size_t n = 0, dots = 0, label = 0;
	bool digits = true;

	for (; n < s.len && (is_letter_or_digit(s.at[n]) || s.at[n] == '-' || s.at[n] == '.'); n++) {
		if (s.at[n] == '.' && !label)
			return 0;
		dots += s.at[n] == '.';
		label = s.at[n] == '.' ? 0 : label + 1;
		digits = digits && (s.at[n] == '.' || isdigit((unsigned char)s.at[n]));
	}
	if (n == strlen("localhost") && !strncasecmp(s.at, "localhost", n))
		return n;
	return digits ? (dots == 3 ? n : 0) : dots && label > 1 ? n : 0;
}

/* The length of a colon and a port; 0: there is none. */
static size_t port_length(struct slice s)
{
	size_t n = 1;

	if (!s.len || *s.at != ':')
		return 0;
	while (n < s.len && isdigit((unsigned char)s.at[n]))
		n++;
	return n > 1 ? n : 0;
}

/* Whether a host stands there, alone or with a path behind it. bare: without a path and a port, too. */
static bool meant_is_host(struct slice s, bool bare)
{
	size_t n = s.len && *s.at == '[' ? bracket_length(s) : host_length(s), port;

	if (!n)
		return false;
	port = port_length(behind(s, n));
	s = behind(s, n + port);
	if (!s.len)
		return bare || port;
	return *s.at == '/' || (bare && (*s.at == '?' || *s.at == '#'));
}

/* Whether the last label of a name is more likely the end of a file's name than a domain. */
static bool names_file(struct slice s)
{
	static const char *const ends[] = { "xml", "rss", "atom", "rdf", "feed", "json", "html", "htm", "xhtml", "txt",
		"opml", "log", "gz", "bak", "old", "orig", "tmp" };
	const char *dot = memrchr(s.at, '.', s.len);
	struct slice label = dot ? behind(s, (size_t)(dot + 1 - s.at)) : s;

	for (size_t i = 0; i < label.len; i++)
		if (isdigit((unsigned char)label.at[i]))
			return true;
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (slice_is(label, ends[i]))
			return true;
	return false;
}

/* ---- schemes ---- */

/* A word of the syntax of schemes (RFC 3986 section 3.1), and how many slashes are behind it. */
struct scheme {
	struct slice word;
	bool colon;
	size_t slashes;
	struct slice rest;      /* behind the slashes */
};

static struct scheme scheme_of(struct slice s)
{
	struct scheme found = { .rest = s };
	size_t n = 0;

	if (s.len && isalpha((unsigned char)*s.at))
		while (n < s.len && (isalnum((unsigned char)s.at[n]) || memchr("+-.", s.at[n], 3)))
			n++;
	found.word = (struct slice){ s.at, n };
	found.colon = n && n < s.len && s.at[n] == ':';
	s = behind(s, n + found.colon);
	while (found.slashes < s.len && (s.at[found.slashes] == '/' || s.at[found.slashes] == '\\'))
		found.slashes++;
	found.rest = behind(s, found.slashes);
	return found;
}

static bool is_mistyped(struct slice scheme)
{
	struct conf_near near = { .text = scheme.at, .len = scheme.len };

	conf_near_try(&near, "http");
	conf_near_try(&near, "https");
	return near.name;
}

/* Schemes that stand for http in feed readers. */
static bool is_of_feeds(struct slice scheme)
{
	static const char *const schemes[] = { "feed", "rss", "itpc", "pcast", "podcast" };

	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
		if (slice_is(scheme, schemes[i]))
			return true;
	return false;
}

static enum meant_url put_url(struct text *url, const char *scheme, struct slice rest)
{
	if (!rest.len)
		return MEANT_NO_URL;
	text_puts(url, scheme);
	text_add(url, rest.at, rest.len);
	return MEANT_URL;
}

static enum meant_url meant_by_scheme(struct text *url, struct scheme s)
{
	while (is_of_feeds(s.word) && s.colon) {
		struct scheme inner = scheme_of(s.rest);

		/* feed://host, or feed:https://host */
		if (!inner.colon || !inner.slashes)
			return put_url(url, "https://", s.rest);
		s = inner;
	}
	if (is_mistyped(s.word) && (s.slashes > 1 || (s.colon && (s.slashes || meant_is_host(s.rest, true)))))
		return put_url(url, slice_is(s.word, "http") ? "http://" : "https://", s.rest);
	return s.colon && s.word.len > 1 && s.rest.len ? MEANT_OTHER_SCHEME : MEANT_NO_URL;
}

/* Takes what the gateway would take as a URL. False: it is none, or has nothing behind its scheme. */
static bool meant_loosely(struct text *url, struct slice s)
{
	bool is = loose_url(url, s, true);
	size_t scheme = is && url->len > 4 && url->bytes[4] == 's' ? strlen("https://") : strlen("http://");

	if (is && url->len > scheme)
		return true;
	text_empty(url);
	return false;
}

enum meant_url meant_url(struct text *url, struct slice word)
{
	struct slice s = slice_trim(word);
	struct scheme scheme = scheme_of(s);

	if (meant_is_host(s, !names_file(s)))
		return put_url(url, "https://", s);
	if (!scheme.word.len)
		return scheme.slashes == 2 && meant_is_host(scheme.rest, true) ? put_url(url, "https://", scheme.rest) :
		                                                           MEANT_NO_URL;
	return !scheme.colon && meant_loosely(url, s) ? MEANT_URL : meant_by_scheme(url, scheme);
}
