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

static int place_fails(const struct conf *conf, const struct listen_option *option, const struct conf_listen *place,
    const char *why)
{
	char text[SOCKET_TEXT_MAX];
	struct sockaddr_storage address;

	socket_address(&address, place);
	log_error("%s: %s: %s", conf_place(conf, NULL, option->name).text, socket_address_text(text, &address), why);
	return -1;
}

/* ---- one place ---- */

/* Whether the kernel lets a socket have the address, on any port. 0, or an errno. */
static int address_fault(const struct conf_listen *place)
{
	struct conf_listen any = *place;
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
static int place_check(const struct conf *conf, const struct listen_option *option, const struct conf_listen *place)
{
	int fault = 0;

	if (place->path)
		fault = unix_socket_fault(place->path);
	else if (!getenv("LISTEN_FDS"))
		fault = address_fault(place);
	return fault ? place_fails(conf, option, place, strerror(fault)) : 0;
}

/* ---- two places ---- */

static bool is_any(const struct conf_listen *place)
{
	return !strcmp(place->host, "0.0.0.0") || !strcmp(place->host, "::");
}

/* Port 0 takes one that nobody has. The address of all takes the port of each. */
static bool places_meet(const struct conf_listen *place, const struct conf_listen *other)
{
	if (place->path || other->path)
		return place->path && other->path && !strcmp(place->path, other->path);
	return place->port && place->port == other->port && place->ipv6 == other->ipv6 &&
	    (is_any(place) || is_any(other) || !strcmp(place->host, other->host));
}

static int place_is_taken(const struct conf *conf, const struct listen_option *option, const struct conf_listen *place,
    const char *by)
{
	char why[400];

	snprintf(why, sizeof why, "is taken already, at %s", conf_place(conf, NULL, by).text);
	return place_fails(conf, option, place, why);
}

/* -1: an earlier place takes it (logged). */
static int place_is_free(const struct conf *conf, size_t option, size_t item)
{
	const struct conf_listen *place = &list_of(conf, &options[option])->items[item];

	for (size_t k = 0; k <= option; k++) {
		const struct conf_listen_list *list = list_of(conf, &options[k]);

		for (size_t i = 0; i < (k == option ? item : list->count); i++)
			if (places_meet(&list->items[i], place))
				return place_is_taken(conf, &options[option], place, options[k].name);
	}
	if (!place->path || strcmp(place->path, conf->takeover_socket) != 0)
		return 0;
	return place_is_taken(conf, &options[option], place, "takeover-socket");
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
