/* Owns addresses as option values: an origin's URL, a listener's address.
 * Must not know: routes; whether anything answers there.
 * Invariant: a conf_origin's authority is what its scheme, host and port make, never text as typed. */
#include "conf/conf_internal.h"
#include "conf/idn.h"
#include "conf/url_text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define ORIGINS "write http://host[:port][/path], or the same with https"

char *conf_copy_lower(const char *text, size_t len)
{
	char *copy = strndup(text, len);

	for (char *at = copy; copy && *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return copy;
}

static char *make_authority(const struct conf_origin *origin)
{
	const char *open = origin->ipv6 ? "[" : "", *close = origin->ipv6 ? "]" : "";
	char *text;
	int len;

	if (origin->port == url_default_port(origin->scheme))
		len = asprintf(&text, "%s%s%s", open, origin->host, close);
	else
		len = asprintf(&text, "%s%s%s:%u", open, origin->host, close, origin->port);
	return len < 0 ? NULL : text;
}

static int origin_read(void *member, const char *text, struct conf_error *error)
{
	struct conf_origin origin = { 0 };
	struct url url;
	enum url_error fault = url_parse(text, strlen(text), &url);

	if (fault)
		return conf_fail(error, "'%.200s' is not an origin: %s; " ORIGINS, SHOWN(text), url_error_text(fault));
	if (url.host.len == 4 && strncmp(text + url.host.at, "unix", 4) == 0)
		return conf_fail(error, "'%.200s' is the path of a socket, at which utfeed does not ask; " ORIGINS,
			SHOWN(text));
	if (url.has_query)
		return conf_fail(error,
		    "'%.200s' has a query, which comes from the request; " ORIGINS, SHOWN(text));
	if (url_path_has_dots(text + url.path.at, url.path.len))
		return conf_fail(error, "'%.200s' has a dot segment in its path; " ORIGINS, SHOWN(text));
	origin.scheme = url.scheme;
	origin.ipv6 = url.ipv6;
	origin.port = url.port;
	origin.host = conf_copy_lower(text + url.host.at, url.host.len);
	origin.path = url.path.len ? strndup(text + url.path.at, url.path.len) : strdup("/");
	origin.authority = origin.host ? make_authority(&origin) : NULL;
	if (!origin.host || !origin.path || !origin.authority) {
		conf_origin_clear(&origin);
		return conf_fail_memory(error);
	}
	conf_origin_clear(member);
	*(struct conf_origin *)member = origin;
	return 0;
}

int conf_origin_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	size_t len = strlen(value->text);
	char *encoded = url_text_encode(value->text, len, &len), *ascii;
	const char *text = encoded ? encoded : value->text;
	int status;

	(void)row;
	ascii = idn_url(text, len, &len);
	status = origin_read(member, ascii ? ascii : text, error);
	free(encoded);
	free(ascii);
	return status;
}

void conf_origin_format(FILE *out, const struct conf_row *row, const void *member)
{
	const struct conf_origin *origin = member;

	(void)row;
	fprintf(out, "%s://%s%s", url_scheme_name(origin->scheme), origin->authority, origin->path);
}

void conf_origin_clear(void *member)
{
	struct conf_origin *origin = member;

	free(origin->host);
	free(origin->path);
	free(origin->authority);
	*origin = (struct conf_origin){ 0 };
}

/* The word before the path of a Unix socket. */
#define LISTEN_UNIX "unix:"

static bool read_listen(const char *text, struct conf_listen *listen, char host[INET6_ADDRSTRLEN])
{
	const char *colon = strrchr(text, ':');
	unsigned char address[sizeof(struct in6_addr)];
	unsigned long port = 0;
	size_t len = colon ? (size_t)(colon - text) : 0;

	listen->ipv6 = len > 2 && text[0] == '[' && text[len - 1] == ']';
	if (listen->ipv6) {
		text++;
		len -= 2;
	}
	if (len == 0 || len >= INET6_ADDRSTRLEN || !colon[1] || strlen(colon + 1) > 5)
		return false;
	for (const char *at = colon + 1; *at; at++) {
		if (*at < '0' || *at > '9')
			return false;
		port = port * 10 + (unsigned long)(*at - '0');
	}
	memcpy(host, text, len);
	host[len] = '\0';
	listen->port = (uint16_t)port;
	return port <= 65535 && inet_pton(listen->ipv6 ? AF_INET6 : AF_INET, host, address) == 1;
}

