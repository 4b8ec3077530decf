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

/* The bytes of the slashes that stand at text. */
static size_t slashes(const char *text, size_t len)
{
	struct url_sign s;
	size_t at = 0;

	for (; at < len && (s = url_sign_at(text + at, len - at)).is == '/'; at += s.width)
		;
	return at;
}

/* Whether what stands behind an '@' makes an ordinary path of it, as in /a:b@c. A URL does not: the slash before it was
 * forgotten. */
static bool goes_on(const char *text, size_t len)
{
	unsigned char first = len ? url_sign_at(text, len).is : 0;
	struct url_sign s = { .is = 0 };
	size_t at = 0;

	if (!isalnum(first) && first != '-' && first != '_' && !(first & 0x80))
		return false;
	for (; at < len && is_scheme((s = url_sign_at(text + at, len - at)).is); at += s.width)
		;
	return at == len || s.is != ':' || !slashes(text + at + s.width, len - at - s.width);
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
static size_t behind_token(const char *text, size_t at, size_t end, size_t len)
{
	size_t found = at;
	bool colon = false;
	struct url_sign s;

	for (size_t i = at; i < end; i += s.width) {
		s = url_sign_at(text + i, end - i);
		colon |= s.is == ':';
		if (colon && s.is == '@' && !goes_on(text + i + s.width, len - i - s.width))
			found = i + s.width;
	}
	return found;
}

struct url_scan {
	const char *text;
	size_t len, last;              /* last: the offset behind the last '@' */
	size_t bare;                   /* bare_authority() */
	size_t segment;                /* the end of the segment that was looked at for a token */
	size_t at;                     /* how far text was looked at */
	size_t start, end;             /* the user information that was found */
};

/* Where the authority begins that the segment up to end leads to; scan->len: it leads to none. One without a scheme
 * begins before a scheme that an '@' stands before. */
static size_t authority_at(const struct url_scan *scan, size_t end)
{
	size_t bare = scan->bare >= scan->at && scan->bare <= end ? scan->bare : scan->len;
	bool scheme = false;
	struct url_sign s;

	for (size_t i = scan->at, behind; i < end; i = behind) {
		s = url_sign_at(scan->text + i, end - i);
		behind = i + s.width;
		if (s.is == '@' && i >= bare)
			break;
		if (scheme && s.is == ':' && slashes(scan->text + behind, scan->len - behind))
			return behind + slashes(scan->text + behind, scan->len - behind);
		scheme = is_scheme(s.is);
	}
	return bare;
}

/* Whether the segment that begins at scan->at begins with a token. It is looked at once, whatever is found in it: a
 * long segment of many authorities takes no longer. */
static bool find_token(struct url_scan *scan)
{
	scan->segment = segment_end(scan->text, scan->at, scan->len);
	scan->start = scan->at;
	scan->end = scan->at = behind_token(scan->text, scan->at, scan->segment, scan->len);
	return scan->end > scan->start;
}

/* Whether the rest of the segment leads to an authority with user information. */
static bool find_userinfo(struct url_scan *scan)
{
	size_t end;

	if ((scan->start = authority_at(scan, scan->segment)) == scan->len) {
		scan->at = scan->segment + 1;
		return false;
	}
	end = authority_end(scan->text, scan->start, scan->len);
	scan->end = behind_at(scan->text, scan->start, end);
	if (scan->end == scan->start && scan->last > scan->start &&
	    !is_host(scan->text + scan->start, end - scan->start))
		scan->end = scan->last;
	scan->at = scan->end > end ? scan->end : end;
	return scan->end > scan->start;
}

/* Finds the next user information. False: there is no more. */
static bool scan_next(struct url_scan *scan)
{
	while (scan->at < scan->last)
		if ((scan->at >= scan->segment && find_token(scan)) || find_userinfo(scan))
			return true;
	return false;
}

static struct url_scan scan_begin(const char *text, size_t len)
{
	struct url_scan scan = { .text = text, .len = len };

	if (url_has_userinfo_sign(text, len)) {
		scan.last = behind_at(text, 0, len);
		scan.bare = bare_authority(text, len);
	}
	return scan;
}

bool url_has_userinfo_sign(const char *text, size_t len)
{
	return len && (memchr(text, '@', len) || (memchr(text, '%', len) && memmem(text, len, "40", 2)));
}

bool url_has_userinfo(const char *text, size_t len)
{
	struct url_scan scan = scan_begin(text, len);

	return scan_next(&scan);
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
	struct url_scan scan = scan_begin(text, len);
	size_t n = 0, shown = 0;

	for (; scan_next(&scan); shown = scan.end) {
		n = add(out, cap, n, text + shown, scan.start - shown);
		n = add(out, cap, n, mask, sizeof mask - 1);
	}
	n = add(out, cap, n, text + shown, len - shown);
	out[n] = '\0';
	return n;
}
