/* Name lookups; see resolve.h. */
#include "proxy/dns/resolve.h"

#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proxy/base/container_of.h"
#include "proxy/base/log.h"
#include "proxy/dns/dns_cache.h"
#include "proxy/dns/dns_files.h"
#include "proxy/dns/resolve_ares.h"
#include "proxy/net/loop.h"

enum { RESOLVE_CACHE_NAMES = 1024, RESOLVE_FILE_MAX = 16 << 20, RESOLVE_LOOK_MS = 1000,
	RESOLVE_IPV4_FIRST_MS = 600 * 1000 };

/* The text of a file, and the properties that tell whether the file has changed. */
struct watched {
	const char *path;
	struct timespec mtime;
	ino_t inode;
	off_t size;
	char *text;                    /* NULL: the file cannot be read */
};

/* The lookup of one name, for all who asked for it. */
struct query {
	LIST_ENTRY(query) link;
	struct resolver *resolver;
	size_t candidate, candidates;  /* of the search list */
	bool asking;                   /* questions are being asked; their answers may come at once */
	struct dns_search search;
	struct dns_answers answers;
	LIST_HEAD(, resolve) waiters;
	char name[DNS_NAME_MAX];
};

struct resolver {
	struct loop *loop;
	const char *servers;
	struct resolve_ares *ares;
	struct resolve_ares *former;   /* the channel of the former configuration, until it has answered */
	struct watched resolv_conf, hosts;
	struct dns_search search;
	struct dns_cache *cache;
	uint64_t look_ms;              /* when to look again whether the files have changed */
	uint64_t ipv4_first_until_ms;
	LIST_HEAD(, query) queries;
};

struct resolve {
	LIST_ENTRY(resolve) link;
	struct resolver *resolver;
	struct query *query;           /* NULL: answers are final */
	struct task task;              /* delivers the results from the loop */
	resolve_done_f *done;
	void *arg;
	uint16_t port;
	bool given[DNS_FAMILIES];
	bool *gone;                    /* set to true when done() cancels */
	struct dns_answers answers;
};

/* ---- the system's files ---- */

static char *file_text(int fd, off_t size)
{
	size_t len = 0, cap = (size_t)size;
	char *text = malloc(cap + 1);
	ssize_t n;

	while (text && len < cap && (n = read(fd, text + len, cap - len)) > 0)
		len += (size_t)n;
	if (text)
		text[len] = '\0';
	return text;
}

/* True: the file has changed, and text is the new one. */
static bool watched_look(struct watched *watched)
{
	struct stat now = { 0 };
	int fd = open(watched->path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && (fstat(fd, &now) || !S_ISREG(now.st_mode) || now.st_size > RESOLVE_FILE_MAX)) {
		close(fd);
		fd = -1;
		memset(&now, 0, sizeof now);
	}
	if (now.st_mtim.tv_sec == watched->mtime.tv_sec && now.st_mtim.tv_nsec == watched->mtime.tv_nsec &&
	    now.st_ino == watched->inode && now.st_size == watched->size) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	watched->mtime = now.st_mtim;
	watched->inode = now.st_ino;
	watched->size = now.st_size;
	free(watched->text);
	watched->text = NULL;
	if (fd >= 0) {
		watched->text = file_text(fd, now.st_size);
		close(fd);
	}
	return true;
}

/* Where no new channel can be made, the former one stays in use. */
static int resolver_configure(struct resolver *resolver)
{
	struct resolve_ares *ares = resolve_ares_new(resolver->loop, resolver->servers, resolver->resolv_conf.path);

	if (!ares)
		return -1;
	resolver->former = resolver->ares;
	resolver->ares = ares;
	dns_search_read(&resolver->search, resolver->resolv_conf.text, getenv("LOCALDOMAIN"), getenv("RES_OPTIONS"));
	dns_cache_clear(resolver->cache);
	return 0;
}

static void resolver_look(struct resolver *resolver)
{
	uint64_t now = loop_now_ms(resolver->loop);

	if (now < resolver->look_ms)
		return;
	resolver->look_ms = now + RESOLVE_LOOK_MS;
	watched_look(&resolver->hosts);
	if (resolver->former && !resolve_ares_busy(resolver->former))
		resolve_ares_free(&resolver->former);
	if (!resolver->former && watched_look(&resolver->resolv_conf) && !resolver_configure(resolver))
		log_info("resolver: %s changed and was read again", resolver->resolv_conf.path);
}

struct resolver *resolver_new(struct loop *loop, const struct resolver_options *options)
{
	struct resolver *resolver = calloc(1, sizeof *resolver);