static int listen_append(struct conf_listen_list *list, const struct conf_listen *listen, struct conf_error *error)
{
	struct conf_listen *grown = reallocarray(list->items, list->count + 1, sizeof(*grown)), *item;

	if (!grown)
		return conf_fail_memory(error);
	list->items = grown;
	item = &grown[list->count];
	*item = *listen;
	item->host = listen->host ? strdup(listen->host) : NULL;
	item->path = listen->path ? strdup(listen->path) : NULL;
	if (!item->host && !item->path)
		return conf_fail_memory(error);
	list->count++;
	return 0;
}

static bool listen_has(const struct conf_listen_list *list, const struct conf_listen *listen)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct conf_listen *other = &list->items[i];

		if (listen->path ? other->path && !strcmp(other->path, listen->path) :
		    listen->port && other->host && other->port == listen->port && !strcmp(other->host, listen->host))
			return true;
	}
	return false;
}

/* Without blanks and what ends a value in a file or a variable, so that a path reads everywhere as it is written. */
static bool is_socket_path(const char *path)
{
	size_t len = strlen(path);

	if (path[0] != '/' || len < 2 || len > CONF_UNIX_PATH_MAX || path[len - 1] == '/')
		return false;
	for (; *path; path++)
		if ((unsigned char)*path <= ' ' || strchr("\"#;\x7f", *path))
			return false;
	return true;
}

/* Whether the text is a port, alone or behind a colon that no address stands before. */
static bool listen_is_port(const char *text, const char **port)
{
	size_t host = strcspn(text, ":/"), digits;

	*port = text[host] == ':' ? text + host + 1 : text;
	digits = strspn(*port, "0123456789");
	return digits && digits <= 5 && !(*port)[digits] && atoi(*port) <= UINT16_MAX &&
	    (*port == text || !host || strspn(text, "0123456789.") < host);
}

static int listen_fail(const char *text, struct conf_error *error)
{
	const char *port;

	if (listen_is_port(text, &port))
		return conf_fail(error,
		    "'%.64s' has %s before its port; write 127.0.0.1:%s to serve this machine, or 0.0.0.0:%s "
		    "to serve others too",
		    SHOWN(text), port != text && *text != ':' ? "a name, not an address," : "no address", port, port);
	if (text[strcspn(text, ", \t")])
		return conf_fail(error, "'%.64s' is more than an address and a port; write a line for each address; "
		    "TLS has lines of its own, tls-listen = 0.0.0.0:443", SHOWN(text));
	return conf_fail(error,
	    "'%.64s' is not an address and a port; write one such as 127.0.0.1:8080, 0.0.0.0:8080, [::1]:8080 or "
	    "unix:/PATH",
	    SHOWN(text));
}

int conf_listen_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	struct conf_listen listen = { 0 };
	char host[INET6_ADDRSTRLEN];

	if (!*value->text && !*row->def)
		return 0;              /* none */
	if (strncmp(value->text, LISTEN_UNIX, sizeof LISTEN_UNIX - 1) == 0) {
		listen.path = (char *)(uintptr_t)value->text + sizeof LISTEN_UNIX - 1;         /* copied below */
		if (!is_socket_path(listen.path))
			return conf_fail(error,
			    "'%.64s' is not the path of a socket; write unix:/PATH of at most %d bytes, such as "
			    "unix:/run/utfeed/utfeed.sock",
			    SHOWN(value->text), CONF_UNIX_PATH_MAX);
	} else if (read_listen(value->text, &listen, host))
		listen.host = host;
	else
		return listen_fail(value->text, error);
	if (listen_has(member, &listen))
		return conf_fail(error, "'%.64s' is given twice; write it once", SHOWN(value->text));
	return listen_append(member, &listen, error);
}

void conf_listen_format(FILE *out, const struct conf_row *row, const void *member)
{
	const struct conf_listen_list *list = member;

	(void)row;
	for (size_t i = 0; i < list->count; i++) {
		const struct conf_listen *listen = &list->items[i];
		if (listen->path)
			fprintf(out, LISTEN_UNIX "%s\n", listen->path);
		else
			fprintf(out, "%s%s%s:%u\n", listen->ipv6 ? "[" : "", listen->host, listen->ipv6 ? "]" : "",
			    listen->port);
	}
}

void conf_listen_clear(void *member)
{
	struct conf_listen_list *list = member;

	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].host);
		free(list->items[i].path);
	}
	free(list->items);
	*list = (struct conf_listen_list){ NULL, 0 };
}
