/* Owns finding routes and parent proxies that lead to a listener of utfeed itself, by an address or by localhost.
 * Must not know: which sockets there are (proxy/net/own_sockets.h has them, and refuses the connection). */
#include "conf/conf_internal.h"

#include <string.h>

struct own_way {
	const char *host;              /* without brackets */
	uint16_t port;
};

static bool own_is_led_to(const struct conf_listen *l, const struct own_way *way)
{
	bool by_name = !strcmp(way->host, "localhost");
	struct ip at, to;

	if (!l->host || !l->port || l->port != way->port || !ip_parse(l->host, strlen(l->host), &at))
		return false;
	if (by_name)
		return ip_is_unspecified(&at) || ip_is_loopback(&at);
	if (!ip_parse(way->host, strlen(way->host), &to))
		return false;
	if (!ip_is_unspecified(&at))
		return ip_is_same(&at, &to);
	return at.ipv6 == to.ipv6 && (ip_is_loopback(&to) || ip_is_unspecified(&to));
}

/* where: the place that names the way. */
static void own_warn_of(struct conf *conf, const char *where, const struct own_way *way)
{
	const struct conf_listen_list *const lists[] = { &conf->listen, &conf->tls_listen, &conf->admin_listen };

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (size_t k = 0; k < lists[i]->count; k++)
			if (own_is_led_to(&lists[i]->items[k], way)) {
				conf_warn(conf, "%s: %s port %u is a listener of utfeed itself, which does not connect "
				    "to it: requests get 502; write the address of the origin", where, way->host,
				    way->port);
				return;
			}
}

static void own_warn_of_parent(struct conf *conf, const char *option, const struct conf_parent *parent)
{
	if (parent->host)
		own_warn_of(conf, conf_place(conf, NULL, option).text, &(struct own_way){ parent->host, parent->port });
}

void conf_own_warn(struct conf *conf)
{
	for (size_t i = 0; i < conf->routes.count; i++) {
		const struct conf_route *r = &conf->routes.items[i];

		if (r->origin.host)
			own_warn_of(conf, r->where, &(struct own_way){ r->origin.host, r->origin.port });
	}
	own_warn_of_parent(conf, "http-proxy", &conf->http_proxy);
	own_warn_of_parent(conf, "https-proxy", &conf->https_proxy);
}