	if (!resolver)
		return NULL;
	resolver->loop = loop;
	resolver->servers = options->servers;
	resolver->resolv_conf.path = options->resolv_conf;
	resolver->hosts.path = options->hosts;
	LIST_INIT(&resolver->queries);
	watched_look(&resolver->hosts);
	watched_look(&resolver->resolv_conf);
	if (!(resolver->cache = dns_cache_new(RESOLVE_CACHE_NAMES)) || resolver_configure(resolver))
		resolver_free(&resolver);
	return resolver;
}

void resolver_free(struct resolver **rp)
{
	struct resolver *resolver = *rp;
	struct query *query;

	if (!resolver)
		return;
	resolve_ares_free(&resolver->ares);
	resolve_ares_free(&resolver->former);
	while ((query = LIST_FIRST(&resolver->queries))) {
		LIST_REMOVE(query, link);
		free(query);
	}
	dns_cache_free(&resolver->cache);
	free(resolver->hosts.text);
	free(resolver->resolv_conf.text);
	free(resolver);
	*rp = NULL;
}

enum dns_family resolver_first_family(struct resolver *resolver)
{
	return loop_now_ms(resolver->loop) < resolver->ipv4_first_until_ms ? DNS_IPV4 : DNS_IPV6;
}

void resolver_ipv6_is_slow(struct resolver *resolver)
{
	resolver->ipv4_first_until_ms = loop_now_ms(resolver->loop) + RESOLVE_IPV4_FIRST_MS;
}

/* ---- delivering ---- */

static void result_fill(struct resolve_result *out, const struct resolve *resolve, enum dns_family f)
{
	const struct dns_answer *answer = &resolve->answers.of[f];

	out->family = f;
	out->status = answer->status;
	out->reason = answer->reason ? answer->reason : "";
	out->n = answer->n;
	for (size_t i = 0; i < answer->n; i++) {
		struct resolve_address *to = &out->addresses[i];

		memset(&to->address, 0, sizeof to->address);
		if (f == DNS_IPV4) {
			struct sockaddr_in *in = (struct sockaddr_in *)&to->address;

			in->sin_family = AF_INET;
			in->sin_port = htons(resolve->port);
			memcpy(&in->sin_addr, answer->address[i], sizeof in->sin_addr);
			to->len = sizeof *in;
		} else {
			struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&to->address;

			in6->sin6_family = AF_INET6;
			in6->sin6_port = htons(resolve->port);
			memcpy(&in6->sin6_addr, answer->address[i], sizeof in6->sin6_addr);
			to->len = sizeof *in6;
		}
	}
}

static void resolve_deliver(struct task *task)
{
	struct resolve *resolve = container_of(task, struct resolve, task);
	bool gone = false;

	resolve->gone = &gone;
	for (int f = 0; f < DNS_FAMILIES; f++) {
		struct resolve_result result;

		if (resolve->given[f] || resolve->answers.of[f].status == DNS_PENDING)
			continue;
		resolve->given[f] = true;
		result_fill(&result, resolve, (enum dns_family)f);
		result.last = resolve->given[DNS_IPV6] && resolve->given[DNS_IPV4];
		resolve->done(resolve->arg, &result);
		if (gone)
			return;
		if (result.last) {
			free(resolve);
			return;
		}
	}
	resolve->gone = NULL;
}

/* ---- looking up ---- */

static void query_publish(struct query *query, bool final)
{
	struct resolve *resolve, *next;

	for (resolve = LIST_FIRST(&query->waiters); resolve; resolve = next) {
		next = LIST_NEXT(resolve, link);
		resolve->answers = query->answers;
		loop_defer(query->resolver->loop, &resolve->task);
		if (final) {
			LIST_REMOVE(resolve, link);
			resolve->query = NULL;
		}
	}
}

/* Whether a family has addresses. Then no other candidate is asked for, and its answer may be delivered before that of
 * the other family. */
static bool query_found(const struct query *query)
{
	return query->answers.of[DNS_IPV6].status == DNS_OK || query->answers.of[DNS_IPV4].status == DNS_OK;
}

static void query_ask(struct query *query);

/* Called after each answer, once both questions were asked. */
static void query_go_on(struct query *query)
{
	const struct dns_answer *answer = query->answers.of;

	if (answer[DNS_IPV6].status == DNS_PENDING || answer[DNS_IPV4].status == DNS_PENDING) {
		if (query_found(query))
			query_publish(query, false);
		return;
	}
	if (answer[DNS_IPV6].status == DNS_NOT_FOUND && answer[DNS_IPV4].status == DNS_NOT_FOUND &&
	    query->candidate + 1 < query->candidates) {
		query->candidate++;
		query_ask(query);
		return;
	}
	dns_cache_put(query->resolver->cache, query->name, &query->answers, loop_now_ms(query->resolver->loop));
	query_publish(query, true);
	LIST_REMOVE(query, link);
	free(query);
}

