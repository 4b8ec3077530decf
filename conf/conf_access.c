/* Owns two kinds of option values: lists of address blocks (clients), and lists of destinations (hosts, blocks, ports).
 * Must not know: what a list permits or forbids.
 * Invariant: a host in a list is a lower-case name without a final dot; an address, however written, is a block. */
#include "conf/conf_internal.h"
#include "conf/idn.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BLOCKS "write address blocks such as 192.0.2.0/24, 2001:db8::/32, 192.0.2.7"
#define DESTINATIONS \
	"write, with commas between, example.org (the host), .example.org (and all below it), 192.0.2.0/24, " \
	"2001:db8::/32 or *, each with :PORT or :* behind it (IPv6: [2001:db8::/32]:PORT)"
#define HOSTS \
	"write, with commas between, example.org (and all below it), 192.0.2.0/24, 2001:db8::/32 or *, each with " \
	":PORT behind it for that port alone"

#define SITES \
	"write, with commas between and without ports, example.org, .example.org (and all below it), 192.0.2.0/24, " \
	"2001:db8::/32 or *"

#define BITS "'%.64s' has bits set behind its prefix; write %s"

static const char blanks[] = ", \t";

/* Words of other programs. */
static bool is_everybody(const char *text)
{
	return strcasecmp(text, "all") == 0 || strcasecmp(text, "any") == 0 || strcmp(text, "*") == 0;
}

/* A block whose address has bits set behind the prefix is named as it may be meant. */
static int blocks_fail(const char *text, size_t len, struct conf_error *error)
{
	struct conf_shown shown = conf_shown(text, len);
	char block[CIDR_TEXT_MAX];

	if (cidr_round(text, len, block))
		return conf_fail(error, BITS, shown.text, block);
	if (is_everybody(shown.text))
		return conf_fail(error, "'%.64s' is not an address block; write 0.0.0.0/0, ::/0 for everybody",
			shown.text);
	return conf_fail(error, "'%.64s' is not an address block; " BLOCKS, shown.text);
}

int conf_cidr_list_set(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	struct cidr_list *list = member;
	const char *at = value->text + strspn(value->text, blanks);

	if (!*at && !*row->def)
		return 0;              /* none */
	if (!*at)
		return conf_fail(error, "is empty; " BLOCKS);
	while (*at) {
		size_t len = strcspn(at, blanks);
		struct cidr cidr, *grown;
		if (!cidr_parse(at, len, &cidr))
			return blocks_fail(at, len, error);
		grown = reallocarray(list->items, list->count + 1, sizeof(*grown));
		if (!grown)
			return conf_fail_memory(error);
		list->items = grown;
		list->items[list->count++] = cidr;
		at += len;
		at += strspn(at, blanks);
	}
	return 0;
}

void conf_cidr_list_format(FILE *out, const struct conf_row *row, const void *member)
{
	const struct cidr_list *list = member;

	(void)row;
	for (size_t i = 0; i < list->count; i++) {
		cidr_print(out, &list->items[i]);
		fputc('\n', out);
	}
}

void conf_cidr_list_clear(void *member)
{
	struct cidr_list *list = member;

	free(list->items);
	*list = (struct cidr_list){ NULL, 0 };
}

/* Reads ":443", ":*" or nothing. */
static bool access_read_port(const char *text, size_t len, int *port)
{
	char *end;
	unsigned long value;

	*port = DESTINATION_PORT_NONE;
	if (len == 0)
		return true;
	if (text[0] != ':' || len < 2 || len > 6)
		return false;
	if (len == 2 && text[1] == '*') {
		*port = DESTINATION_PORT_ANY;
		return true;
	}
	if (!isdigit((unsigned char)text[1]))
		return false;
	value = strtoul(text + 1, &end, 10);
	*port = (int)value;
	return (size_t)(end - text) == len && value >= 1 && value <= 65535;
}

static bool read_ascii_name(const char *text, size_t len, struct conf_destination *d)
{
	struct url_host host;

	if (len && text[len - 1] == '.' && --len && text[len - 1] == '.')
		return false;
	if (url_parse_host(text, len, &host) != URL_OK || host.ipv6 || host.host.len != len ||
	    ip_is_numeric_host(text, len))
		return false;
	d->host = conf_copy_lower(text, len);
	return true;
}

/* Reads a host name; a leading dot includes all names below it. It is kept in A-labels, however it was written. */
static bool read_name(const char *text, size_t len, struct conf_destination *d)
{
	bool below = len && text[0] == '.', is_name;
	size_t ascii_len;
	char *ascii = idn_host(text + below, len - below, &ascii_len);

	d->kind = below ? DESTINATION_BELOW : DESTINATION_HOST;
	is_name = ascii ? read_ascii_name(ascii, ascii_len, d) : read_ascii_name(text + below, len - below, d);
	free(ascii);
	return is_name;
}

