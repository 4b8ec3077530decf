/* The look at the places to accept clients on; see preflight_listeners.h. */
#include "proxy/server/preflight_listeners.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/net/unix_socket.h"
#include "proxy/server/socket_address.h"

static const struct listen_option {
	const char *name;
	size_t offset;
} options[] = {
	{ "listen", offsetof(struct conf, listen) },
	{ "tls-listen", offsetof(struct conf, tls_listen) },
	{ "admin-listen", offsetof(struct conf, admin_listen) },
};
enum { OPTIONS = sizeof options / sizeof *options };

static const struct conf_listen_list *list_of(const struct conf *conf, const struct listen_option *option)
{
	return (const void *)((const char *)conf + option->offset);
}

static int place_fails(const struct conf *conf, const struct listen_option *option, const struct conf_listen *l,
    const char *why)
{
	char text[SOCKET_TEXT_MAX];
	struct sockaddr_storage address;

	socket_address(&address, l);
	log_error("%s: %s: %s", conf_place(conf, NULL, option->name).text, socket_address_text(text, &address), why);
	return -1;
}

/* ---- one place ---- */

/* Whether the kernel lets a socket have the address, on any port. 0, or an errno. */
static int address_fault(const struct conf_listen *l)
{
	struct conf_listen any = *l;
	struct sockaddr_storage address;
	socklen_t len;
	int fd, fault;

	any.port = 0;
	len = socket_address(&address, &any);
	if ((fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
		return errno == EAFNOSUPPORT ? errno : 0;
	fault = bind(fd, (const struct sockaddr *)&address, len) ? errno : 0;
	close(fd);
	return fault;
}

/* A service manager may give a socket of an address that this machine does not have yet. */
static int place_check(const struct conf *conf, const struct listen_option *option, const struct conf_listen *l)
{
	int fault = 0;

	if (l->path)
		fault = unix_socket_fault(l->path);
	else if (!getenv("LISTEN_FDS"))
		fault = address_fault(l);
	return fault ? place_fails(conf, option, l, strerror(fault)) : 0;
}

/* ---- two places ---- */

static bool is_any(const struct conf_listen *l)
{
	return !strcmp(l->host, "0.0.0.0") || !strcmp(l->host, "::");
}

/* Port 0 takes one that nobody has. The address of all takes the port of each. */
static bool places_meet(const struct conf_listen *a, const struct conf_listen *b)
{
	if (a->path || b->path)
		return a->path && b->path && !strcmp(a->path, b->path);
	return a->port && a->port == b->port && a->ipv6 == b->ipv6 &&
	    (is_any(a) || is_any(b) || !strcmp(a->host, b->host));
}

static int place_is_taken(const struct conf *conf, const struct listen_option *option, const struct conf_listen *l,
    const char *by)
{
	char why[400];

	snprintf(why, sizeof why, "is taken already, at %s", conf_place(conf, NULL, by).text);
	return place_fails(conf, option, l, why);
}

/* -1: an earlier place takes it (logged). */
static int place_is_free(const struct conf *conf, size_t option, size_t item)
{
	const struct conf_listen *l = &list_of(conf, &options[option])->items[item];

	for (size_t k = 0; k <= option; k++) {
		const struct conf_listen_list *list = list_of(conf, &options[k]);

		for (size_t i = 0; i < (k == option ? item : list->count); i++)
			if (places_meet(&list->items[i], l))
				return place_is_taken(conf, &options[option], l, options[k].name);
	}
	if (!l->path || strcmp(l->path, conf->takeover_socket) != 0)
		return 0;
	return place_is_taken(conf, &options[option], l, "takeover-socket");
}

int preflight_listeners(const struct conf *conf)
{
	int status = 0;

	for (size_t option = 0; option < OPTIONS; option++) {
		const struct conf_listen_list *list = list_of(conf, &options[option]);

		for (size_t i = 0; i < list->count; i++)
			if (place_check(conf, &options[option], &list->items[i]) || place_is_free(conf, option, i))
				status = -1;
	}
	return status;
}
