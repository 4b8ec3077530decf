/* Who may ask the admin listener for what; see admin_internal.h. A browser on the same machine is the liar to think of:
 * a web page can make it send requests here. It does so through a name that the page's DNS points here (DNS rebinding),
 * or with a form of another site (cross-site request forgery). */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/admin/admin_internal.h"
#include "proxy/base/base64.h"
#include "proxy/http/served_host.h"
#include "proxy/object/response_head.h"
#include "proxy/settings/settings.h"
#include "proxy/settings/tls_set.h"

enum { ACCESS_TOKEN_MAX = 1024 };

/* The first field of that name, which headers.def does not have; at NULL: none has it. */
static struct slice access_field(const struct http_msg *m, const char *name)
{
	for (size_t i = 0; i < m->n_fields; i++)
		if (slice_is(http_field_name(m, &m->fields[i]), name))
			return http_field_value(m, &m->fields[i]);
	return (struct slice){ NULL, 0 };
}

static bool access_host_is_ours(const struct conf *conf, const struct http_msg *m, bool secure)
{
	struct slice host = http_msg_get(m, H_HOST);
	struct url_host asked;

	return !host.len ||
	    (url_parse_host(host.at, host.len, &asked) == URL_OK && served_admin_host(conf, host.at, &asked, secure));
}

/* RFC 9112 section 3.2: a request of HTTP/1.1 has one Host. An empty one comes from no browser. */
static bool access_host_is_wrong(const struct http_msg *m)
{
	struct slice host = http_msg_get(m, H_HOST);
	size_t n = http_msg_count(m, H_HOST);
	struct url_host asked;

	return n > 1 || (!n && m->minor >= 1) || (host.len && url_parse_host(host.at, host.len, &asked) != URL_OK);
}

/* Whether a URL, or an origin, is of the host that is asked. */
static bool access_is_ours(struct slice url, const struct http_msg *m)
{
	struct slice host = http_msg_get(m, H_HOST), rest, scheme = slice_until(url, ':', &rest);

	if (!host.len || !(slice_is(scheme, "http") || slice_is(scheme, "https")) || !rest.at)
		return false;
	if (rest.len < host.len + 2 || memcmp(rest.at, "//", 2) ||
	    strncasecmp(rest.at + 2, host.at, host.len))
		return false;
	return rest.len == host.len + 2 || rest.at[host.len + 2] == '/';
}

bool admin_page_of_ours_asks(const struct http_msg *m)
{
	struct slice site = access_field(m, "sec-fetch-site");

	if (site.at)
		return slice_is(site, "same-origin") || slice_is(site, "none");
	return access_is_ours(http_msg_get(m, H_REFERER), m);
}

/* Whether a browser says that the request comes from a page of another site. Browsers send no Fetch Metadata to a plain
 * http URL with an address, nor do old ones: their Referer tells then. Sources: Fetch, "Origin" and Fetch Metadata; RFC
 * 6454 section 7. */
static bool access_is_foreign(const struct http_msg *m)
{
	struct slice origin = access_field(m, "origin");
	bool says_whence = access_field(m, "sec-fetch-site").at || http_msg_get(m, H_REFERER).at;

	return (origin.at && !access_is_ours(origin, m)) || (says_whence && !admin_page_of_ours_asks(m));
}

/* Compares in a time that tells nothing of where the texts differ. */
static bool access_same(const char *given, size_t len, const char *token)
{
	size_t n = strlen(token);
	unsigned char differs = len != n;

	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(given[i] ^ token[n ? i % n : 0]);
	return !differs;
}

/* Basic, for browsers: the password is the token, whatever the user is called (RFC 7617 section 2). */
static bool access_basic(struct slice credentials, const char *token)
{
	char plain[ACCESS_TOKEN_MAX];
	size_t n = base64_read(credentials, plain, sizeof plain);
	const char *colon = memchr(plain, ':', n);

	return colon && access_same(colon + 1, n - (size_t)(colon + 1 - plain), token);
}