static bool read_destination(const char *text, struct conf_destination *d)
{
	size_t len = strlen(text), what = len;
	const char *close = text[0] == '[' ? strchr(text, ']') : NULL, *colon;

	*d = (struct conf_destination){ .kind = DESTINATION_BLOCK };
	if (cidr_parse(text, len, &d->cidr))
		return true;
	if (close)
		return cidr_parse(text + 1, (size_t)(close - text) - 1, &d->cidr) &&
		    access_read_port(close + 1, strlen(close + 1), &d->port);
	if ((colon = strchr(text, ':')))
		what = (size_t)(colon - text);
	if (!access_read_port(text + what, len - what, &d->port))
		return false;
	if (cidr_parse(text, what, &d->cidr))
		return true;
	if (what == 1 && text[0] == '*') {
		d->kind = DESTINATION_EVERY;
		return true;
	}
	return read_name(text, what, d);
}

static int append_destination(struct conf_destination_list *list, const char *text,
    bool (*read)(const char *, struct conf_destination *), const char *allowed, struct conf_error *error)
{
	struct conf_destination *grown = reallocarray(list->items, list->count + 1, sizeof(*grown)), *d;
	char block[CIDR_TEXT_MAX];

	if (!grown)
		return conf_fail_memory(error);
	list->items = grown;
	d = &list->items[list->count];
	if (!read(text, d)) {
		free(d->host);
		if (cidr_round(text, strlen(text), block))
			return conf_fail(error, BITS, SHOWN(text), block);
		return conf_fail(error, "'%.64s' is %s; %s", SHOWN(text),
			strstr(text, "://") ? "a URL, and only its host counts here" : "not a destination", allowed);
	}
	if ((d->kind == DESTINATION_HOST || d->kind == DESTINATION_BELOW) && !d->host)
		return conf_fail_memory(error);
	list->count++;
	return 0;
}

void conf_destination_format(FILE *out, const struct conf_row *row, const void *member)
{
	const struct conf_destination_list *list = member;

	(void)row;
	for (size_t i = 0; i < list->count; i++) {
		const struct conf_destination *d = &list->items[i];
		bool brackets = d->kind == DESTINATION_BLOCK && d->cidr.ip.ipv6 && d->port;
		if (brackets)
			fputc('[', out);
		if (d->kind == DESTINATION_BLOCK)
			cidr_print(out, &d->cidr);
		else
			fprintf(out, "%s%s", d->kind == DESTINATION_BELOW ? "." : "",
			    d->kind == DESTINATION_EVERY ? "*" : d->host);
		if (brackets)
			fputc(']', out);
		if (d->port == DESTINATION_PORT_ANY)
			fputs(":*", out);
		else if (d->port)
			fprintf(out, ":%d", d->port);
		fputc('\n', out);
	}
}

void conf_destination_clear(void *member)
{
	struct conf_destination_list *list = member;

	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].host);
	free(list->items);
	*list = (struct conf_destination_list){ NULL, 0 };
}

/* Reads a host as curl reads no_proxy: a name, with or without a dot or "*." before it, means itself and all names
 * below it. */
static bool read_hosts(const char *text, struct conf_destination *d)
{
	if (!read_destination(text[0] == '*' && text[1] == '.' ? text + 1 : text, d))
		return false;
	if (d->kind == DESTINATION_HOST)
		d->kind = DESTINATION_BELOW;
	return true;
}

/* Reads a host that Host fields may name. It has no port, because clients need not see the listener's port. */
static bool read_site(const char *text, struct conf_destination *d)
{
	return read_destination(text, d) && d->port == DESTINATION_PORT_NONE;
}

static int set_items(void *member, const struct conf_value *value,
    bool (*read)(const char *, struct conf_destination *), const char *allowed, struct conf_error *error)
{
	char *items = strdup(value->text), *rest = items, *item;
	int status = items ? 0 : conf_fail_memory(error);

	while (status == 0 && (item = strsep(&rest, blanks)))
		if (*item)
			status = append_destination(member, item, read, allowed, error);
	free(items);
	return status;
}

/* The default of these is none, which cannot be written: an empty value is a mistake. */
int conf_destination_set(const struct conf_row *row, void *member, const struct conf_value *value,
    struct conf_error *error)
{
	(void)row;
	if (!value->text[strspn(value->text, blanks)])
		return conf_fail(error, "is empty; " DESTINATIONS);
	if (strcmp(value->text, "*") != 0 && is_everybody(value->text))
		return conf_fail(error, "'%.64s' would be a host of that name; write * for all", SHOWN(value->text));
	return set_items(member, value, read_destination, DESTINATIONS, error);
}

int conf_hosts_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	(void)row;
	return set_items(member, value, read_hosts, HOSTS, error);
}

int conf_sites_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	(void)row;
	return set_items(member, value, read_site, SITES, error);
}

