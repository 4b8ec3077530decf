/* Listening sockets; see sockets.h. */
#include "proxy/server/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/net/backlog.h"
#include "proxy/net/listener.h"
#include "proxy/server/fault_advice.h"
#include "proxy/server/socket_address.h"
#include "proxy/server/worker.h"

static const struct {
	const char *name, *allow;      /* the options that name the addresses, and who may use them */
} kinds[SOCKET_KINDS] = {
	[SOCKET_LISTEN] = { "listen", "client-allow" },
	[SOCKET_TLS_LISTEN] = { "tls-listen", "client-allow" },
	[SOCKET_ADMIN_LISTEN] = { "admin-listen", "admin-allow" },
};

const char *socket_kind_name(enum socket_kind kind)
{
	return kinds[kind].name;
}

static enum socket_kind socket_kind_find(const char *name, size_t len)
{
	enum socket_kind kind = 0;

	while (kind < SOCKET_KINDS && (strlen(kinds[kind].name) != len || memcmp(kinds[kind].name, name, len) != 0))
		kind++;
	return kind;
}

static const struct conf_listen_list *kind_addresses(const struct conf *conf, enum socket_kind kind)
{
	switch (kind) {
	case SOCKET_TLS_LISTEN: return &conf->tls_listen;
	case SOCKET_ADMIN_LISTEN: return &conf->admin_listen;
	default: return &conf->listen;
	}
}

/* ---- sockets that were given ---- */

static int socket_number(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) ? -1 : value;
}

/* What is wrong with a descriptor as a listening socket of ours; NULL: nothing. */
static const char *gift_fault(int fd)
{
	int family = socket_number(fd, SO_DOMAIN);

	if (fcntl(fd, F_GETFD) < 0)
		return "is not open";
	if (family < 0)
		return "is not a socket (systemd.socket(5): ListenStream=)";
	if (family != AF_INET && family != AF_INET6 && family != AF_UNIX)
		return "is neither a TCP nor a Unix socket";
	if (socket_number(fd, SO_TYPE) != SOCK_STREAM)
		return "is not a stream socket (systemd.socket(5): ListenStream=)";
	if (socket_number(fd, SO_ACCEPTCONN) != 1)
		return "does not listen (systemd.socket(5): Accept=no)";
	return NULL;
}

/* Whether the configuration has the address among those of that kind. */
static bool kind_has(const struct conf *conf, enum socket_kind kind, const struct sockaddr_storage *address)
{
	const struct conf_listen_list *list = kind_addresses(conf, kind);
	struct sockaddr_storage configured;

	for (size_t i = 0; i < list->count; i++) {
		socket_address(&configured, &list->items[i]);
		if ((list->items[i].port || list->items[i].path) && socket_address_matches(&configured, address))
			return true;
	}
	return false;
}

/* The kind that the address has by the configuration. If the gift names another, its own counts: a former process knows
 * best, and a service manager's contradicts (-1). */
static int gift_kind(const struct conf *conf, const struct socket_gift *gift, const struct sockaddr_storage *address,
    enum socket_kind *kind)
{
	enum socket_kind named = *kind;
	char text[SOCKET_TEXT_MAX];

	for (enum socket_kind k = 0; k < SOCKET_KINDS; k++) {
		if (!kind_has(conf, k, address))
			continue;
		if (named != SOCKET_UNNAMED && named != k && gift->offer < 0) {
			log_error("%s: %s is an address of %s", gift->from, socket_address_text(text, address),
			    kinds[k].name);
			return -1;
		}
		if (named == SOCKET_UNNAMED)
			*kind = k;
	}
	if (*kind != SOCKET_UNNAMED)
		return 0;
	log_error("%s: %s is not a configured address, and its name is not listen, tls-listen or "
	          "admin-listen (systemd.socket(5): FileDescriptorName=)",
	    gift->from, socket_address_text(text, address));
	return -1;
}

/* The kernel's number of the socket, the same for every descriptor of it; 0: not known. */
static uint64_t socket_cookie(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof cookie;

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) ? 0 : cookie;
}

static bool group_has(const struct socket_group *group, int fd)
{
	uint64_t cookie = socket_cookie(fd);

	for (size_t i = 0; cookie && i < group->n; i++)
		if (socket_cookie(group->fds[i]) == cookie)
			return true;
	return false;
}