static bool access_token_is_right(const struct http_msg *m, const char *token)
{
	struct slice rest, scheme = slice_until(http_msg_get(m, H_AUTHORIZATION), ' ', &rest);

	if (http_msg_count(m, H_AUTHORIZATION) != 1 || !rest.at)
		return false;
	rest = slice_trim(rest);
	if (slice_is(scheme, "bearer"))
		return access_same(rest.at, rest.len, token);
	return slice_is(scheme, "basic") && access_basic(rest, token);
}

static const struct admin_refusal
	refused_request = { 400, "A request has one Host, which names a host (RFC 9112 section 3.2)." },
	refused_token = { 401, "This needs the token that admin-token says, as Authorization: Bearer TOKEN." },
	refused_distance = { 403, "Without admin-token other machines get /healthz, /readyz and /metrics alone." },
	refused_foreign = { 403, "This request was made by a page of another site." },
	refused_page = { 404, "There is no such page. See / for what there is." },
	refused_method = { 405, "This page does not take that method. /api lists the method of each page." },
	refused_host = { 421, NULL };

const char *admin_refusal_sentence(const struct admin_refusal *refusal, const struct conf *conf,
    const struct http_msg *m, char room[ADMIN_SENTENCE_MAX])
{
	struct text t = text_on(room, ADMIN_SENTENCE_MAX - 1);

	if (refusal->sentence)
		return refusal->sentence;
	served_host_refusal(&t, conf, http_msg_get(m, H_HOST));
	room[t.len] = '\0';
	return room;
}

/* Why a request for a page other than a probe is refused. */
static const struct admin_refusal *judge_operator(const struct conf *conf, const struct http_msg *m,
    struct admin_asker *who, const struct admin_page *page)
{
	if (!access_host_is_ours(conf, m, who->secure))
		return &refused_host;
	who->showed_token = *conf->admin_token && access_token_is_right(m, conf->admin_token);
	if (*conf->admin_token && !who->showed_token)
		return &refused_token;
	if (!who->showed_token && !who->near && page->reach == OPERATORS)
		return &refused_distance;
	return page->methods != TELLS && access_is_foreign(m) ? &refused_foreign : NULL;
}

const struct admin_refusal *admin_judge(const struct conf *conf, const struct http_msg *m, struct admin_asker *who,
    const struct admin_page **page)
{
	struct slice query;
	bool known;

	who->showed_token = false;
	if (access_host_is_wrong(m))
		return &refused_request;
	if (!(*page = admin_find(m, slice_until(http_msg_target(m), '?', &query), &known)))
		return known ? &refused_method : &refused_page;
	return (*page)->reach == PROBES ? NULL : judge_operator(conf, m, who, *page);
}

bool admin_is_allowed(const struct admin *admin, const struct sockaddr *peer)
{
	struct ip ip;

	return !ip_from_sockaddr(peer, &ip) || cidr_list_contains(&admin->settings->conf->admin_allow, &ip);
}

/* Unread bytes would make close() send a reset, which would take the answer along. */
void admin_turn_away(const struct admin *admin, int fd)
{
	static const char sentence[] = ADMIN_TURNED_AWAY "\n";
	char answer[512];
	int n = snprintf(answer, sizeof answer,
	    "HTTP/1.1 403 %s\r\nDate: %s\r\nServer: utfeed\r\nContent-Type: text/plain; charset=utf-8\r\n"
	    "Content-Length: %zu\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
	    "Connection: close\r\n\r\n%s",
	    http_reason_phrase(403), loop_http_date(admin->loop), sizeof sentence - 1, sentence);

	(void)recv(fd, loop_scratch(admin->loop), LOOP_SCRATCH_BYTES, MSG_DONTWAIT);
	if (!tls_set_door(admin->settings->tls, TLS_DOOR_ADMIN))
		(void)send(fd, answer, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}
