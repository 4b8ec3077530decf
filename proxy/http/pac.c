/* Writing the file of proxy auto-config; see pac.h. The language is that of old browsers: ECMAScript 3 and the
 * functions that Netscape gave it; none of them looks names up. */
#include "proxy/http/pac.h"

#include <arpa/inet.h>
#include <string.h>

bool pac_is(const struct conf *conf, struct slice target)
{
	struct slice query, path = slice_until(target, '?', &query);

	return conf->pac && ((path.len == 10 && !memcmp(path.at, "/proxy.pac", 10)) ||
	    (path.len == 9 && !memcmp(path.at, "/wpad.dat", 9)));
}

/* A block as isInNet() takes it; of IPv6 it has none, so that a whole address alone can be compared. */
static void add_block(struct text *t, const struct cidr *cidr)
{
	char ip[INET6_ADDRSTRLEN], mask[INET_ADDRSTRLEN];

	inet_ntop(cidr->ip.ipv6 ? AF_INET6 : AF_INET, cidr->ip.bytes, ip, sizeof ip);
	if (cidr->ip.ipv6) {
		text_printf(t, "h == \"%s\"", ip);
		return;
	}
	uint32_t bits = cidr->bits ? htonl(~0u << (32 - cidr->bits)) : 0;
	inet_ntop(AF_INET, &bits, mask, sizeof mask);
	text_printf(t, "ip && isInNet(h, \"%s\", \"%s\")", ip, mask);
}

/* The condition that a host is one of the destination's. */
static void add_host(struct text *t, const struct conf_destination *served)
{
	if (served->kind == DESTINATION_EVERY)
		text_puts(t, "true");
	else if (served->kind == DESTINATION_BLOCK)
		add_block(t, &served->cidr);
	else if (served->kind == DESTINATION_HOST)
		text_printf(t, "h == \"%s\"", served->host);
	else
		text_printf(t, "below(h, \"%s\")", served->host);
}

/* A line for each destination; without a port it means those that ports says: a condition. */
static void add_list(struct text *t, const struct conf_destination_list *list, const char *scheme, const char *ports,
    const char *answer)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct conf_destination *served = &list->items[i];

		text_printf(t, "\tif (%s", scheme);
		if (served->port > 0)
			text_printf(t, "port == %d && ", served->port);
		else if (served->port == DESTINATION_PORT_NONE)
			text_puts(t, ports);
		text_puts(t, "(");
		add_host(t, served);
		text_printf(t, ")) return %s;\n", answer);
	}
}

static const char head[] =
    "function below(h, name) {\n"
    "\treturn h == name || h.substring(h.length - name.length - 1) == \".\" + name;\n"
    "}\n"
    "function FindProxyForURL(url, host) {\n"
    "\tvar h = host.toLowerCase().replace(/^\\[|\\]$|\\.$/g, \"\");\n"
    "\tvar https = url.substring(0, 6).toLowerCase() == \"https:\", http = url.substring(0, 5).toLowerCase() == "
    "\"http:\";\n"
    "\tvar given = /^[^:]+:\\/\\/(?:[^\\/?#@]*@)?(?:\\[[^\\]]*\\]|[^\\/?#:]*):(\\d+)/.exec(url);\n"
    "\tvar port = given ? given[1] - 0 : https ? 443 : 80, web = port == 80 || port == 443;\n"
    "\tvar ip = /^\\d+\\.\\d+\\.\\d+\\.\\d+$/.test(h);\n";

/* Addresses that the guard closes, and names that only this network knows. */
static const char private[] =
    "\tif (ip && (isInNet(h, \"10.0.0.0\", \"255.0.0.0\") || isInNet(h, \"172.16.0.0\", \"255.240.0.0\") ||\n"
    "\t    isInNet(h, \"192.168.0.0\", \"255.255.0.0\") || isInNet(h, \"127.0.0.0\", \"255.0.0.0\") ||\n"
    "\t    isInNet(h, \"169.254.0.0\", \"255.255.0.0\"))) return \"DIRECT\";\n"
    "\tif (h.indexOf(\".\") < 0 || below(h, \"localhost\") || below(h, \"local\")) return \"DIRECT\";\n";

static bool is_named(const struct conf_destination *served)
{
	return served->kind != DESTINATION_EVERY;
}

/* allow opens named destinations whatever their addresses; that of every host opens a port. */
static void add_http(struct text *t, const struct conf *conf)
{
	struct conf_destination_list one = { NULL, 1 };

	for (size_t i = 0; i < conf->allow.count; i++)
		if (is_named(one.items = &conf->allow.items[i]))
			add_list(t, &one, "http && ", "web && ", "via");
	text_puts(t, private);
	for (size_t i = 0; i < conf->allow.count; i++)
		if (!is_named(one.items = &conf->allow.items[i]))
			add_list(t, &one, "http && ", "web && ", "via");
	text_puts(t, "\tif (http && web) return via;\n");
}

void pac_write(struct text *t, const struct conf *conf, struct slice host, uint16_t port, bool tls)
{
	text_puts(t, head);
	text_printf(t, "\tvar via = \"%s %.*s:%u\";\n", tls ? "HTTPS" : "PROXY", (int)host.len, host.at,
	    (unsigned)port);
	add_list(t, &conf->deny, "", "", "\"DIRECT\"");
	add_list(t, &conf->connect_allow, "https && ", "port == 443 && ", "via");
	add_list(t, &conf->intercept, "https && ", "web && ", "via");
	text_puts(t, "\tif (https) return \"DIRECT\";\n");
	if (conf->forward)
		add_http(t, conf);
	text_puts(t, "\treturn \"DIRECT\";\n}");
}
