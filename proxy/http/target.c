/* Request targets; see target.h. Forms: RFC 9112 section 3.2. */
#include "proxy/http/target.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/idn.h"
#include "proxy/http/key_directory.h"
#include "proxy/http/loose_url.h"
#include "proxy/http/pac.h"
#include "proxy/http/served_host.h"

static const char *const url_prefixes[] = { "/http:/", "/https:/" };

static bool starts(struct slice s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.len >= n && !strncasecmp(s.at, prefix, n);
}

void target_free(struct target *target)
{
	destination_free(&target->to);
}

enum target_error target_read_url(struct target *target, struct slice url, const char **why)
{
	switch (destination_from_url(&target->to, url, why)) {
	case DESTINATION_OK:
		return TARGET_OK;
	case DESTINATION_NO_MEMORY:
		return TARGET_NO_MEMORY;
	default:
		return TARGET_BAD_URL;
	}
}

static enum target_error target_set_url(struct target *target, const struct conf *conf, struct slice url,
    const char **why)
{
	target->route = target->mode == TARGET_GATEWAY ? &conf->by_url : &conf->direct;
	return target_read_url(target, url, why);
}

/* Reads the URL in a path, with one slash too few as well ("/http:/host/path"): some clients and servers reduce double
 * slashes. */
static enum target_error target_from_path(struct target *out, const struct conf *conf, struct slice target,
    const char **why)
{
	struct slice rest = { target.at + 1, target.len - 1 };
	const char *colon = memchr(rest.at, ':', rest.len);
	size_t scheme = (size_t)(colon - rest.at) + 2;
	char *url;

	if (scheme < rest.len && rest.at[scheme] == '/')
		return target_set_url(out, conf, rest, why);
	if (!(url = malloc(rest.len + 1)))
		return TARGET_NO_MEMORY;
	memcpy(url, rest.at, scheme);
	url[scheme] = '/';
	memcpy(url + scheme + 1, rest.at + scheme, rest.len - scheme);
	enum target_error e = target_set_url(out, conf, (struct slice){ url, rest.len + 1 }, why);
	free(url);
	return e;
}

/* Takes over the text. */
static enum target_error target_set_text(struct target *target, const struct conf *conf, struct text *url,
    const char **why)
{
	enum target_error e =
	    url->failed ? TARGET_NO_MEMORY : target_set_url(target, conf, (struct slice){ url->bytes, url->len }, why);

	text_free(url);
	return e;
}

/* Reads the URL in ?url=, which ends at the next '&' and is percent-encoded, as forms send it. Where it has "://" in
 * plain it goes to the end of the target. */
static enum target_error target_from_query(struct target *target, const struct conf *conf, struct slice value,
    const char **why)
{
	struct slice rest, first = slice_until(value, '&', &rest);
	struct text plain = { 0 }, meant = { 0 };

	text_reserve(&plain, value.len + 1);           /* so that there are bytes, if only none of them */
	if (memmem(first.at, first.len, "://", 3))
		text_add(&plain, value.at, value.len);
	else
		loose_url_decode(&plain, first);
	struct slice given = (struct slice){ plain.bytes, plain.len };
	if (plain.failed || starts(given, "http://") || starts(given, "https://") || !given.len ||
	    !loose_url(&meant, given, false))
		return target_set_text(target, conf, &plain, why);
	enum target_error e = target_set_text(target, conf, &meant, why);
	text_free(&plain);
	return e;
}

/* Reads a path that no route takes as a URL, if it can be meant as one. */
static enum target_error target_from_loose(struct target *out, const struct conf *conf, struct slice target,
    const char **why)
{
	struct text url = { 0 };

	if (!loose_url(&url, (struct slice){ target.at + 1, target.len - 1 }, true))
		return TARGET_NO_ROUTE;
	out->mode = TARGET_GATEWAY;
	return target_set_text(out, conf, &url, why);
}

/* The configuration has checked that the name fits. */
static void copy_name(char *to, size_t cap, const char *name)
{
	size_t n = strlen(name) + 1;

	assert(n <= cap);
	memcpy(to, name, n);
}

static enum target_error target_from_route(struct target *out, const struct conf_route *route, struct slice target,
    char *room, size_t room_cap)
{
	struct destination *to = &out->to;
	size_t cap = strlen(route->origin.path) + target.len + 2;

	out->route = route;
	to->tls = route->origin.scheme == URL_HTTPS;
	to->port = route->origin.port;
	copy_name(to->host, sizeof to->host, route->origin.host);
	copy_name(to->authority, sizeof to->authority, route->origin.authority);
	to->lent = cap <= room_cap;
	if (!(to->path = to->lent ? room : malloc(cap)))
		return TARGET_NO_MEMORY;
	to->path_len = conf_route_target(route, target.at, target.len, to->path, cap - 1);
	if (!to->path_len) {
		target_free(out);
		return TARGET_BAD_PATH;
	}
	to->path[to->path_len] = '\0';
	return TARGET_OK;
}

