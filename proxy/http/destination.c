/* Destinations of requests; see destination.h. */
#include "proxy/http/destination.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/idn.h"

void destination_free(struct destination *d)
{
	if (!d->lent)
		free(d->path);
	d->path = NULL;
	d->lent = false;
}

int destination_set_path(struct destination *d, const char *path, size_t len)
{
	bool slash = !len || path[0] != '/';

	d->lent = false;
	if (!(d->path = malloc(len + slash + 1)))
		return -1;
	if (slash)
		d->path[0] = '/';
	memcpy(d->path + slash, path, len);
	d->path_len = len + slash;
	d->path[d->path_len] = '\0';
	return 0;
}

static enum destination_error from_ascii_url(struct destination *d, struct slice text, const char **why)
{
	struct url u;
	enum url_error e = url_parse(text.at, text.len, &u);

	if (e != URL_OK) {
		*why = url_error_text(e);
		return DESTINATION_BAD_URL;
	}
	d->tls = u.scheme == URL_HTTPS;
	d->port = u.port;
	for (size_t i = 0; i < u.host.len; i++)
		d->host[i] = (char)tolower((unsigned char)text.at[u.host.at + i]);
	d->host[u.host.len] = '\0';
	snprintf(d->authority, sizeof d->authority, u.ipv6 ? "[%s]" : "%s", d->host);
	if (u.port != url_default_port(u.scheme)) {
		size_t n = strlen(d->authority);

		snprintf(d->authority + n, sizeof d->authority - n, ":%u", (unsigned)u.port);
	}
	return destination_set_path(d, text.at + u.target.at, u.target.len) ? DESTINATION_NO_MEMORY : DESTINATION_OK;
}

enum destination_error destination_from_url(struct destination *d, struct slice url, const char **why)
{
	size_t len = 0;
	char *ascii = idn_url(url.at, url.len, &len);
	enum destination_error e = from_ascii_url(d, ascii ? (struct slice){ ascii, len } : url, why);

	free(ascii);
	return e;
}

static bool has_scheme(struct slice ref)
{
	size_t n = 0;

	while (n < ref.len && (isalnum((unsigned char)ref.at[n]) || strchr("+-.", ref.at[n])))
		n++;
	return n && n < ref.len && ref.at[n] == ':' && isalpha((unsigned char)ref.at[0]);
}

/* Removes "." and ".." segments from path[0..*len), in place (RFC 3986 section 5.2.4). */
static void remove_dots(char *path, size_t *len)
{
	size_t out = 0;

	for (size_t at = 0; at < *len;) {
		size_t end = at + 1, n;

		while (end < *len && path[end] != '/')
			end++;
		n = end - at;
		if (n == 2 && path[at + 1] == '.') {
			if (end == *len)
				path[out++] = '/';
		} else if (n == 3 && path[at + 1] == '.' && path[at + 2] == '.') {
			while (out && path[--out] != '/')
				;
			if (end == *len)
				path[out++] = '/';
		} else {
			memmove(path + out, path + at, n);
			out += n;
		}
		at = end;
	}
	*len = out;
}

/* Appends the path of the base up to its last slash and the reference behind it, with dot segments removed (RFC 3986
 * section 5.2.3). The query is the reference's; the base's is kept only where the reference is empty. */
static void merge(struct text *t, const struct destination *base, struct slice ref)
{
	struct slice rest, base_path = slice_until((struct slice){ base->path, base->path_len }, '?', &rest);
	const char *query = memchr(ref.at, '?', ref.len);
	size_t path_len = query ? (size_t)(query - ref.at) : ref.len, start = t->len, dir = base_path.len;
	size_t len;

	if (path_len && ref.at[0] == '/')
		dir = 0;
	else if (path_len)
		while (dir && base_path.at[dir - 1] != '/')
			dir--;
	text_add(t, base_path.at, dir);
	text_add(t, ref.at, path_len);
	len = t->len - start;
	if (!t->failed && len && t->bytes[start] == '/') {
		remove_dots(t->bytes + start, &len);
		t->len = start + len;
	}
	if (query)
		text_add(t, query, ref.len - path_len);
	else if (!path_len && rest.at) {
		text_puts(t, "?");
		text_add(t, rest.at, rest.len);
	}
}

enum destination_error destination_follow(struct destination *d, const struct destination *base, struct slice location,
    const char **why)
{
	struct text t = { 0 };
	struct slice rest, ref = slice_until(slice_trim(location), '#', &rest);
	enum destination_error e;

	if (has_scheme(ref))
		return destination_from_url(d, ref, why);
	text_puts(&t, base->tls ? "https:" : "http:");
	if (ref.len >= 2 && ref.at[0] == '/' && ref.at[1] == '/')
		text_add(&t, ref.at, ref.len);
	else {
		text_puts(&t, "//");
		text_puts(&t, base->authority);
		merge(&t, base, ref);
	}
	e = t.failed ? DESTINATION_NO_MEMORY : destination_from_url(d, (struct slice){ t.bytes, t.len }, why);
	text_free(&t);
	return e;
}

bool destination_same_origin(const struct destination *a, const struct destination *b)
{
	return a->tls == b->tls && a->port == b->port && !strcmp(a->host, b->host);
}

void destination_url(struct text *t, const struct destination *d)
{
	text_puts(t, d->tls ? "https://" : "http://");
	text_puts(t, d->authority);
	text_add(t, d->path, d->path_len);
}
