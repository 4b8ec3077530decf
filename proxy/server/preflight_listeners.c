/* The look at the places to accept clients on; see preflight_listeners.h. */
#include "proxy/server/preflight_listeners.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/net/unix_socket.h"
#include "proxy/server/fault_advice.h"
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
    const char *why, const char *advice)
{
	char text[SOCKET_TEXT_MAX];
	struct sockaddr_storage address;

	socket_address(&address, place);
	log_error("%s: %s: %s%s", conf_place(conf, NULL, option->name).text, socket_address_text(text, &address), why,
	    advice);
	return -1;
}

/* ---- one place ---- */

/* Whether the kernel lets a socket have the address with that port. 0, or an errno. */
static int address_fault(const struct conf_listen *place, uint16_t port)
{
	struct conf_listen asked = *place;
	struct sockaddr_storage address;
	int fd, on = 1;

	asked.port = port;
	socklen_t len = socket_address(&address, &asked);
	if ((fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
		return errno == EAFNOSUPPORT ? errno : 0;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (address.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	int fault = bind(fd, (const struct sockaddr *)&address, len) ? errno : 0;
	close(fd);
	return fault;
}

/* An operator may check a file beside the utfeed that the file is for, and as another user. So a port that this process
 * cannot have is not a mistake of the file. At a start binding fails. */
static void warn_of_port(const struct conf *conf, const struct listen_option *option, const struct conf_listen *place)
{
	bool alone = conf->action == CONF_CHECK_CONFIG && !conf->against && !*conf->takeover_socket;
	static const char in_use[] = ", perhaps by the utfeed that this is for; if not, stop the process that listens "
		"there (ss -ltnp shows it), or write another port";
	int fault = alone && place->port ? address_fault(place, place->port) : 0;
	char text[SOCKET_TEXT_MAX];
	struct sockaddr_storage address;

	if (!fault)
		return;
	socket_address(&address, place);
	log_warn("%s: %s: %s%s", conf_place(conf, NULL, option->name).text, socket_address_text(text, &address),
	    strerror(fault), fault == EADDRINUSE ? in_use : fault_advice_address(fault));
}

/* A service manager may give a socket of an address that this machine does not have yet. */
static int place_check(const struct conf *conf, const struct listen_option *option, const struct conf_listen *place)
{
	int fault = 0;

	if (place->path)
		fault = unix_socket_fault(place->path);
	else if (!conf->inherits)
		fault = address_fault(place, 0);
	if (fault)
		return place_fails(conf, option, place, strerror(fault), place->path ? fault_advice_path(fault) :
			fault_advice_address(fault));
	if (!place->path && !conf->inherits)
		warn_of_port(conf, option, place);
	return 0;
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

	snprintf(why, sizeof why, "is taken already, %s %s", conf_where(conf, NULL, by) ? "at" : "by the default of",
	    conf_place(conf, NULL, by).text);
	return place_fails(conf, option, place, why, place->path ? "; write another path" : "; write another port");
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
