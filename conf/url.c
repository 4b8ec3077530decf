/* The parser of url.h. Must not know: anything but the text. Invariant: no byte past len is read. */
#include "conf/url.h"

#include <string.h>
#include <strings.h>

enum { ALPHA = 1, DIGIT = 2, HEX = 4, NAME = 8 /* in a label of a host */, PATH = 16 /* pchar but '%', and '/' */ };

/* The classes of RFC 3986 section 2 and appendix A. */
static const uint8_t classes[256] = {
	['0' ... '9'] = DIGIT | HEX | NAME | PATH,
	['A' ... 'F'] = ALPHA | HEX | NAME | PATH, ['G' ... 'Z'] = ALPHA | NAME | PATH,
	['a' ... 'f'] = ALPHA | HEX | NAME | PATH, ['g' ... 'z'] = ALPHA | NAME | PATH,
	['-'] = NAME | PATH, ['_'] = NAME | PATH,
	['.'] = PATH, ['~'] = PATH, ['!'] = PATH, ['$'] = PATH, ['&'] = PATH, ['\''] = PATH, ['('] = PATH, [')'] = PATH,
	['*'] = PATH,
	['+'] = PATH, [','] = PATH, [';'] = PATH, ['='] = PATH, [':'] = PATH, ['@'] = PATH, ['/'] = PATH,
};

static bool is(char c, unsigned class)
{
	return classes[(unsigned char)c] & class;
}

/* Whether every byte may stand in a path, or begins a complete %XX. */
static bool is_path(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (is(text[i], PATH))
			continue;
		if (text[i] != '%' || len - i < 3 || !is(text[i + 1], HEX) || !is(text[i + 2], HEX))
			return false;
		i += 2;
	}
	return true;
}

/* Whether text may stand in a request line: visible ASCII without backslash. That is more than RFC 3986's pchar,
 * because real queries of feeds contain '|', '[' and stray '%', and origins that publish them expect them back; a
 * backslash is refused, since some servers read it as '/'. */
static bool is_target(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] <= 0x20 || text[i] >= 0x7f || text[i] == '\\')
			return false;
	return true;
}

static size_t url_find(const char *text, size_t from, size_t len, const char *any)
{
	const char *first = any[1] || from >= len ? NULL : memchr(text + from, any[0], len - from);

	if (!any[1])
		return first ? (size_t)(first - text) : len > from ? len : from;
	while (from < len && !(text[from] && strchr(any, text[from])))
		from++;
	return from;
}

bool url_is_http(const char *text, size_t len)
{
	return (len > 7 && !strncasecmp(text, "http://", 7)) || (len > 8 && !strncasecmp(text, "https://", 8));
}

int url_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

uint16_t url_default_port(enum url_scheme scheme)
{
	return scheme == URL_HTTPS ? 443 : 80;   /* RFC 9110 sections 4.2.1, 4.2.2 */
}

const char *url_scheme_name(enum url_scheme scheme)
{
	return scheme == URL_HTTPS ? "https" : "http";
}

const char *url_error_text(enum url_error error)
{
	static const char *const texts[] = {
		[URL_OK] = "no error", [URL_TOO_LONG] = "it is too long",
		[URL_NO_SCHEME] = "it does not begin with http:// or https://",
		[URL_BAD_SCHEME] = "its scheme is neither http nor https", [URL_USERINFO] = "it holds user information",
		[URL_BAD_HOST] = "its host is not a name or an address",
		[URL_BAD_PORT] = "its port is not between 1 and 65535",
		[URL_BAD_CHARACTER] = "it holds a character that must be written as %XX",
		[URL_FRAGMENT] = "it holds a fragment (#)"
	};
	return texts[error];
}

/* A decimal number of 1 to 65535, leading zeroes allowed (port = *DIGIT, RFC 3986 section 3.2.3). */
static bool url_read_port(const char *text, size_t len, uint16_t *port)
{
	unsigned long value = 0;

	for (size_t i = 0; i < len; i++) {
		if (!is(text[i], DIGIT) || value > 65535)
			return false;
		value = value * 10 + (unsigned long)(text[i] - '0');
	}
	if (value == 0 || value > 65535)
		return false;
	*port = (uint16_t)value;
	return true;
}

/* Whether text is a name of letters, digits, '-', '_' and '.', without an empty label but the last (the root). IPv4
 * addresses match, too. */
static bool is_host_name(const char *text, size_t len)
{
	size_t label = 0;

	if (len == 0 || len > URL_MAX_HOST)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (is(text[i], NAME)) {
			if (++label > 63)   /* RFC 1035 section 2.3.4 */
				return false;
		} else if (text[i] == '.' && label) {
			label = 0;
		} else {
			return false;
		}
	}
	return true;
}

/* dec-octet, RFC 3986 section 3.2.2 */
static bool is_ipv4(const char *text, size_t len)
{
	unsigned parts = 0;

	for (size_t i = 0; i < len; parts++) {
		unsigned value = 0;
		size_t start = i;
		for (; i < len && is(text[i], DIGIT); i++)
			value = value * 10 + (unsigned)(text[i] - '0');
		if (i == start || i - start > 3 || value > 255 || (i - start > 1 && text[start] == '0'))
			return false;
		if (i < len && (text[i++] != '.' || i == len))
			return false;
	}
	return parts == 4;
}