/* Adds a group for an address, with no socket in it yet. NULL: logged. */
static struct socket_group *sockets_add_group(struct sockets *sockets, enum socket_kind kind,
    const struct sockaddr_storage *address, socklen_t len)
{
	struct socket_group *grown = reallocarray(sockets->groups, sockets->n + 1, sizeof *grown);

	if (!grown) {
		log_error("listen: out of memory");
		return NULL;
	}
	sockets->groups = grown;
	grown += sockets->n++;
	*grown = (struct socket_group){ .kind = kind, .address = *address, .address_len = len, .offer = -1 };
	return grown;
}

static struct socket_group *sockets_group(struct sockets *sockets, enum socket_kind kind,
    const struct sockaddr_storage *address, socklen_t len)
{
	for (size_t i = 0; i < sockets->n; i++)
		if (sockets->groups[i].kind == kind && socket_address_matches(&sockets->groups[i].address, address))
			return &sockets->groups[i];
	return sockets_add_group(sockets, kind, address, len);
}

/* Owns fd from now on in any case. */
static int group_add(struct socket_group *group, int fd)
{
	int *grown = reallocarray(group->fds, group->n + 1, sizeof *grown);

	if (!grown) {
		log_error("listen: out of memory");
		close(fd);
		return -1;
	}
	group->fds = grown;
	group->fds[group->n++] = fd;
	return 0;
}

/* Takes one descriptor, in any case. */
static int gift_take(struct sockets *sockets, const struct conf *conf, const struct socket_gift *gift, int fd)
{
	const char *fault = gift_fault(fd);
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof address;
	enum socket_kind kind = socket_kind_find(gift->name, gift->name_len);
	struct socket_group *group;

	if (!fault && getsockname(fd, (struct sockaddr *)&address, &len))
		fault = "has no address";
	if (fault)
		log_error("%s: it %s", gift->from, fault);
	if (fault || gift_kind(conf, gift, &address, &kind) || !(group = sockets_group(sockets, kind, &address, len))) {
		close(fd);
		return -1;
	}
	group->held |= gift->held;
	group->offer = gift->offer >= 0 ? gift->offer : group->offer;
	if (group_has(group, fd)) {
		close(fd);
		return 0;
	}
	listener_adopt(fd);
	if (!group->held && address.ss_family == AF_UNIX)
		unix_socket_know(&group->file, ((const struct sockaddr_un *)(const void *)&address)->sun_path);
	return group_add(group, fd);
}

/* A kind that only a later version has stays the former process's. */
int sockets_adopt(struct sockets *sockets, const struct conf *conf, const struct socket_gift *gift)
{
	bool taken = gift->offer < 0 || socket_kind_find(gift->name, gift->name_len) != SOCKET_UNNAMED;
	int status = 0;

	for (size_t i = 0; i < gift->n; i++)
		if (taken && !status)
			status = gift_take(sockets, conf, gift, gift->fds[i]);
		else
			close(gift->fds[i]);
	return status;
}

/* ---- the configured addresses ---- */

/* Binds one socket. With SO_REUSEPORT a second utfeed could bind the port as well: before the first worker's socket a
 * probe without it finds out whether the port is free. */
static int socket_bind_one(const struct socket_group *group, size_t workers)
{
	const struct sockaddr *address = (const struct sockaddr *)&group->address;
	int probe;

	if (workers == 1)
		return listener_bind(address, group->address_len, false);
	if (!group->n) {
		if ((probe = listener_bind(address, group->address_len, false)) < 0)
			return -1;
		close(probe);
	}
	return listener_bind(address, group->address_len, true);
}

static int group_bind_fails(const struct socket_group *group, const struct conf *conf, int fault)
{
	char text[SOCKET_TEXT_MAX];

	log_error("%s: %s: %s%s", conf_place(conf, NULL, kinds[group->kind].name).text,
	    socket_address_text(text, &group->address), strerror(fault),
	    group->address.ss_family == AF_UNIX ? fault_advice_path(fault) : fault_advice_address(fault));
	return -1;
}

