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
struct lookup {
	LIST_ENTRY(lookup) link;
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
	LIST_HEAD(, lookup) lookups;
};

struct resolve {
	LIST_ENTRY(resolve) link;
	struct resolver *resolver;
	struct lookup *lookup;         /* NULL: answers are final */
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
static bool watched_look(struct watched *w)
{
	struct stat now = { 0 };
	int fd = open(w->path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && (fstat(fd, &now) || !S_ISREG(now.st_mode) || now.st_size > RESOLVE_FILE_MAX)) {
		close(fd);
		fd = -1;
		memset(&now, 0, sizeof now);
	}
	if (now.st_mtim.tv_sec == w->mtime.tv_sec && now.st_mtim.tv_nsec == w->mtime.tv_nsec &&
	    now.st_ino == w->inode && now.st_size == w->size) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	w->mtime = now.st_mtim;
	w->inode = now.st_ino;
	w->size = now.st_size;
	free(w->text);
	w->text = NULL;
	if (fd >= 0) {
		w->text = file_text(fd, now.st_size);
		close(fd);
	}
	return true;
}

/* Where no new channel can be made, the former one stays in use. */
static int resolver_configure(struct resolver *r)
{
	struct resolve_ares *ares = resolve_ares_new(r->loop, r->servers, r->resolv_conf.path);

	if (!ares)
		return -1;
	r->former = r->ares;
	r->ares = ares;
	dns_search_read(&r->search, r->resolv_conf.text, getenv("LOCALDOMAIN"), getenv("RES_OPTIONS"));
	dns_cache_clear(r->cache);
	return 0;
}

static void resolver_look(struct resolver *r)
{
	uint64_t now = loop_now_ms(r->loop);

	if (now < r->look_ms)
		return;
	r->look_ms = now + RESOLVE_LOOK_MS;
	watched_look(&r->hosts);
	if (r->former && !resolve_ares_busy(r->former))
		resolve_ares_free(&r->former);
	if (!r->former && watched_look(&r->resolv_conf) && !resolver_configure(r))
		log_info("resolver: %s changed and was read again", r->resolv_conf.path);
}

struct resolver *resolver_new(struct loop *l, const struct resolver_options *o)
{
	struct resolver *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->loop = l;
	r->servers = o->servers;
	r->resolv_conf.path = o->resolv_conf;
	r->hosts.path = o->hosts;
	LIST_INIT(&r->lookups);
	watched_look(&r->hosts);
	watched_look(&r->resolv_conf);
	if (!(r->cache = dns_cache_new(RESOLVE_CACHE_NAMES, o->absent_ms)) || resolver_configure(r))
		resolver_free(&r);
	return r;
}

void resolver_free(struct resolver **rp)
{
	struct resolver *r = *rp;
	struct lookup *q;

	if (!r)
		return;
	resolve_ares_free(&r->ares);
	resolve_ares_free(&r->former);
	while ((q = LIST_FIRST(&r->lookups))) {
		LIST_REMOVE(q, link);
		free(q);
	}
	dns_cache_free(&r->cache);
	free(r->hosts.text);
	free(r->resolv_conf.text);
	free(r);
	*rp = NULL;
}

enum dns_family resolver_first_family(struct resolver *r)
{
	return loop_now_ms(r->loop) < r->ipv4_first_until_ms ? DNS_IPV4 : DNS_IPV6;
}

void resolver_ipv6_is_slow(struct resolver *r)
{
	r->ipv4_first_until_ms = loop_now_ms(r->loop) + RESOLVE_IPV4_FIRST_MS;
}

/* ---- delivering ---- */

static void result_fill(struct resolve_result *out, const struct resolve *q, enum dns_family f)
{
	const struct dns_answer *a = &q->answers.of[f];

	out->family = f;
	out->status = a->status;
	out->reason = a->reason ? a->reason : "";
	out->n = a->n;
	for (size_t i = 0; i < a->n; i++) {
		struct resolve_address *to = &out->addresses[i];

		memset(&to->address, 0, sizeof to->address);
		if (f == DNS_IPV4) {
			struct sockaddr_in *in = (struct sockaddr_in *)&to->address;

			in->sin_family = AF_INET;
			in->sin_port = htons(q->port);
			memcpy(&in->sin_addr, a->address[i], sizeof in->sin_addr);
			to->len = sizeof *in;
		} else {
			struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&to->address;

			in6->sin6_family = AF_INET6;
			in6->sin6_port = htons(q->port);
			memcpy(&in6->sin6_addr, a->address[i], sizeof in6->sin6_addr);
			to->len = sizeof *in6;
		}
	}
}

static void resolve_deliver(struct task *t)
{
	struct resolve *q = container_of(t, struct resolve, task);
	bool gone = false;

	q->gone = &gone;
	for (int f = 0; f < DNS_FAMILIES; f++) {
		struct resolve_result result;

		if (q->given[f] || q->answers.of[f].status == DNS_PENDING)
			continue;
		q->given[f] = true;
		result_fill(&result, q, (enum dns_family)f);
		result.last = q->given[DNS_IPV6] && q->given[DNS_IPV4];
		q->done(q->arg, &result);
		if (gone)
			return;
		if (result.last) {
			free(q);
			return;
		}
	}
	q->gone = NULL;
}

/* ---- looking up ---- */

static void lookup_publish(struct lookup *l, bool final)
{
	struct resolve *q, *next;

	for (q = LIST_FIRST(&l->waiters); q; q = next) {
		next = LIST_NEXT(q, link);
		q->answers = l->answers;
		loop_defer(l->resolver->loop, &q->task);
		if (final) {
			LIST_REMOVE(q, link);
			q->lookup = NULL;
		}
	}
}

/* Whether a family has addresses. Then no other candidate is asked for, and its answer may be delivered before that of
 * the other family. */
static bool lookup_found(const struct lookup *l)
{
	return l->answers.of[DNS_IPV6].status == DNS_OK || l->answers.of[DNS_IPV4].status == DNS_OK;
}

static void lookup_ask(struct lookup *l);

/* Called after each answer, once both questions were asked. */
static void lookup_go_on(struct lookup *l)
{
	const struct dns_answer *a = l->answers.of;

	if (a[DNS_IPV6].status == DNS_PENDING || a[DNS_IPV4].status == DNS_PENDING) {
		if (lookup_found(l))
			lookup_publish(l, false);
		return;
	}
	if (a[DNS_IPV6].status == DNS_NOT_FOUND && a[DNS_IPV4].status == DNS_NOT_FOUND &&
	    l->candidate + 1 < l->candidates) {
		l->candidate++;
		lookup_ask(l);
		return;
	}
	dns_cache_put(l->resolver->cache, l->name, &l->answers, loop_now_ms(l->resolver->loop));
	lookup_publish(l, true);
	LIST_REMOVE(l, link);
	free(l);
}

static void lookup_on_answer(void *arg, enum dns_family f, const struct dns_answer *answer)
{
	struct lookup *l = arg;

	l->answers.of[f] = *answer;
	if (!l->asking)
		lookup_go_on(l);
}

static void lookup_ask(struct lookup *l)
{
	static const struct dns_answer too_long = { .status = DNS_NOT_FOUND, .reason = "name too long" };
	char name[DNS_NAME_MAX];

	memset(&l->answers, 0, sizeof l->answers);
	l->asking = true;
	for (int f = 0; f < DNS_FAMILIES; f++)         /* AAAA before A: RFC 8305 section 3 */
		if (dns_search_name(&l->search, l->name, l->candidate, name))
			resolve_ares_ask(l->resolver->ares, name, (enum dns_family)f, lookup_on_answer, l);
		else
			l->answers.of[f] = too_long;
	l->asking = false;
	lookup_go_on(l);
}

static struct lookup *lookup_find(struct resolver *r, const char *name)
{
	struct lookup *l;