static void query_on_answer(void *arg, enum dns_family f, const struct dns_answer *answer)
{
	struct query *query = arg;

	query->answers.of[f] = *answer;
	if (!query->asking)
		query_go_on(query);
}

static void query_ask(struct query *query)
{
	static const struct dns_answer too_long = { .status = DNS_NOT_FOUND, .reason = "name too long" };
	char name[DNS_NAME_MAX];

	memset(&query->answers, 0, sizeof query->answers);
	query->asking = true;
	for (int f = 0; f < DNS_FAMILIES; f++)         /* AAAA before A: RFC 8305 section 3 */
		if (dns_search_name(&query->search, query->name, query->candidate, name))
			resolve_ares_ask(query->resolver->ares, name, (enum dns_family)f, query_on_answer, query);
		else
			query->answers.of[f] = too_long;
	query->asking = false;
	query_go_on(query);
}

static struct query *query_find(struct resolver *resolver, const char *name)
{
	struct query *query;

	LIST_FOREACH(query, &resolver->queries, link)
		if (!strcmp(query->name, name))
			return query;
	return NULL;
}

static struct query *query_new(struct resolver *resolver, const char *name)
{
	struct query *query = calloc(1, sizeof *query);

	if (!query)
		return NULL;
	query->resolver = resolver;
	query->search = resolver->search;
	query->candidates = dns_search_count(&query->search, name);
	LIST_INIT(&query->waiters);
	snprintf(query->name, sizeof query->name, "%s", name);
	LIST_INSERT_HEAD(&resolver->queries, query, link);
	return query;
}

/* Answers that need no question: for an address as text, a name in the hosts file, an impossible name, or a name whose
 * former answer is still valid. */
static bool resolve_known(struct resolve *resolve, const char *host)
{
	static const struct dns_answer absent = { .status = DNS_NOT_FOUND, .reason = "address literal" },
		bad = { .status = DNS_NOT_FOUND, .reason = "misformatted domain name" };
	struct dns_answers *answers = &resolve->answers;
	const struct dns_answers *held;
	uint8_t address[DNS_ADDRESS_BYTES];

	for (int f = 0; f < DNS_FAMILIES; f++)
		if (inet_pton(f == DNS_IPV4 ? AF_INET : AF_INET6, host, address) == 1) {
			answers->of[DNS_IPV4] = answers->of[DNS_IPV6] = absent;
			answers->of[f] = (struct dns_answer){ .status = DNS_OK, .n = 1 };
			memcpy(answers->of[f].address[0], address, sizeof address);
			return true;
		}
	if (!*host || *host == '.' || strstr(host, "..") || strlen(host) >= DNS_NAME_MAX - 1) {
		answers->of[DNS_IPV4] = answers->of[DNS_IPV6] = bad;
		return true;
	}
	resolver_look(resolve->resolver);
	if (dns_hosts_find(resolve->resolver->hosts.text, host, answers))
		return true;
	if (!(held = dns_cache_get(resolve->resolver->cache, host, loop_now_ms(resolve->resolver->loop))))
		return false;
	*answers = *held;
	return true;
}

struct resolve *resolve_start(struct resolver *resolver, const char *host, uint16_t port, resolve_done_f *done,
    void *arg)
{
	struct resolve *resolve = calloc(1, sizeof *resolve);
	struct query *query;

	if (!resolve)
		return NULL;
	resolve->resolver = resolver;
	resolve->task.run = resolve_deliver;
	resolve->done = done;
	resolve->arg = arg;
	resolve->port = port;
	if (resolve_known(resolve, host)) {
		loop_defer(resolver->loop, &resolve->task);
		return resolve;
	}
	if ((query = query_find(resolver, host))) {
		resolve->query = query;
		LIST_INSERT_HEAD(&query->waiters, resolve, link);
		if (query_found(query)) {
			resolve->answers = query->answers;
			loop_defer(resolver->loop, &resolve->task);
		}
		return resolve;
	}
	if (!(query = query_new(resolver, host))) {
		free(resolve);
		return NULL;
	}
	stats_add(loop_stats(resolver->loop), STAT_RESOLVES, 1);
	resolve->query = query;
	LIST_INSERT_HEAD(&query->waiters, resolve, link);
	query_ask(query);
	return resolve;
}

void resolve_cancel(struct resolve **qp)
{
	struct resolve *resolve = *qp;

	*qp = NULL;
	if (!resolve)
		return;
	if (resolve->gone)
		*resolve->gone = true;
	if (resolve->query)
		LIST_REMOVE(resolve, link);
	loop_forget(resolve->resolver->loop, &resolve->task);
	assert(task_is_out(&resolve->task));
	free(resolve);
}