/* A Unix socket is one for all workers. */
static int group_bind(struct socket_group *group, const struct conf *conf, size_t workers)
{
	const struct sockaddr_un *un = (const void *)&group->address;
	bool path = group->address.ss_family == AF_UNIX;

	group->bound = group->configured = true;
	while (group->n < (path ? 1 : workers)) {
		int fd = path ? unix_socket_bind(&group->file, SOCK_STREAM, un->sun_path, conf->listen_mode)
		    : socket_bind_one(group, workers);

		if (fd < 0)
			return group_bind_fails(group, conf, errno);
		group->address_len = sizeof group->address;
		if (!path)
			getsockname(fd, (struct sockaddr *)&group->address, &group->address_len);
		if (group_add(group, fd))
			return -1;
	}
	return 0;
}

/* Whether a socket that was given takes the place of the address; if so it is marked. One that stands for any port gets
 * what no other address is. */
static bool sockets_replace(struct sockets *sockets, const struct conf *conf, enum socket_kind kind,
    const struct conf_listen *listen, const struct sockaddr_storage *wanted)
{
	for (size_t i = 0; i < sockets->n; i++) {
		struct socket_group *group = &sockets->groups[i];

		if (group->kind == kind && !group->configured && !group->bound &&
		    socket_address_matches(wanted, &group->address) &&
		    (listen->port || listen->path || !kind_has(conf, kind, &group->address)))
			return group->configured = true;
	}
	return false;
}

/* Finds a socket for each address of that kind, or adds the address. */
static int sockets_match(struct sockets *sockets, const struct conf *conf, enum socket_kind kind)
{
	const struct conf_listen_list *list = kind_addresses(conf, kind);

	for (size_t i = 0; i < list->count; i++) {
		struct sockaddr_storage wanted;
		socklen_t len = socket_address(&wanted, &list->items[i]);
		struct socket_group *group;

		if (sockets_replace(sockets, conf, kind, &list->items[i], &wanted))
			continue;
		if (!(group = sockets_add_group(sockets, kind, &wanted, len)))
			return -1;
		group->bound = true;
	}
	return 0;
}

static void group_free(struct socket_group *group)
{
	for (size_t i = 0; i < group->n; i++)
		close(group->fds[i]);
	free(group->fds);
	group->fds = NULL;
	group->n = 0;
}

/* The former process keeps a socket that is not taken, until it has answered the connections there. */
static void sockets_leave_offers(struct sockets *sockets)
{
	size_t kept = 0;

	for (size_t i = 0; i < sockets->n; i++) {
		struct socket_group *group = &sockets->groups[i];

		if (group->configured || group->bound || group->held || group->offer < 0)
			sockets->groups[kept++] = *group;
		else
			group_free(group);
	}
	sockets->n = kept;
}

/* As the configuration asks it of addresses: whoever opens utfeed to other machines has to say to which. */
static bool group_is_open(const struct socket_group *group, const struct conf *conf)
{
	const struct cidr_list *allow =
	    group->kind == SOCKET_ADMIN_LISTEN ? &conf->admin_allow : &conf->client_allow;
	struct ip ip;

	return !group->configured && socket_address_is_inet(&group->address) &&
	    !conf_where(conf, NULL, kinds[group->kind].allow) &&
	    (!ip_from_sockaddr((const struct sockaddr *)&group->address, &ip) || !cidr_list_contains(allow, &ip));
}

int sockets_check(const struct sockets *sockets, const struct conf *conf)
{
	char text[SOCKET_TEXT_MAX];

	for (size_t i = 0; i < sockets->n; i++) {
		const struct socket_group *group = &sockets->groups[i];

		socket_address_text(text, &group->address);
		if (group_is_open(group, conf)) {
			log_error("%s: %s is open to other machines, and no %s says which may use it; write for "
			          "example %s = 192.168.0.0/16",
			    kinds[group->kind].name, text, kinds[group->kind].allow, kinds[group->kind].allow);
			return -1;
		}
		if (group->kind == SOCKET_TLS_LISTEN && !*conf->tls_listen_cert) {
			log_error("tls-listen: %s: has no certificate; write tls-listen-cert = FILE", text);
			return -1;
		}
	}
	return 0;
}