/* IPv6address, RFC 3986 section 3.2.2; without a zone (RFC 6874), since an origin is never link-local. */
static bool is_ipv6(const char *text, size_t len)
{
	unsigned groups = 0;
	bool gap = false;
	size_t i = 0;

	if (len >= 2 && text[0] == ':' && text[1] == ':') {
		gap = true;
		i = 2;
	}
	while (i < len) {
		size_t start = i;
		while (i < len && is(text[i], HEX))
			i++;
		if (i < len && text[i] == '.') {
			groups += 2;
			return is_ipv4(text + start, len - start) && (gap ? groups < 8 : groups == 8);
		}
		if (i == start || i - start > 4)
			return false;
		groups++;
		if (i == len)
			break;
		if (text[i++] != ':' || i == len)
			return false;
		if (text[i] == ':') {
			if (gap)
				return false;
			gap = true;
			i++;
		}
	}
	return gap ? groups < 8 : groups == 8;
}

enum url_error url_parse_host(const char *text, size_t len, struct url_host *host)
{
	size_t end;

	memset(host, 0, sizeof(*host));
	if (len && text[0] == '[') {
		size_t close = url_find(text, 1, len, "]");
		if (close == len || !is_ipv6(text + 1, close - 1))
			return URL_BAD_HOST;
		host->ipv6 = true;
		host->host = (struct url_part){ 1, close - 1 };
		end = close + 1;
	} else {
		end = url_find(text, 0, len, ":");
		if (!is_host_name(text, end))
			return URL_BAD_HOST;
		host->host = (struct url_part){ 0, end };
	}
	if (end == len)
		return URL_OK;
	if (text[end] != ':')
		return URL_BAD_HOST;
	if (end + 1 == len)
		return URL_OK;   /* "host:" means the default port, RFC 3986 section 3.2.3 */
	if (!url_read_port(text + end + 1, len - end - 1, &host->port))
		return URL_BAD_PORT;
	host->port_given = true;
	return URL_OK;
}

static enum url_error parse_scheme(const char *text, size_t len, struct url *url, size_t *after)
{
	size_t end = url_find(text, 0, len, ":/?#[]@");

	if (end == 0 || end == len || text[end] != ':' || !is(text[0], ALPHA))
		return URL_NO_SCHEME;
	if (end == 4 && strncasecmp(text, "http", 4) == 0)
		url->scheme = URL_HTTP;
	else if (end == 5 && strncasecmp(text, "https", 5) == 0)
		url->scheme = URL_HTTPS;
	else
		return URL_BAD_SCHEME;
	if (len - end < 3 || text[end + 1] != '/' || text[end + 2] != '/')
		return URL_NO_SCHEME;
	*after = end + 3;
	return URL_OK;
}

enum url_error url_parse(const char *text, size_t len, struct url *url)
{
	struct url_host host;
	enum url_error error;
	size_t at, end;

	memset(url, 0, sizeof(*url));
	if (len > URL_MAX_BYTES)
		return URL_TOO_LONG;
	error = parse_scheme(text, len, url, &at);
	if (error)
		return error;
	end = url_find(text, at, len, "/?#");
	if (url_find(text, at, end, "@") != end)
		/* A sender must not generate it, and a recipient should treat it as an error: RFC 9110 section
		 * 4.2.4. */
		return URL_USERINFO;
	error = url_parse_host(text + at, end - at, &host);
	if (error)
		return error;
	url->ipv6 = host.ipv6;
	url->host = (struct url_part){ at + host.host.at, host.host.len };
	url->port_given = host.port_given;
	url->port = host.port_given ? host.port : url_default_port(url->scheme);
	url->authority = (struct url_part){ at, end - at };
	if (url_find(text, end, len, "#") != len)
		return URL_FRAGMENT;
	at = end;
	end = url_find(text, at, len, "?");
	url->path = (struct url_part){ at, end - at };
	url->has_query = end < len;
	url->query = url->has_query ? (struct url_part){ end + 1, len - end - 1 } : (struct url_part){ len, 0 };
	url->target = (struct url_part){ at, len - at };
	if (!is_target(text + url->target.at, url->target.len))
		return URL_BAD_CHARACTER;
	return URL_OK;
}

bool url_path_valid(const char *text, size_t len)
{
	return len && text[0] == '/' && is_path(text, len);
}

static bool is_encoded(const char *text, size_t len, const char *upper)
{
	return len >= 3 && text[0] == '%' && strncasecmp(text + 1, upper, 2) == 0;
}

/* The length of anything that an origin may read as a separator: '/', a backslash, and their encodings; 0: none. */
static size_t separator(const char *text, size_t len)
{
	if (is_encoded(text, len, "2F") || is_encoded(text, len, "5C"))
		return 3;
	return len && (text[0] == '/' || text[0] == '\\') ? 1 : 0;
}

bool url_path_has_dots(const char *text, size_t len)
{
	size_t dots = 0;
	bool only_dots = true;

	for (size_t i = 0; i < len;) {
		size_t skip = separator(text + i, len - i);
		if (skip) {
			if (only_dots && (dots == 1 || dots == 2))
				return true;
			dots = 0;
			only_dots = true;
			i += skip;
		} else if (text[i] == '.' || is_encoded(text + i, len - i, "2E")) {
			dots++;
			i += text[i] == '.' ? 1 : 3;
		} else if (text[i] == ';' && dots && only_dots) {
			return dots <= 2;   /* "..;x" is ".." to servers that strip parameters from segments */
		} else {
			only_dots = false;
			i++;
		}
	}
	return only_dots && (dots == 1 || dots == 2);
}
