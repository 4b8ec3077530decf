/* Owns which web pages may read responses (cors-allow): it reads origins as browsers write them in Origin, and refuses
 * a value that would open private addresses to every page.
 * Must not know: requests. Source: RFC 6454 section 6.2, Fetch Standard section 3.3. */
#include "conf/conf_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { CORS_ORIGIN_MAX = 255 };

#define CORS_ALLOWED \
	"; write https://host or https://host:port, up to " CONF_LIMIT(CONF_ORIGINS_MAX) " with commas between, or *"

/* The blocks of private networks: RFC 1918, RFC 6598, RFC 3927, RFC 4193, RFC 4291 section 2.5.6. */
static const char *const private_blocks[] = { "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10",
	"169.254.0.0/16", "fc00::/7", "fe80::/10" };

static size_t cors_scheme_length(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || (n && text[n] && strchr("+-.", text[n])))
		n++;
	return isalpha((unsigned char)text[0]) && !strncmp(text + n, "://", 3) ? n : 0;
}

static bool cors_is_default(const char *scheme, size_t len, uint16_t port)
{
	return (len == 5 && !strncmp(scheme, "https", len) && port == url_default_port(URL_HTTPS)) ||
	    (len == 4 && !strncmp(scheme, "http", len) && port == url_default_port(URL_HTTP));
}

/* Makes the text what a browser sends: small letters, without the scheme's own port. False: it is not an origin. */
static bool cors_read_origin(char *text)
{
	size_t scheme = cors_scheme_length(text), len = strlen(text);
	struct url_host host;

	if (!scheme || len > CORS_ORIGIN_MAX)
		return false;
	if (len > scheme + 3 && text[len - 1] == '/')
		text[--len] = '\0';
	for (char *at = text; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	if (url_parse_host(text + scheme + 3, len - scheme - 3, &host) != URL_OK)
		return false;
	if (host.port_given && cors_is_default(text, scheme, host.port))
		*strrchr(text, ':') = '\0';
	return true;
}

/* Fills in the origins that text, which is changed, has. */
static int cors_read(char *text, const char **origins, struct conf_error *error)
{
	static const char blanks[] = ", \t";
	size_t count = 0;
	bool any = false;

	for (char *save, *one = strtok_r(text, blanks, &save); one; one = strtok_r(NULL, blanks, &save)) {
		if (count == CONF_ORIGINS_MAX)
			return conf_fail(error, "'%.64s' is one origin too many" CORS_ALLOWED, SHOWN(one));
		any |= !strcmp(one, "*");
		if (strcmp(one, "*") != 0 && !cors_read_origin(one))
			return conf_fail(error, "'%.64s' is not an origin" CORS_ALLOWED, SHOWN(one));
		origins[count++] = one;
	}
	return any && count > 1 ? conf_fail(error, "* stands beside origins" CORS_ALLOWED) : 0;
}

int conf_cors_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	const char ***owned = member;
	const char **origins = calloc(1, (CONF_ORIGINS_MAX + 1) * sizeof *origins + strlen(value->text) + 1);
	char *text = (char *)(origins + CONF_ORIGINS_MAX + 1);

	(void)row;
	if (!origins)
		return conf_fail_memory(error);
	strcpy(text, value->text);
	if (cors_read(text, origins, error) != 0) {
		free(origins);
		return -1;
	}
	free(*owned);
	*owned = origins;
	return 0;
}

static bool cors_is_any(const struct conf_route *route)
{
	return route->cors_allow[0] && !strcmp(route->cors_allow[0], "*");
}

static bool cors_is_private(const struct conf_destination *d)
{
	struct cidr block;

	for (size_t i = 0; d->kind == DESTINATION_BLOCK && i < sizeof private_blocks / sizeof *private_blocks; i++)
		if (cidr_parse(private_blocks[i], strlen(private_blocks[i]), &block) &&
		    (cidr_contains(&d->cidr, &block.ip) || cidr_contains(&block, &d->cidr.ip)))
			return true;
	return false;
}

int conf_cors_settle(const struct conf *conf, struct conf_error *error)
{
	if (!conf->gateway || !cors_is_any(&conf->by_url))
		return 0;
	for (size_t i = 0; i < conf->allow.count; i++)
		if (cors_is_private(&conf->allow.items[i])) {
			struct conf_place cors = conf_place(conf, &conf->by_url, "cors-allow");

			return conf_fail(error, "%s: with * every web page could read the private addresses that allow "
			    "opens (%.200s); write the origins of the pages, or an allow without private addresses",
			    cors.text, conf_place(conf, NULL, "allow").text);
		}
	return 0;
}

void conf_cors_warn(struct conf *conf)
{
	if (!conf->gateway || !cors_is_any(&conf->by_url))
		return;
	for (size_t i = 0; i < conf->allow.count; i++)
		if (conf->allow.items[i].kind == DESTINATION_BLOCK && cidr_is_loopback(&conf->allow.items[i].cidr)) {
			conf_warn(conf, "%s: with * every web page can read what allow opens of this machine (%.200s)",
			    conf_place(conf, &conf->by_url, "cors-allow").text, conf_place(conf, NULL, "allow").text);
			return;
		}
}
