/* Choosing a parent proxy; see parent.h. */
#include "proxy/settings/parent.h"

#include <string.h>

#include "conf/conf.h"
#include "proxy/base/hash.h"

static bool parent_is_listed(const struct conf_destination *served, const struct destination *to)
{
	size_t len = strlen(to->host);
	struct ip ip;

	if (served->port > 0 && served->port != to->port)
		return false;
	if (served->kind == DESTINATION_BLOCK)
		return ip_parse(to->host, len, &ip) && cidr_contains(&served->cidr, &ip);
	return conf_destination_names(served, to->host, len - (len && to->host[len - 1] == '.'));
}

const struct conf_parent *parent_choose(const struct parent_rules *rules, const struct destination *to)
{
	const struct conf_parent *parent = to->tls ? rules->https : rules->http;

	if (!parent->host)
		return NULL;
	for (size_t i = 0; i < rules->none->count; i++)
		if (parent_is_listed(&rules->none->items[i], to))
			return NULL;
	return parent;
}

bool parent_reads(const struct conf_parent *parent, bool tls)
{
	return parent && parent->kind == CONF_PARENT_HTTP && !tls;
}

bool parent_same(const struct conf_parent *a, const struct conf_parent *b)
{
	if (!a || !b || a == b)
		return a == b;
	return a->kind == b->kind && a->port == b->port && !strcmp(a->host, b->host) &&
	    !a->credentials == !b->credentials &&
	    (!a->credentials || !strcmp(a->credentials, b->credentials));
}

uint64_t parent_number(const struct conf_parent *parent)
{
	return parent ? hash_fold(hash_xx64(parent->host, strlen(parent->host)), parent->port) : 0;
}

void parent_add_way(struct text *t, uint16_t port, const struct conf_parent *parent)
{
	text_number(t, port);
	if (!parent)
		return;
	text_printf(t, " by %s%s:%u", parent->kind == CONF_PARENT_SOCKS ? "socks " : "", parent->host,
	    parent->port);
	if (parent->credentials)
		text_printf(t, " as %s", parent->credentials);
}

void parent_add_credentials(struct text *t, const struct conf_parent *parent)
{
	if (parent->credentials)
		text_printf(t, "Proxy-Authorization: Basic %s\r\n", parent->credentials);
}
