/* Owns what is to be said of an admin listener that is configured rightly, but may surprise: who gets little there, and
 * that utfeed healthcheck would not get an answer.
 * Must not know: what the admin listener answers. */
#include "conf/conf_internal.h"

#include <string.h>

static bool admin_is_wide(const struct conf *conf)
{
	struct ip ip;

	for (size_t i = 0; i < conf->admin_listen.count; i++) {
		const char *host = conf->admin_listen.items[i].host;

		if (host && ip_parse(host, strlen(host), &ip) && !ip_is_loopback(&ip))
			return true;
	}
	return false;
}

bool conf_admin_is_open(const struct conf *conf)
{
	for (size_t i = 0; !*conf->admin_token && i < conf->admin_allow.count; i++)
		if (!cidr_is_loopback(&conf->admin_allow.items[i]))
			return true;
	return false;
}

/* The address that utfeed healthcheck asks, which is its own too; NULL: it asks a Unix socket, or nobody. */
static const char *admin_asked(const struct conf *conf)
{
	const char *host = conf->admin_listen.count ? conf->admin_listen.items[0].host : NULL;

	return !host ? NULL : !strcmp(host, "0.0.0.0") ? "127.0.0.1" : !strcmp(host, "::") ? "::1" : host;
}

static void admin_warn_of_healthcheck(struct conf *conf)
{
	const char *host = admin_asked(conf);
	struct ip ip;

	if (conf->admin_listen.count && *conf->admin_tls_cert)
		conf_warn(conf, "%s: `utfeed healthcheck` does not speak TLS and would say unhealthy; have another "
		    "program ask it",
		    conf_place(conf, NULL, "admin-tls-cert").text);
	else if (host && ip_parse(host, strlen(host), &ip) && !cidr_list_contains(&conf->admin_allow, &ip))
		conf_warn(conf, "%s: it does not name %s, so `utfeed healthcheck` would say unhealthy; write %s, too",
		    conf_place(conf, NULL, "admin-allow").text, host, host);
}

void conf_admin_warn(struct conf *conf)
{
	if (admin_is_wide(conf) && conf_admin_is_open(conf))
		conf_warn(conf, "%s: " CONF_ADMIN_OPEN, conf_place(conf, NULL, "admin-listen").text);
	if (conf->action == CONF_CHECK_CONFIG)
		admin_warn_of_healthcheck(conf);
}