bool conf_destination_names(const struct conf_destination *d, const char *host, size_t len)
{
	size_t n;

	if (d->kind == DESTINATION_EVERY)
		return true;
	if (d->kind == DESTINATION_BLOCK)
		return false;
	n = strlen(d->host);
	if (len < n || strncasecmp(host + len - n, d->host, n) != 0)
		return false;
	return len == n || (d->kind == DESTINATION_BELOW && host[len - n - 1] == '.');
}

/* allow, allowed: the option that says who may use the listeners, which was left at its default, and its value. */
static int settle_listeners(const struct conf *conf, const char *name, const struct conf_listen_list *list,
    const char *allow, const struct cidr_list *allowed, struct conf_error *error)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct conf_listen *listen = &list->items[i];
		struct ip ip;
		if (listen->path)
			continue;
		if (!ip_parse(listen->host, strlen(listen->host), &ip) || !cidr_list_contains(allowed, &ip))
			return conf_fail(error,
			    "%s: %s%s%s:%u is open to other machines, and no %s says which may use it; write "
			    "for example %s = 192.168.0.0/16 (or --%s), or 0.0.0.0/0, ::/0 for everybody",
			    conf_place(conf, NULL, name).text, listen->ipv6 ? "[" : "", listen->host,
			    listen->ipv6 ? "]" : "", listen->port, allow, allow, allow);
	}
	return 0;
}

/* A listener for other machines whose clients are all on this one. */
static void access_warn_of_nobody(struct conf *conf, const char *name, const struct conf_listen_list *list)
{
	for (size_t i = 0; i < conf->client_allow.count; i++)
		if (!cidr_is_loopback(&conf->client_allow.items[i]))
			return;
	for (size_t i = 0; i < list->count; i++) {
		const struct conf_listen *listen = &list->items[i];
		struct ip ip;

		if (!listen->path && ip_parse(listen->host, strlen(listen->host), &ip) && !ip_is_loopback(&ip))
			conf_warn(conf, "%s: %s:%u is open to other machines, and client-allow lets none of them in; "
			    "write their addresses into client-allow, or 127.0.0.1:%u here",
			    conf_place(conf, NULL, name).text, listen->host, listen->port, listen->port);
	}
}

/* Who may not use utfeed at all cannot purge either. */
static void access_warn_of_purge(struct conf *conf)
{
	const struct cidr_list *purge = &conf->purge_allow;

	if (conf->sources[CONF_OPTION_purge_allow].level == CONF_LEVEL_DEFAULT)
		return;
	for (size_t i = 0; i < purge->count; i++) {
		bool served = cidr_list_contains(&conf->client_allow, &purge->items[i].ip);
		char block[CIDR_TEXT_MAX];

		for (size_t k = 0; k < conf->client_allow.count; k++)
			served = served || cidr_contains(&purge->items[i], &conf->client_allow.items[k].ip);
		if (served)
			continue;
		cidr_text(&purge->items[i], block);
		conf_warn(conf, "%s: client-allow does not have %s, so nobody there is served, and nobody there can "
		    "purge; write %s into client-allow, too, or leave it out here",
		    conf_place(conf, NULL, "purge-allow").text, block, block);
	}
}

void conf_access_warn(struct conf *conf)
{
	if (!conf->trusted_proxies.count) {
		access_warn_of_nobody(conf, "listen", &conf->listen);
		access_warn_of_nobody(conf, "tls-listen", &conf->tls_listen);
	}
	access_warn_of_purge(conf);
}

/* An operator who opens utfeed to other machines has to say to which: the default of client-allow covers loopback
 * listeners only, and no clients behind a trusted proxy. */
int conf_access_settle(const struct conf *conf, struct conf_error *error)
{
	if (conf->proxy_protocol && !conf->trusted_proxies.count)
		return conf_fail(error,
		    "%s: no trusted-proxies says whose connections begin with such a header; write for example "
		    "trusted-proxies = 10.0.0.1",
		    conf_place(conf, NULL, "proxy-protocol").text);
	if (conf->sources[CONF_OPTION_admin_allow].level == CONF_LEVEL_DEFAULT &&
	    settle_listeners(conf, "admin-listen", &conf->admin_listen, "admin-allow", &conf->admin_allow, error) != 0)
		return -1;
	if (conf->sources[CONF_OPTION_client_allow].level != CONF_LEVEL_DEFAULT)
		return 0;
	if (conf->trusted_proxies.count)
		return conf_fail(error,
		    "%s: no client-allow says which of the clients behind them may use utfeed; write "
		    "for example client-allow = 192.168.0.0/16, or 0.0.0.0/0, ::/0 for everybody",
		    conf_place(conf, NULL, "trusted-proxies").text);
	return settle_listeners(conf, "listen", &conf->listen, "client-allow", &conf->client_allow, error) != 0 ? -1 :
		settle_listeners(conf, "tls-listen", &conf->tls_listen, "client-allow", &conf->client_allow, error);
}
