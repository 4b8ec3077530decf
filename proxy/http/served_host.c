/* Names that utfeed answers to; see served_host.h. */
#include "proxy/http/served_host.h"

#include <string.h>
#include <strings.h>

/* Names below these do not exist on the Internet's DNS, or no stranger can register them. */
static const char *const private_names[] = {
	"localhost", "test", "example", "invalid",             /* RFC 6761 section 6 */
	"local", "intranet", "internal", "private", "corp", "home", "lan",     /* RFC 6762 section 3 and appendix G */
	"home.arpa",                                           /* RFC 8375 */
};

static bool lies_below(const char *name, size_t len, const char *above)
{
	size_t n = strlen(above);

	return len > n && name[len - n - 1] == '.' && !strncasecmp(name + len - n, above, n);
}

static bool served_host_is_private(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof private_names / sizeof *private_names; i++)
		if (lies_below(name, len, private_names[i]))
			return true;
	return false;
}

static bool is_a_routes(const struct conf *conf, const char *name, size_t len)
{
	for (size_t i = 0; i < conf->routes.count; i++) {
		const char *host = conf->routes.items[i].host;

		if (host && strlen(host) == len && !strncasecmp(host, name, len))
			return true;
	}
	return false;
}

static bool served_host_is_listed(const struct conf_destination_list *list, const char *name, size_t len)
{
	struct ip ip;
	bool numeric = ip_parse(name, len, &ip);

	for (size_t i = 0; i < list->count; i++) {
		const struct conf_destination *served = &list->items[i];

		if (served->kind == DESTINATION_BLOCK
		    ? numeric && cidr_contains(&served->cidr, &ip)
		    : conf_destination_names(served, name, len))
			return true;
	}
	return false;
}

/* Whether the last label is a number: no name of the DNS ends so, and browsers take such a host for an IPv4 address or
 * refuse it (URL Standard, "ends in a number checker"). */
static bool is_numeric(const char *name, size_t len)
{
	size_t digits = 0;

	while (digits < len && name[len - digits - 1] >= '0' && name[len - digits - 1] <= '9')
		digits++;
	return digits && (digits == len || name[len - digits - 1] == '.');
}

/* The name without a final dot. */
static size_t served_length(const char *name, size_t len)
{
	return len - (len && name[len - 1] == '.');
}

/* Whether no web page of a stranger can have the name. */
static bool is_no_strangers(const char *name, size_t len, bool ipv6)
{
	return ipv6 || is_numeric(name, len) || !memchr(name, '.', len) || served_host_is_private(name, len);
}

bool served_host(const struct conf *conf, const char *text, const struct url_host *asked, bool tls)
{
	const char *name = text + asked->host.at;
	size_t len = served_length(name, asked->host.len);

	if (!asked->host.len || (tls && !conf->hosts.count))
		return true;
	if (is_a_routes(conf, name, len))
		return true;
	return conf->hosts.count ? served_host_is_listed(&conf->hosts, name, len)
	                         : is_no_strangers(name, len, asked->ipv6);
}

bool served_admin_host(const struct conf *conf, const char *text, const struct url_host *asked, bool tls)
{
	const char *name = text + asked->host.at;
	size_t len = served_length(name, asked->host.len);

	return tls || !asked->host.len || is_no_strangers(name, len, asked->ipv6) ||
	    served_host_is_listed(&conf->hosts, name, len);
}

/* A value of the option replaces the default, so the first value has to name what the default served. */
void served_host_refusal(struct text *t, const struct conf *conf, struct slice host)
{
	struct url_host asked = { .port = 0 };
	struct slice name = host;

	if (url_parse_host(host.at, host.len, &asked) == URL_OK) {
		name.at += asked.host.at;
		name.len = served_length(name.at, asked.host.len);
	}
	text_puts(t, "This utfeed does not answer to the name ");
	text_add(t, name.at, name.len);
	text_puts(t, " in Host. To serve that name, ");
	if (conf->hosts.count) {
		text_puts(t, "add it to hosts in its configuration.");
		return;
	}
	text_puts(t, "write in its configuration: hosts = ");
	text_add(t, name.at, name.len);
	text_puts(t, ", localhost, 0.0.0.0/0, ::/0 (the last three keep addresses served; add the other names that "
		"clients use)");
}
