/* Cookies of one fetch; see cookie_jar.h. */
#include "proxy/http/cookie_jar.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/cidr.h"
#include "proxy/base/http_date.h"
#include "proxy/http/public_suffix.h"

enum { COOKIE_DATE_MAX = 48 };

/* The strings point into bytes, where name, value, domain and path stand one behind the other. */
struct cookie {
	char *bytes;
	struct slice name, value, domain, path;
	bool host_only, secure;
};

struct cookie_jar {
	size_t n, total;               /* total: the bytes of all */
	struct cookie items[COOKIE_JAR_MAX];   /* in the order in which they were first set */
};

/* One Set-Cookie field as it was read (RFC 6265 section 5.2); the slices point into the message or the destination. */
struct set_cookie {
	struct slice name, value, domain, path;        /* domain of no length: the cookie is the host's alone */
	bool secure, has_max_age, over;
};

/* Names that promise how the cookie was set (RFC 6265bis section 4.1.3), in any case of letters. */
static const struct { const char *prefix; bool host; } promises[] = { { "__secure-", false }, { "__host-", true } };

static bool slices_are_same(struct slice a, struct slice b)
{
	return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

static struct slice slice_of(const char *text)
{
	return (struct slice){ text, strlen(text) };
}

/* ---- matching ---- */

static bool names_are_same(struct slice a, struct slice b)
{
	return a.len == b.len && !strncasecmp(a.at, b.at, a.len);
}

/* Section 5.1.3; hosts are in lower case, domains as they were written. */
static bool domain_matches(struct slice host, struct slice domain)
{
	const char *end = host.at + host.len;
	struct ip ip;

	if (host.len < domain.len || strncasecmp(end - domain.len, domain.at, domain.len))
		return false;
	return host.len == domain.len || (end[-(ptrdiff_t)domain.len - 1] == '.' && !ip_parse(host.at, host.len, &ip));
}

static struct slice path_of(const struct destination *d)
{
	const char *query = memchr(d->path, '?', d->path_len);

	return (struct slice){ d->path, query ? (size_t)(query - d->path) : d->path_len };
}

/* Section 5.1.4 */
static bool cookie_path_matches(struct slice asked, struct slice path)
{
	if (asked.len < path.len || memcmp(asked.at, path.at, path.len))
		return false;
	return asked.len == path.len || path.at[path.len - 1] == '/' || asked.at[path.len] == '/';
}

/* Section 5.1.4: up to the last slash, without it. */
static struct slice default_path(const struct destination *from)
{
	struct slice path = path_of(from);

	while (path.len > 1 && path.at[path.len - 1] != '/')
		path.len--;
	if (path.len > 1)
		path.len--;
	return path;
}

static bool cookie_is_for(const struct cookie *cookie, const struct destination *to)
{
	struct slice host = slice_of(to->host);

	return (!cookie->secure || to->tls) && cookie_path_matches(path_of(to), cookie->path) &&
		(cookie->host_only ? names_are_same(host, cookie->domain) : domain_matches(host, cookie->domain));
}

/* ---- reading ---- */

static void read_max_age(struct set_cookie *set, struct slice value)
{
	bool minus = value.len && value.at[0] == '-', zero = true;

	if (value.len == (size_t)minus)
		return;
	for (size_t i = minus; i < value.len; i++) {
		if (!isdigit((unsigned char)value.at[i]))
			return;
		zero = zero && value.at[i] == '0';
	}
	set->has_max_age = true;
	set->over = minus || zero;
}

/* Dates are those of HTTP, in which servers often write hyphens for blanks. */
static void read_expires(struct set_cookie *set, struct slice value, int64_t now)
{
	char date[COOKIE_DATE_MAX];
	int64_t at;

	if (set->has_max_age || value.len > sizeof date)
		return;
	for (size_t i = 0; i < value.len; i++)
		date[i] = value.at[i] == '-' ? ' ' : value.at[i];
	if (http_date_read(value, now, &at) || http_date_read((struct slice){ date, value.len }, now, &at))
		set->over = at <= now;
}

static void read_cookie_attribute(struct set_cookie *set, struct slice one, int64_t now)
{
	struct slice value, name = slice_until(one, '=', &value);

	value = slice_trim(value);
	if (slice_is(name, "secure"))
		set->secure = true;
	else if (slice_is(name, "path"))
		set->path = value;
	else if (slice_is(name, "domain"))
		set->domain = value.len && value.at[0] == '.' ? (struct slice){ value.at + 1, value.len - 1 } : value;
	else if (slice_is(name, "max-age"))
		read_max_age(set, value);
	else if (slice_is(name, "expires"))
		read_expires(set, value, now);
}

static bool is_text(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.at[i] < 0x20 || s.at[i] == 0x7f)
			return false;
	return true;
}

