/* Destinations of requests; see destination.h. */
#include "proxy/http/destination.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/idn.h"
#include "conf/url_text.h"

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
	char *encoded = url_text_encode(url.at, url.len, &len), *ascii;
	struct slice text = encoded ? (struct slice){ encoded, len } : url;

	if ((ascii = idn_url(text.at, text.len, &len)))
		text = (struct slice){ ascii, len };
	enum destination_error e = from_ascii_url(d, text, why);
	free(encoded);
	free(ascii);
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
