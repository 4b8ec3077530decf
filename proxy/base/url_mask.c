/* Hides user information; see url_mask.h. */
#include "conf/url.h"
#include "proxy/base/url_mask.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct url_sign url_sign_at(const char *text, size_t len)
{
	struct url_sign plain = { (unsigned char)*text, 0, 1 }, s = { 0, 1, 1 };
	int high, low;

	if (*text != '%')
		return plain;
	for (; len - s.width >= 2 && text[s.width] == '2' && text[s.width + 1] == '5'; s.width += 2)
		s.depth++;
	if (len - s.width < 2 || (high = url_hex_digit(text[s.width])) < 0 ||
	    (low = url_hex_digit(text[s.width + 1])) < 0)
		return plain;
	s.is = (unsigned char)(high << 4 | low);
	s.width += 2;
	return s;
}

static bool is_scheme(unsigned char c)
{
	return isalnum(c) || c == '+' || c == '-' || c == '.';
}

/* Whether a name goes on behind an '@': /a:b@c is an ordinary path. */
static bool is_name(const char *text, size_t len)
{
	unsigned char c = len ? url_sign_at(text, len).is : 0;

	return isalnum(c) || c == '-' || c == '_' || c & 0x80;
}

/* The bytes of the slashes that stand at text. */
static size_t slashes(const char *text, size_t len)
{
	struct url_sign s;
	size_t at = 0;

	for (; at < len && (s = url_sign_at(text + at, len - at)).is == '/'; at += s.width)
		;
	return at;
}

/* The offset behind the last '@' of text[start..end); start: there is none. */
static size_t behind_at(const char *text, size_t start, size_t end)
{
	size_t found = start;
	struct url_sign s;

	for (size_t at = start; at < end; at += s.width)
		if ((s = url_sign_at(text + at, end - at)).is == '@')
			found = at + s.width;
	return found;
}

static bool ends_segment(char c)
{
	return c == '/' || c == '?' || c == '#';
}

static size_t segment_end(const char *text, size_t at, size_t len)
{
	while (at < len && !ends_segment(text[at]))
		at++;
	return at;
}

/* An authority ends at an encoded slash, too: all of its URL may be encoded. */
static size_t authority_end(const char *text, size_t at, size_t len)
{
	struct url_sign s;

	for (; at < len && !ends_segment(text[at]); at += s.width)
		if ((s = url_sign_at(text + at, len - at)).is == '/')
			break;
	return at;
}

/* Whether a path begins with user:password@ and what can be a host with a dot in it, so that it is a URL without its
 * scheme. */
static bool has_password(const char *path, size_t len)
{
	size_t end = authority_end(path, 1, len), host = behind_at(path, 1, end);

	return host > 1 && end < len && memchr(path, ':', host) && memchr(path + host, '.', end - host);
}

/* Whether text is a host with an optional port. If a password has a '/' in it, the part that looks like the
 * authority ends there, and it is not a host. */
static bool is_host(const char *text, size_t len)
{
	char plain[URL_MAX_HOST + sizeof(":65535")];
	struct url_host host;
	struct url_sign s;
	size_t n = 0;

	for (size_t at = 0; at < len; at += s.width) {
		s = url_sign_at(text + at, len - at);
		if (n == sizeof(plain))
			return false;
		plain[n++] = s.is & 0x80 ? 'x' : (char)s.is;   /* a byte of an internationalised name */
	}
	return url_parse_host(plain, n, &host) == URL_OK;
}

/* Where an authority without a scheme may begin; len: text is a path without one. */
static size_t bare_authority(const char *text, size_t len)
{
	static const char query[] = "/?url=";

	if (!len || text[0] != '/')
		return 0;
	if (len >= sizeof query - 1 && !strncasecmp(text, query, sizeof query - 1))
		return sizeof query - 1;
	if (len > 1 && text[1] == '/')
		return slashes(text, len);
	return has_password(text, len) ? 1 : len;
}

/* The offset behind the NAME:PASSWORD@ that the segment text[at..end) begins with; at: it does not. */
static size_t behind_token(const char *text, size_t at, size_t end)
{
	size_t found = at;
	bool colon = false;
	struct url_sign s;

	for (size_t i = at; i < end; i += s.width) {
		s = url_sign_at(text + i, end - i);
		colon |= s.is == ':';
		if (colon && s.is == '@' && !is_name(text + i + s.width, end - i - s.width))
			found = i + s.width;
	}
	return found;
}

struct masked {
	const char *text;
	size_t len, last;              /* last: the offset behind the last '@' */
	size_t bare;                   /* bare_authority() */
	size_t at;                     /* how far text was looked at */
	size_t start, end;             /* the user information that was found */
};

/* Where the authority begins that the segment up to end leads to; m->len: it leads to none. */
static size_t authority_at(const struct masked *m, size_t end)
{
	bool scheme = false;
	struct url_sign s;

	for (size_t i = m->at, behind; i < end; i = behind) {
		s = url_sign_at(m->text + i, end - i);
		behind = i + s.width;
		if (scheme && s.is == ':' && slashes(m->text + behind, m->len - behind))
			return behind + slashes(m->text + behind, m->len - behind);
		scheme = is_scheme(s.is);
	}
	return m->bare >= m->at && m->bare <= end ? m->bare : m->len;
}

/* Finds user information in the authority at m->start. Returns where it is to be looked on. */
static size_t look_at_authority(struct masked *m)
{
	size_t end = authority_end(m->text, m->start, m->len);

	m->end = behind_at(m->text, m->start, end);
	if (m->end == m->start && m->last > m->start && !is_host(m->text + m->start, end - m->start))
		m->end = m->last;
	return m->end > end ? m->end : end;
}

/* Finds the next user information. False: there is no more. */
static bool masked_next(struct masked *m)
{
	while (m->at < m->last) {
		size_t end = segment_end(m->text, m->at, m->len);

		m->start = m->at;
		m->end = behind_token(m->text, m->at, end);
		if (m->end > m->start)
			m->at = m->end;
		else if ((m->start = m->end = authority_at(m, end)) < m->len)
			m->at = look_at_authority(m);
		else
			m->at = end + 1;
		if (m->end > m->start)
			return true;
	}
	return false;
}

static struct masked masked_begin(const char *text, size_t len)
{
	struct masked m = { .text = text, .len = len };

	if (url_has_userinfo_sign(text, len)) {
		m.last = behind_at(text, 0, len);
		m.bare = bare_authority(text, len);
	}
	return m;
}

bool url_has_userinfo_sign(const char *text, size_t len)
{
	return len && (memchr(text, '@', len) || (memchr(text, '%', len) && memmem(text, len, "40", 2)));
}

bool url_has_userinfo(const char *text, size_t len)
{
	struct masked m = masked_begin(text, len);

	return masked_next(&m);
}

static size_t add(char *out, size_t cap, size_t at, const char *text, size_t len)
{
	if (len > cap - 1 - at)
		len = cap - 1 - at;
	if (len)
		memcpy(out + at, text, len);
	return at + len;
}

size_t url_mask(char *out, size_t cap, const char *text, size_t len)
{
	static const char mask[] = "***@";
	struct masked m = masked_begin(text, len);
	size_t n = 0, shown = 0;

	for (; masked_next(&m); shown = m.end) {
		n = add(out, cap, n, text + shown, m.start - shown);
		n = add(out, cap, n, mask, sizeof mask - 1);
	}
	n = add(out, cap, n, text + shown, len - shown);
	out[n] = '\0';
	return n;
}