/* False: the field sets nothing. A cookie without a name is none; one with a control character could end the line that
 * it is sent in. */
static bool read_field(struct set_cookie *set, struct slice field, int64_t now)
{
	struct slice rest, pair = slice_until(field, ';', &rest);

	*set = (struct set_cookie){ 0 };
	set->name = slice_until(pair, '=', &set->value);
	if (!set->value.at || !set->name.len || !is_text(pair))
		return false;
	set->value = slice_trim(set->value);
	while (rest.at) {
		struct slice one = slice_until(rest, ';', &rest);

		read_cookie_attribute(set, one, now);
	}
	return true;
}

/* Whether the origin may set the cookie for its domain: its own host, or a domain that it is in, unless anybody gets a
 * name there. Makes a cookie for a public suffix that is the host itself the host's alone. */
static bool may_set_domain(struct set_cookie *set, const struct destination *from)
{
	struct slice host = slice_of(from->host);

	if (!set->domain.len)
		return true;
	if (!domain_matches(host, set->domain))
		return false;
	if (!public_suffix(set->domain))
		return true;
	if (!names_are_same(host, set->domain))
		return false;
	set->domain.len = 0;
	return true;
}

/* Whether the cookie is what its name promises. */
static bool keeps_promise(const struct set_cookie *set)
{
	for (size_t i = 0; i < sizeof promises / sizeof *promises; i++) {
		size_t len = strlen(promises[i].prefix);

		if (set->name.len >= len && !strncasecmp(set->name.at, promises[i].prefix, len) &&
		    !(set->secure && (!promises[i].host || (!set->domain.len && slice_is(set->path, "/")))))
			return false;
	}
	return true;
}

/* Whether that origin may set the cookie (section 5.3), a secure one over TLS only. */
static bool may_set(struct set_cookie *set, const struct destination *from)
{
	return (!set->secure || from->tls) && keeps_promise(set) && may_set_domain(set, from);
}

/* ---- keeping ---- */

static struct slice cookie_put(char **at, struct slice s)
{
	struct slice copy = { *at, s.len };

	memcpy(*at, s.at, s.len);
	*at += s.len;
	return copy;
}

static size_t cookie_bytes(const struct cookie *cookie)
{
	return cookie->name.len + cookie->value.len + cookie->domain.len + cookie->path.len;
}

/* False: out of memory. */
static bool cookie_copy(struct cookie *cookie)
{
	char *at = cookie->bytes = malloc(cookie_bytes(cookie));

	if (!at)
		return false;
	cookie->name = cookie_put(&at, cookie->name);
	cookie->value = cookie_put(&at, cookie->value);
	cookie->domain = cookie_put(&at, cookie->domain);
	cookie->path = cookie_put(&at, cookie->path);
	return true;
}

static struct cookie *jar_find(struct cookie_jar *jar, const struct cookie *like)
{
	for (size_t i = 0; i < jar->n; i++) {
		struct cookie *cookie = &jar->items[i];

		if (slices_are_same(cookie->name, like->name) && names_are_same(cookie->domain, like->domain) &&
		    slices_are_same(cookie->path, like->path) && cookie->host_only == like->host_only)
			return cookie;
	}
	return NULL;
}

/* Whether a cookie that came without TLS would stand beside a secure one of its name, or end it: whoever can write
 * between here and the site could put their own in its place. */
