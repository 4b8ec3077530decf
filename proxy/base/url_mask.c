/* Hides user information; see url_mask.h. */
#include "conf/url.h"
#include "proxy/base/url_mask.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* The character at text, which forms may have percent-encoded (%40 is '@'). *width: the bytes it takes. */
static char character(const char *text, size_t len, size_t *width)
{
	static const struct { const char *escape; char is; } escapes[] = { { "%40", '@' }, { "%3a", ':' },
		{ "%2f", '/' } };

	*width = 3;
	for (size_t i = 0; len >= 3 && i < sizeof(escapes) / sizeof(escapes[0]); i++)
		if (strncasecmp(text, escapes[i].escape, 3) == 0)
			return escapes[i].is;
	*width = 1;
	return *text;
}

static bool is_scheme(char c)
{
	return isalnum((unsigned char)c) || c == '+' || c == '-' || c == '.';
}

/* The bytes of the slashes that stand at text. */
static size_t slashes(const char *text, size_t len)
{
	size_t at = 0, width;

	for (; at < len && character(text + at, len - at, &width) == '/'; at += width)
		;
	return at;
}

/* The bytes of a "scheme:" at text that slashes follow; 0: there is none. */
static size_t url_mask_scheme_length(const char *text, size_t len)
{
	size_t at = 0, width;

	while (at < len && is_scheme(text[at]))
		at++;
	if (!at || at == len || character(text + at, len - at, &width) != ':' ||
	    !slashes(text + at + width, len - at - width))
		return 0;
	return at + width;
}

/* The offset behind the last '@' of text[start..end); start: there is none. */
static size_t behind_at(const char *text, size_t start, size_t end)
{
	size_t found = start, width;

	for (size_t at = start; at < end; at += width)
		if (character(text + at, end - at, &width) == '@')
			found = at + width;
	return found;
}

static size_t authority_end(const char *text, size_t at, size_t len)
{
	size_t width;

	for (; at < len; at += width) {
		char c = character(text + at, len - at, &width);
		if (c == '/' || c == '?' || c == '#')
			break;
	}
	return at;
}

static bool url_mask_starts(const char *text, size_t len, const char *with)
{
	return len >= strlen(with) && strncasecmp(text, with, strlen(with)) == 0;
}

/* The bytes of "/" or "/?url=", and of the "feed:" that a URL may have before it. */
static size_t before_url(const char *text, size_t len)
{
	static const char *const befores[] = { "/?url=", "/", NULL }, *const feeds[] = { "feed:", "feed%3a", NULL };
	size_t at = 0;

	for (size_t i = 0; befores[i] && !at; i++)
		at = url_mask_starts(text, len, befores[i]) ? strlen(befores[i]) : 0;
	for (size_t i = 0; feeds[i]; i++)
		if (url_mask_starts(text + at, len - at, feeds[i]) &&
		    url_mask_scheme_length(text + at + strlen(feeds[i]), len - at - strlen(feeds[i])))
			return at + strlen(feeds[i]);
	return at;
}

/* Whether a path begins with user:password@ and what can be a host with a dot in it, so that it is a URL without its
 * scheme. */
static bool has_password(const char *path, size_t len)
{
	size_t end = authority_end(path, 1, len), host = behind_at(path, 1, end);

	return host > 1 && end < len && memchr(path, ':', host) && memchr(path + host, '.', end - host);
}

/* Where the authority begins; len: text is a path without one. */
static size_t authority_at(const char *text, size_t len)
{
	bool path = len && text[0] == '/';
	size_t at = before_url(text, len), scheme = url_mask_scheme_length(text + at, len - at);

	if (scheme || (path && len > 1 && text[1] == '/'))
		return at + scheme + slashes(text + at + scheme, len - at - scheme);
	return path && at == 1 && !has_password(text, len) ? len : at;
}

/* Whether text is a host with an optional port. If a password has a '/' in it, the part that looks like the
 * authority ends there, and it is not a host. */
static bool is_host(const char *text, size_t len)
{
	char plain[URL_MAX_HOST + sizeof(":65535")];
	struct url_host host;
	size_t n = 0, width;

	for (size_t at = 0; at < len; at += width) {
		char c = character(text + at, len - at, &width);
		if (n == sizeof(plain))
			return false;
		plain[n++] = c & 0x80 ? 'x' : c;       /* a byte of an internationalised name */
	}
	return url_parse_host(plain, n, &host) == URL_OK;
}

bool url_has_userinfo_sign(const char *text, size_t len)
{
	return len && (memchr(text, '@', len) || memmem(text, len, "%40", 3));
}

static const char mask[] = "***@";

static size_t add(char *out, size_t cap, size_t at, const char *text, size_t len)
{
	if (len > cap - 1 - at)
		len = cap - 1 - at;
	if (len)
		memcpy(out + at, text, len);
	return at + len;
}

static size_t mask_userinfo(char *out, size_t cap, const char *text, size_t len)
{
	size_t start = 0, rest = 0;

	if (url_has_userinfo_sign(text, len)) {
		size_t end;
		start = authority_at(text, len);
		end = authority_end(text, start, len);
		rest = behind_at(text, start, end);
		if (rest == start && !is_host(text + start, end - start))
			rest = behind_at(text, start, len);
	}
	size_t n = add(out, cap, 0, text, start);
	if (rest != start)
		n = add(out, cap, n, mask, sizeof(mask) - 1);
	n = add(out, cap, n, text + rest, len - rest);
	out[n] = '\0';
	return n;
}

/* Finds the first segment of the path, without its slash, if it is one of client-auth: NAME:PASSWORD@. False: it is
 * none. */
static bool find_token(const char *text, size_t len, size_t *start, size_t *end)
{
	size_t at = 0, host, width, scheme = url_mask_scheme_length(text, len);
	bool colon = false;
	char c = 0;

	if (scheme) {
		host = scheme + slashes(text + scheme, len - scheme);
		at = authority_end(text, host, len);
		host = behind_at(text, host, at);
		if (!is_host(text + host, at - host))
			return false;
	}
	if (at == len || text[at] != '/')
		return false;
	*start = *end = at + 1;
	for (; *end < len && !strchr("/?#", text[*end]); *end += width) {
		c = character(text + *end, len - *end, &width);
		colon |= c == ':';
	}
	return colon && c == '@';
}

size_t url_mask(char *out, size_t cap, const char *text, size_t len)
{
	size_t start, end;

	if (!url_has_userinfo_sign(text, len) || !find_token(text, len, &start, &end))
		return mask_userinfo(out, cap, text, len);
	size_t n = mask_userinfo(out, cap, text, start);
	n = add(out, cap, n, mask, sizeof(mask) - 1);
	return n + mask_userinfo(out + n, cap - n, text + end, len - end);
}