/* Only visible ASCII is accepted, so that the target stays one word in the origin's request line, whatever was checked
 * before. */
static bool target_visible(struct slice target)
{
	for (size_t i = 0; i < target.len; i++)
		if (target.at[i] <= 0x20 || target.at[i] >= 0x7f)
			return false;
	return true;
}

/* Whether it is a host in UTF-8, or %-encoded, that A-labels can be made of. */
static bool target_is_idn(struct slice host)
{
	struct url_host parsed;
	size_t len;
	char *ascii = idn_host(host.at, host.len, &len);
	bool is = ascii && url_parse_host(ascii, len, &parsed) == URL_OK;

	free(ascii);
	return is;
}

static bool target_is_url(struct slice target)
{
	return starts(target, "http://") || starts(target, "https://");
}

/* There must be one Host field in HTTP/1.1, at most one in HTTP/1.0, and it must be valid (RFC 9112 section 3.2).
 * Beside a URL, which counts in its place (section 3.2.2), it may be written as the URL's host may be. */
static bool target_host_valid(const struct http_msg *m, struct slice *host, struct url_host *parsed)
{
	size_t n = http_msg_count(m, H_HOST);

	*parsed = (struct url_host){ .port_given = false };
	*host = http_msg_get(m, H_HOST);
	if (n > 1 || (!n && m->minor >= 1))
		return false;
	return !host->len || url_parse_host(host->at, host->len, parsed) == URL_OK ||
	    (target_is_url(http_msg_target(m)) && target_is_idn(*host));
}

enum target_error target_find(struct target *out, const struct conf *conf, const struct http_msg *m, uint16_t port,
    char *room, size_t cap,
    const char **why)
{
	struct slice target = http_msg_target(m), host, query;
	const struct conf_route *route;
	struct url_host asked;

	memset(out, 0, offsetof(struct target, to.host));
	out->route = &conf->direct;
	*why = "";
	if (!target_host_valid(m, &host, &asked))
		return TARGET_BAD_HOST;
	if (!asked.port_given)
		asked.port = port;
	if (target.at[0] != '/') {
		if (!target_is_url(target))
			return TARGET_BAD_TARGET;
		out->mode = TARGET_FORWARD;
		out->cookies = out->authorization = conf->forward_credentials;
		return conf->forward ? target_set_url(out, conf, target, why) : TARGET_FORWARD_OFF;
	}
	if (key_directory_is(conf, m))
		return TARGET_KEYS;
	if (!served_host(conf, host.at ? host.at : "", &asked, port == url_default_port(URL_HTTPS)))
		return TARGET_NOT_SERVED;
	if (pac_is(conf, target))
		return host.len ? TARGET_PAC : TARGET_BAD_HOST;
	for (size_t i = 0; i < sizeof url_prefixes / sizeof *url_prefixes; i++)
		if (conf->gateway && starts(target, url_prefixes[i])) {
			out->mode = TARGET_GATEWAY;
			return target_from_path(out, conf, target, why);
		}
	struct slice path = slice_until(target, '?', &query);
	if (!url_path_valid(path.at, path.len) || !target_visible(target))
		return TARGET_BAD_TARGET;
	if ((route = conf_route_match_host(conf, host.at ? host.at : "", &asked, target.at, target.len))) {
		out->mode = TARGET_ROUTE;
		out->cookies = route->cookies;
		out->authorization = route->authorization;
		return target_from_route(out, route, target, room, cap);
	}
	if (conf->gateway && starts(target, "/?url=")) {
		out->mode = TARGET_GATEWAY;
		target.at += 6;
		target.len -= 6;
		return target_from_query(out, conf, target, why);
	}
	return conf->gateway ? target_from_loose(out, conf, target, why) : TARGET_NO_ROUTE;
}

/* The port must be given, and be valid (RFC 9110 section 9.3.6). */
enum target_error target_authority(struct destination *d, const struct http_msg *m)
{
	struct slice target = http_msg_target(m), host;
	struct url_host u;
	char *ascii;

	if (!target_host_valid(m, &host, &u))
		return TARGET_BAD_HOST;
	if ((ascii = idn_host(target.at, target.len, &target.len)))
		target.at = ascii;
	*d = (struct destination){ .port = 0 };
	if (url_parse_host(target.at, target.len, &u) == URL_OK && u.port_given) {
		d->port = u.port;
		snprintf(d->host, sizeof d->host, "%.*s", (int)u.host.len, target.at + u.host.at);
	}
	free(ascii);
	return d->port ? TARGET_OK : TARGET_BAD_AUTHORITY;
}