	LIST_FOREACH(l, &r->lookups, link)
		if (!strcmp(l->name, name))
			return l;
	return NULL;
}

static struct lookup *lookup_new(struct resolver *r, const char *name)
{
	struct lookup *l = calloc(1, sizeof *l);

	if (!l)
		return NULL;
	l->resolver = r;
	l->search = r->search;
	l->candidates = dns_search_count(&l->search, name);
	LIST_INIT(&l->waiters);
	snprintf(l->name, sizeof l->name, "%s", name);
	LIST_INSERT_HEAD(&r->lookups, l, link);
	return l;
}

/* Answers that need no question: for an address as text, a name in the hosts file, an impossible name, or a name whose
 * former answer is still valid. */
static bool resolve_known(struct resolve *q, const char *host)
{
	static const struct dns_answer absent = { .status = DNS_NOT_FOUND, .reason = "address literal" },
		bad = { .status = DNS_NOT_FOUND, .reason = "misformatted domain name" };
	struct dns_answers *a = &q->answers;
	const struct dns_answers *held;
	uint8_t address[DNS_ADDRESS_BYTES];

	for (int f = 0; f < DNS_FAMILIES; f++)
		if (inet_pton(f == DNS_IPV4 ? AF_INET : AF_INET6, host, address) == 1) {
			a->of[DNS_IPV4] = a->of[DNS_IPV6] = absent;
			a->of[f] = (struct dns_answer){ .status = DNS_OK, .n = 1 };
			memcpy(a->of[f].address[0], address, sizeof address);
			return true;
		}
	if (!*host || *host == '.' || strstr(host, "..") || strlen(host) >= DNS_NAME_MAX - 1) {
		a->of[DNS_IPV4] = a->of[DNS_IPV6] = bad;
		return true;
	}
	resolver_look(q->resolver);
	if (dns_hosts_find(q->resolver->hosts.text, host, a))
		return true;
	if (!(held = dns_cache_get(q->resolver->cache, host, loop_now_ms(q->resolver->loop))))
		return false;
	*a = *held;
	return true;
}

struct resolve *resolve_start(struct resolver *r, const char *host, uint16_t port, resolve_done_f *done, void *arg)
{
	struct resolve *q = calloc(1, sizeof *q);
	struct lookup *l;

	if (!q)
		return NULL;
	q->resolver = r;
	q->task.run = resolve_deliver;
	q->done = done;
	q->arg = arg;
	q->port = port;
	if (resolve_known(q, host)) {
		loop_defer(r->loop, &q->task);
		return q;
	}
	if ((l = lookup_find(r, host))) {
		q->lookup = l;
		LIST_INSERT_HEAD(&l->waiters, q, link);
		if (lookup_found(l)) {
			q->answers = l->answers;
			loop_defer(r->loop, &q->task);
		}
		return q;
	}
	if (!(l = lookup_new(r, host))) {
		free(q);
		return NULL;
	}
	stats_add(loop_stats(r->loop), STAT_RESOLVES, 1);
	q->lookup = l;
	LIST_INSERT_HEAD(&l->waiters, q, link);
	lookup_ask(l);
	return q;
}

void resolve_cancel(struct resolve **qp)
{
	struct resolve *q = *qp;

	*qp = NULL;
	if (!q)
		return;
	if (q->gone)
		*q->gone = true;
	if (q->lookup)
		LIST_REMOVE(q, link);
	loop_forget(q->resolver->loop, &q->task);
	assert(task_is_out(&q->task));
	free(q);
}
