/* References as origins write them; see location.h. */
#include "proxy/http/location.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

bool location_has_scheme(struct slice ref)
{
	size_t n = 0;

	while (n < ref.len && (isalnum((unsigned char)ref.at[n]) || strchr("+-.", ref.at[n])))
		n++;
	return n && n < ref.len && ref.at[n] == ':' && isalpha((unsigned char)ref.at[0]);
}

static bool is_slash(char c)
{
	return c == '/' || c == '\\';
}

/* How many dots the segment is made of, escaped ones as well; 0: it is something else. */
static size_t location_dots(const char *at, size_t len)
{
	size_t dots = 0;

	for (size_t i = 0; i < len; dots++) {
		if (at[i] == '.')
			i++;
		else if (len - i >= 3 && !strncasecmp(at + i, "%2e", 3))
			i += 3;
		else
			return 0;
	}
	return dots;
}

/* Removes "." and ".." segments from path[0..*len), in place (RFC 3986 section 5.2.4). */
static void remove_dots(char *path, size_t *len)
{
	size_t out = 0;

	for (size_t at = 0; at < *len;) {
		size_t end = at + 1, dots;

		while (end < *len && path[end] != '/')
			end++;
		dots = location_dots(path + at + 1, end - at - 1);
		if (dots == 1 || dots == 2) {
			while (dots == 2 && out && path[--out] != '/')
				;
			if (end == *len)
				path[out++] = '/';
		} else {
			memmove(path + out, path + at, end - at);
			out += end - at;
		}
		at = end;
	}
	*len = out;
}

/* Appends bytes with those escaped that stand in `escaped` or are no ASCII ("percent-encode sets"). Control characters
 * stay: no URL may have them, and so the reference is refused. */
static void location_escape(struct text *t, struct slice s, const char *escaped)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.at[i];
		const char as[3] = { '%', digits[c >> 4], digits[c & 15] };
		bool escape = c >= 0x80 || (c && strchr(escaped, c));

		text_add(t, escape ? as : s.at + i, escape ? sizeof as : 1);
	}
}

static void add_path(struct text *t, struct slice path)
{
	size_t start = t->len;

	location_escape(t, path, " \"<>^`{}");
	for (size_t i = start; !t->failed && i < t->len; i++)
		if (t->bytes[i] == '\\')
			t->bytes[i] = '/';
}

/* A backslash in a query is not a slash, but a request line must not have one. */
static void add_query(struct text *t, struct slice query)
{
	text_puts(t, "?");
	location_escape(t, query, " \"<>'\\");
}

static void location_split(struct slice ref, struct slice *path, struct slice *query)
{
	const char *mark = memchr(ref.at, '?', ref.len);

	*path = (struct slice){ ref.at, mark ? (size_t)(mark - ref.at) : ref.len };
	*query = mark ? (struct slice){ mark + 1, ref.len - path->len - 1 } : (struct slice){ NULL, 0 };
}

/* Appends the path of the base up to its last slash, where the reference's does not begin with one, and that of the
 * reference behind it, with dot segments removed (RFC 3986 section 5.2.3). The query is the reference's; the base's is
 * kept only where the reference is empty. base NULL: an authority is before the path. */
static void location_merge(struct text *t, const struct destination *base, struct slice ref)
{
	struct slice path, query, base_path = { NULL, 0 }, base_query = { NULL, 0 };
	size_t start = t->len;

	location_split(ref, &path, &query);
	if (base)
		location_split((struct slice){ base->path, base->path_len }, &base_path, &base_query);
	size_t dir = path.len && is_slash(path.at[0]) ? 0 : base_path.len;
	while (path.len && dir && base_path.at[dir - 1] != '/')
		dir--;
	text_add(t, base_path.at, dir);
	add_path(t, path);
	size_t len = t->len - start;
	if (!t->failed && path.len) {
		remove_dots(t->bytes + start, &len);
		t->len = start + len;
	}
	if (query.at)
		add_query(t, query);
	else if (!path.len && base_query.at)
		add_query(t, base_query);
}

/* Takes "http:" or "https:" off the reference. False: it has neither. */
static bool location_take_scheme(struct slice *ref, bool *tls)
{
	for (int s = 0; s < 2; s++) {
		size_t n = s ? sizeof "https:" - 1 : sizeof "http:" - 1;

		if (ref->len >= n && !strncasecmp(ref->at, s ? "https:" : "http:", n)) {
			*ref = (struct slice){ ref->at + n, ref->len - n };
			*tls = s;
			return true;
		}
	}
	return false;
}

static size_t location_take_slashes(struct slice *ref)
{
	size_t n = 0;

	while (n < ref->len && is_slash(ref->at[n]))
		n++;
	*ref = (struct slice){ ref->at + n, ref->len - n };
	return n;
}

/* Writes the URL that the reference names ("scheme state" and the states behind it). An authority follows two slashes
 * or more. It also follows the scheme, whatever the slashes, if the base has the other scheme. */
static void location_write(struct text *t, const struct destination *base, struct slice ref)
{
	bool tls = base->tls, scheme = location_take_scheme(&ref, &tls);
	struct slice rest = ref;
	size_t slashes = location_take_slashes(&rest), n = 0;

	text_puts(t, tls ? "https://" : "http://");
	if (slashes < 2 && (!scheme || tls == base->tls)) {
		text_puts(t, base->authority);
		location_merge(t, base, ref);
		return;
	}
	while (n < rest.len && !is_slash(rest.at[n]) && rest.at[n] != '?')
		n++;
	text_add(t, rest.at, n);
	location_merge(t, NULL, (struct slice){ rest.at + n, rest.len - n });
}

/* The reference without the tabs in it, which user agents do not see, and without its fragment. */
static struct slice location_strip(struct text *t, struct slice ref)
{
	struct slice rest, part = slice_until(slice_trim(ref), '#', &rest);

	for (size_t i = 0; i < part.len; i++)
		if (part.at[i] != '\t')
			text_add(t, part.at + i, 1);
	return (struct slice){ t->len ? t->bytes : "", t->len };
}

enum destination_error location_follow(struct destination *d, const struct destination *base, struct slice reference,
    const char **why)
{
	struct text url = { 0 }, stripped = { 0 };
	struct slice ref = location_strip(&stripped, reference), text;
	enum destination_error e = DESTINATION_NO_MEMORY;
	struct slice after = ref;
	bool tls;

	if (!location_has_scheme(ref) || location_take_scheme(&after, &tls))
		location_write(&url, base, ref);
	text = url.len ? (struct slice){ url.bytes, url.len } : ref;
	if (!url.failed && !stripped.failed)
		e = destination_from_url(d, text, why);
	text_free(&url);
	text_free(&stripped);
	return e;
}
