/* Targets inside an opened CONNECT; see target_inside.h. Forms: RFC 9112 section 3.2. */
#include "proxy/http/target_inside.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/idn.h"
#include "conf/url.h"
#include "proxy/base/text.h"

enum { HTTPS_PORT = 443 };

void inside_set(struct inside *in, const struct destination *connect)
{
	size_t len = strlen(connect->host);
	bool ipv6 = strchr(connect->host, ':');

	if (len && connect->host[len - 1] == '.')
		len--;
	for (size_t i = 0; i < len; i++)
		in->host[i] = (char)tolower((unsigned char)connect->host[i]);
	in->host[len] = '\0';
	in->port = connect->port;
	snprintf(in->authority, sizeof in->authority, ipv6 ? "[%s]" : "%s", in->host);
	len = strlen(in->authority);
	if (in->port != HTTPS_PORT)
		snprintf(in->authority + len, sizeof in->authority - len, ":%u", (unsigned)in->port);
}

static bool is_same_host(const struct inside *in, const char *host, size_t len, uint16_t port)
{
	if (len && host[len - 1] == '.')
		len--;
	return port == in->port && len == strlen(in->host) && !strncasecmp(host, in->host, len);
}

static enum target_error judge_host_named(const struct inside *in, struct slice host)
{
	struct url_host u;

	if (url_parse_host(host.at, host.len, &u) != URL_OK)
		return TARGET_BAD_HOST;
	return is_same_host(in, host.at + u.host.at, u.host.len, u.port_given ? u.port : HTTPS_PORT) ?
	    TARGET_OK : TARGET_MISDIRECTED;
}

/* One Host at most, and one that HTTP/1.1 must have; it names the CONNECT's host. Beside a URL it may be written in
 * UTF-8. */
static enum target_error judge_host(const struct inside *in, const struct http_msg *m)
{
	struct slice host = http_msg_get(m, H_HOST), target = http_msg_target(m);
	size_t n = http_msg_count(m, H_HOST), len;
	char *ascii;

	if (n > 1 || (!n && m->minor >= 1))
		return TARGET_BAD_HOST;
	if (!host.len)
		return n ? TARGET_BAD_HOST : TARGET_OK;
	if (!url_is_http(target.at, target.len) || !(ascii = idn_host(host.at, host.len, &len)))
		return judge_host_named(in, host);
	enum target_error e = judge_host_named(in, (struct slice){ ascii, len });
	free(ascii);
	return e;
}

/* Whether the target could stand in a URL as it is. Other targets (with a fragment, with text beyond ASCII) are read
 * like URLs: that encodes them or says what is wrong. */
static bool is_plain_target(struct slice target)
{
	struct slice query, path = slice_until(target, '?', &query);

	for (size_t i = path.len; i < target.len; i++)
		if (target.at[i] <= 0x20 || target.at[i] >= 0x7f || target.at[i] == '#' || target.at[i] == '\\')
			return false;
	return url_path_valid(path.at, path.len);
}

/* Reads the URL that the path and the CONNECT's authority are together. */
static enum target_error read_any_path(struct target *out, const struct inside *in, struct slice target,
    const char **why)
{
	struct text url = { 0 };
	enum target_error e;

	text_puts(&url, "https://");
	text_puts(&url, in->authority);
	text_add(&url, target.at, target.len);
	e = url.failed ? TARGET_NO_MEMORY : target_read_url(out, (struct slice){ url.bytes, url.len }, why);
	text_free(&url);
	return e;
}

/* room, cap: as in target_find(). */
static enum target_error read_inside_path(struct target *out, const struct inside *in, struct slice target, char *room,
    size_t cap, const char **why)
{
	struct destination *to = &out->to;

	if (!is_plain_target(target) || target.len >= cap)
		return read_any_path(out, in, target, why);
	to->tls = true;
	to->port = in->port;
	memcpy(to->host, in->host, strlen(in->host) + 1);
	memcpy(to->authority, in->authority, strlen(in->authority) + 1);
	to->lent = true;
	to->path = memcpy(room, target.at, target.len);
	to->path_len = target.len;
	to->path[to->path_len] = '\0';
	return TARGET_OK;
}

enum target_error target_inside(struct target *out, const struct conf *conf, const struct inside *in,
    const struct http_msg *m, char *room, size_t cap, const char **why)
{
	struct slice target = http_msg_target(m);
	enum target_error e = judge_host(in, m);

	memset(out, 0, offsetof(struct target, to.host));
	out->route = &conf->direct;
	out->mode = TARGET_FORWARD;
	out->cookies = out->authorization = conf->forward_credentials;
	*why = "";
	if (e != TARGET_OK)
		return e;
	if (target.at[0] == '/')
		return read_inside_path(out, in, target, room, cap, why);
	if (!url_is_http(target.at, target.len))
		return TARGET_BAD_TARGET;
	if ((e = target_read_url(out, target, why)) != TARGET_OK)
		return e;
	if (out->to.tls && is_same_host(in, out->to.host, strlen(out->to.host), out->to.port))
		return TARGET_OK;
	target_free(out);
	return TARGET_MISDIRECTED;
}