static bool jar_guards(const struct cookie_jar *jar, const struct cookie *new)
{
	for (size_t i = 0; i < jar->n; i++) {
		const struct cookie *cookie = &jar->items[i];

		if (cookie->secure && slices_are_same(cookie->name, new->name) &&
		    cookie_path_matches(new->path, cookie->path) &&
		    (domain_matches(cookie->domain, new->domain) || domain_matches(new->domain, cookie->domain)))
			return true;
	}
	return false;
}

static bool jar_drop(struct cookie_jar *jar, struct cookie *cookie)
{
	if (!cookie)
		return false;
	jar->total -= cookie_bytes(cookie);
	free(cookie->bytes);
	jar->n--;
	memmove(cookie, cookie + 1, (size_t)(jar->items + jar->n - cookie) * sizeof *cookie);
	return true;
}

/* A cookie that is set once more keeps its place. */
static bool jar_put(struct cookie_jar *jar, struct cookie *cookie)
{
	struct cookie *old = jar_find(jar, cookie);
	size_t had = old ? cookie_bytes(old) : 0, has = cookie_bytes(cookie);

	if (old && slices_are_same(old->value, cookie->value) && old->secure == cookie->secure)
		return false;
	if ((!old && jar->n == COOKIE_JAR_MAX) || jar->total - had + has > COOKIE_JAR_BYTES || !cookie_copy(cookie))
		return false;
	jar->total += has - had;
	if (!old)
		old = &jar->items[jar->n++];
	else
		free(old->bytes);
	*old = *cookie;
	return true;
}

static bool jar_set(struct cookie_jar *jar, const struct set_cookie *set, const struct destination *from)
{
	struct cookie c = { .name = set->name, .value = set->value, .secure = set->secure,
		.host_only = !set->domain.len,
		.domain = set->domain.len ? set->domain : slice_of(from->host),
		.path = set->path.len && set->path.at[0] == '/' ? set->path : default_path(from) };

	if (!from->tls && jar_guards(jar, &c))
		return false;
	return set->over ? jar_drop(jar, jar_find(jar, &c)) : jar_put(jar, &c);
}

bool cookie_jar_take(struct cookie_jar **jar, const struct destination *from, const struct http_msg *m, int64_t now)
{
	bool changed = false;
	struct set_cookie s;

	for (uint32_t i = 0; i < m->n_fields; i++) {
		if (m->fields[i].id != H_SET_COOKIE || !read_field(&s, http_field_value(m, &m->fields[i]), now) ||
		    !may_set(&s, from))
			continue;
		if (!*jar && !(*jar = calloc(1, sizeof **jar)))
			return changed;
		changed |= jar_set(*jar, &s, from);
	}
	return changed;
}

bool cookie_jar_has(const struct cookie_jar *jar, const struct destination *to)
{
	for (size_t i = 0; jar && i < jar->n; i++)
		if (cookie_is_for(&jar->items[i], to))
			return true;
	return false;
}

/* Those with longer paths come first (section 5.4). */
void cookie_jar_write(const struct cookie_jar *jar, struct text *t, const struct destination *to)
{
	const struct cookie *sent[COOKIE_JAR_MAX];
	size_t n = 0;

	for (size_t i = 0; jar && i < jar->n; i++) {
		size_t at = n;

		if (!cookie_is_for(&jar->items[i], to))
			continue;
		for (; at && sent[at - 1]->path.len < jar->items[i].path.len; at--)
			sent[at] = sent[at - 1];
		sent[at] = &jar->items[i];
		n++;
	}
	for (size_t i = 0; i < n; i++) {
		text_puts(t, i ? "; " : "Cookie: ");
		text_add(t, sent[i]->name.at, sent[i]->name.len);
		text_puts(t, "=");
		text_add(t, sent[i]->value.at, sent[i]->value.len);
	}
	text_puts(t, n ? "\r\n" : "");
}

void cookie_jar_free(struct cookie_jar **jar)
{
	for (size_t i = 0; *jar && i < (*jar)->n; i++)
		free((*jar)->items[i].bytes);
	free(*jar);
	*jar = NULL;
}