int sockets_bind(struct sockets *sockets, const struct conf *conf, size_t workers)
{
	bool held = false;

	for (size_t i = 0; i < sockets->n; i++)
		held |= sockets->groups[i].offer < 0 || sockets->groups[i].held;
	/* A socket that a service manager gave replaces the default address, as a configured one does. */
	for (enum socket_kind kind = 0; kind < SOCKET_KINDS; kind++)
		if ((!held || conf_where(conf, NULL, kinds[kind].name)) && sockets_match(sockets, conf, kind))
			return -1;
	sockets_leave_offers(sockets);
	if (sockets_check(sockets, conf))
		return -1;
	for (size_t i = 0; i < sockets->n; i++)
		if (sockets->groups[i].bound &&
		    group_bind(&sockets->groups[i], conf,
		        sockets->groups[i].kind == SOCKET_ADMIN_LISTEN ? 1 : workers))
			return -1;
	return 0;
}

/* ---- workers ---- */

/* Adds the group's sockets of that worker to n others. -1: out of descriptors; n counts what was made. */
static int group_share(const struct socket_group *group, size_t worker, size_t workers, struct worker_listener *out,
    size_t *n)
{
	for (size_t i = worker; i < (group->n > workers ? group->n : workers); i += workers) {
		int fd = fcntl(group->fds[i % group->n], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

		if (fd < 0)
			return -1;
		out[(*n)++] = (struct worker_listener){ fd, group->kind == SOCKET_TLS_LISTEN, &group->given };
	}
	return 0;
}

int sockets_share(const struct sockets *sockets, bool admin, size_t worker, size_t workers,
    struct worker_listener **listeners)
{
	size_t most = 1, n = 0;

	for (size_t i = 0; i < sockets->n; i++)
		most += sockets->groups[i].n / workers + 1;
	if (!(*listeners = calloc(most, sizeof **listeners))) {
		log_error("listen: out of memory");
		return -1;
	}
	for (size_t i = 0; i < sockets->n; i++) {
		if ((sockets->groups[i].kind == SOCKET_ADMIN_LISTEN) != admin ||
		    !group_share(&sockets->groups[i], worker, workers, *listeners, &n))
			continue;
		log_error("listen: %s", strerror(errno));
		while (n)
			close((*listeners)[--n].fd);
		free(*listeners);
		*listeners = NULL;
		return -1;
	}
	return (int)n;
}

bool sockets_have(const struct sockets *sockets, enum socket_kind kind)
{
	for (size_t i = 0; i < sockets->n; i++)
		if (sockets->groups[i].kind == kind)
			return true;
	return false;
}

/* ---- the end ---- */

static bool group_is_shut_here(const struct socket_group *group)
{
	return group->kind != SOCKET_ADMIN_LISTEN && !group->held && !atomic_load(&group->given);
}

void sockets_shut(const struct sockets *sockets)
{
	for (size_t i = 0; i < sockets->n; i++) {
		if (!group_is_shut_here(&sockets->groups[i]))
			continue;
		/* first the file: whoever comes now finds nobody, or the process after this one */
		unix_socket_remove(&sockets->groups[i].file);
		for (size_t k = 0; k < sockets->groups[i].n; k++)
			if (backlog_shut(sockets->groups[i].fds[k]))
				log_warn("a listener cannot be shut (%s): who comes in its last moment is lost",
				    strerror(errno));
	}
}

bool sockets_are_quiet(const struct sockets *sockets)
{
	for (size_t i = 0; i < sockets->n; i++)
		if (group_is_shut_here(&sockets->groups[i]) &&
		    backlog_state((const struct sockaddr *)&sockets->groups[i].address) != BACKLOG_QUIET)
			return false;
	return true;
}

void sockets_close(struct sockets *sockets)
{
	for (size_t i = 0; i < sockets->n; i++)
		group_free(&sockets->groups[i]);
}

/* A process that fails to start does not remove the file of a socket that a former process gave. */
void sockets_free(struct sockets *sockets)
{
	for (size_t i = 0; i < sockets->n; i++)
		if (sockets->groups[i].bound && !sockets->groups[i].held && !atomic_load(&sockets->groups[i].given))
			unix_socket_remove(&sockets->groups[i].file);
	sockets_close(sockets);
	free(sockets->groups);
	*sockets = (struct sockets){ 0 };
}
