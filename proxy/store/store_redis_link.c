/* See store_redis_link.h. */
#include "proxy/store/store_redis_link.h"

#include <event2/event.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "proxy/base/container_of.h"
#include "proxy/base/log.h"

#define NO_MASTER "Sentinel does not know the master"

/* Until it is connected again, this process does not hear of purges: it tries often. */
enum { RETRY_FIRST_MS = 100, RETRY_MAX_MS = 1000, HOPS_MAX = 5 };

/* The adapter between hiredis and our loop: hiredis asks to be told once when its socket is ready. */

static void link_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct redis_link *link = arg;

	(void)fd, (void)what;
	loop_enter(link->loop, (loop_callback *)link_on_readable);
	redisAsyncHandleRead(link->connection);
	if (link->connection && redis_is_too_much(link->connection))
		redis_link_drop(link, "it answers without end");
}

static void link_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct redis_link *link = arg;

	(void)fd, (void)what;
	loop_enter(link->loop, (loop_callback *)link_on_writable);
	redisAsyncHandleWrite(link->connection);
}

static void add_read(void *arg) { event_add(((struct redis_link *)arg)->readable, NULL); }
static void del_read(void *arg) { event_del(((struct redis_link *)arg)->readable); }
static void add_write(void *arg) { event_add(((struct redis_link *)arg)->writable, NULL); }
static void del_write(void *arg) { event_del(((struct redis_link *)arg)->writable); }

static void cleanup_events(void *arg)
{
	struct redis_link *link = arg;

	if (link->readable)
		event_free(link->readable);
	if (link->writable)
		event_free(link->writable);
	link->readable = link->writable = NULL;
}

static int link_attach(struct redis_link *link, redisAsyncContext *ac)
{
	struct event_base *base = loop_base(link->loop);

	ac->data = link;
	ac->ev.data = link;
	ac->ev.addRead = add_read;
	ac->ev.delRead = del_read;
	ac->ev.addWrite = add_write;
	ac->ev.delWrite = del_write;
	ac->ev.cleanup = cleanup_events;
	link->readable = event_new(base, ac->c.fd, EV_READ, link_on_readable, link);
	link->writable = event_new(base, ac->c.fd, EV_WRITE, link_on_writable, link);
	return link->readable && link->writable ? 0 : -1;
}

void redis_warn(const char *what, const char *why)
{
	char text[256];
	size_t n = 0;

	for (; why[n] && n + 1 < sizeof text; n++)
		text[n] = why[n] >= ' ' && why[n] <= '~' ? why[n] : '?';
	text[n] = '\0';
	log_warn("redis store: %s; %s", text, what);
}

static const struct conf_redis *link_where(const struct redis_link *link)
{
	return link->access->settings.where;
}

/* Names the correction for an error of a server, or is empty. */
static const char *link_advice(const char *why)
{
	static const struct { const char *begin, *advice; } rows[] = {
		{ "NOAUTH", "; write cache-redis-user and cache-redis-password" },
		{ "WRONGPASS", "; write another cache-redis-user or cache-redis-password" },
		{ "ERR AUTH", "; leave cache-redis-password out" },
		{ "NOPERM", "; give that user the commands that utfeed-cache(7) lists under Redis" },
		{ "ERR unknown command 'SENTINEL'", "; name Sentinels, or write cache-redis = HOST:PORT" },
		{ NO_MASTER, "; write the name of its line 'sentinel monitor' before the @ of cache-redis" },
		{ "Connection refused", "; start that server, or change cache-redis" },
		{ "No such file or directory", "; start that server, or write another path as cache-redis" },
		{ "no answer in time", "; let that server answer sooner, or write a longer cache-redis-timeout" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (!strncmp(why, rows[i].begin, strlen(rows[i].begin)))
			return rows[i].advice;
	return "";
}

/* Logs why a server is away, once for all links. */
static void link_complain(struct redis_link *link, const char *why)
{
	char text[512];

	if (link->complained)
		return;
	link->complained = true;
	if (link->access->complaining++)
		return;
	if (link_where(link)->kind == CONF_REDIS_SERVER)
		snprintf(text, sizeof text, "%.319s%s", why, link_advice(why));
	else
		snprintf(text, sizeof text, "%.100s:%u: %.319s%s", link->place.host, link->place.port, why,
		    link_advice(why));
	redis_warn("trying again", text);
}

/* False: it was not complained of, or another still is. */
static bool link_complains_no_more(struct redis_link *link)
{
	bool last = link->complained && !--link->access->complaining;

	link->complained = false;
	return last;
}

/* Counts a try that failed. In a list one server does not speak for the others, nor does one of a name's addresses. */
static void link_fails(struct redis_link *link)
{
	size_t all = link_where(link)->n * (link->addresses ? link->addresses : 1);    /* 0: it is a socket */

	link->known |= ++link->failures >= all;
}

/* The connection is lost. hiredis or the caller of this function frees it. */
static void link_lost(struct redis_link *link, const char *why)
{
	const char *refusal = link->ssl ? tls_lent_refusal(link->ssl) : NULL;
	bool goes_on = link->told && link->hops++ < HOPS_MAX;

	link->connection = NULL;
	link->ssl = NULL;
	link->subscribed = false;
	loop_disarm(link->loop, &link->watch);
	if (!goes_on)
		link_fails(link);
	if (!link->asks || !goes_on)
		link->work->lost(link);
	if (link->closed)
		return;
	if (!goes_on)
		link_complain(link, link->odd ? link->odd : refusal ? refusal : why);
	if (goes_on || !link->known) {
		loop_arm(link->loop, &link->retry, 1);
		return;
	}
	loop_arm(link->loop, &link->retry, link->hurries ? RETRY_FIRST_MS : link->retry_ms);
	link->retry_ms = link->retry_ms * 2 < RETRY_MAX_MS ? link->retry_ms * 2 : RETRY_MAX_MS;
}

void redis_link_drop(struct redis_link *link, const char *why)
{
	redisAsyncContext *ac = link->connection;

	link_lost(link, why);
	redisAsyncFree(ac);
}

void redis_link_close(struct redis_link *link)
{
	if (link->closed)
		return;
	link->closed = true;
	loop_disarm(link->loop, &link->retry);
	loop_disarm(link->loop, &link->watch);
	resolve_cancel(&link->lookup);
	link_complains_no_more(link);
	if (link->connection)
		redis_link_drop(link, "");
	if (!--link->access->links)
		resolver_free(&link->access->resolver);
}

static void on_disconnect(const redisAsyncContext *ac, int status)
{
	struct redis_link *link = ac->data;

	if (link->connection == ac)
		link_lost(link, status == REDIS_OK ? "disconnected" : ac->errstr);
}

static void on_connect(const redisAsyncContext *ac, int status)
{
	if (status != REDIS_OK)
		on_disconnect(ac, status);
}

/* Whether the answer to ROLE is a master's, where that was asked. */
static bool link_is_right(const struct redis_link *link, const redisReply *r)
{
	return link_where(link)->kind != CONF_REDIS_SENTINEL || (r->type == REDIS_REPLY_ARRAY && r->elements &&
	    r->element[0]->type == REDIS_REPLY_STRING && !strcmp(r->element[0]->str, "master"));
}

/* Only the last command of the greeting has an argument. */
static void on_greeted(redisAsyncContext *ac, void *answer, void *arg)
{
	const redisReply *reply = answer;
	struct redis_link *link = ac->data;

	if (!reply || link->connection != ac)
		return;
	if (reply->type == REDIS_REPLY_ERROR)
		redis_link_drop(link, reply->str);
	else if (arg && !link_is_right(link, reply))
		redis_link_drop(link, "it is not the master that Sentinel told");
	else if (arg)
		link->work->greeted(link);
}

/* Sends AUTH, where there is a password. */
static bool link_log_in(struct redis_link *link, redisAsyncContext *ac)
{
	struct redis_access *access = link->access;
	int status = REDIS_OK;

	pthread_mutex_lock(&access->lock);
	link->expected += access->password != NULL;
	if (access->password && access->user)
		status = redisAsyncCommand(ac, on_greeted, NULL, "AUTH %s %s", access->user, access->password);
	else if (access->password)
		status = redisAsyncCommand(ac, on_greeted, NULL, "AUTH %s", access->password);
	pthread_mutex_unlock(&access->lock);
	return status == REDIS_OK;
}

static bool link_ask(struct redis_link *link, redisAsyncContext *ac, void *logged_in);

/* A Sentinel says where the master is. logged_in: AUTH was sent, which it asks for if it has a password. */
static void on_told(redisAsyncContext *ac, void *answer, void *logged_in)
{
	const redisReply *reply = answer;
	struct redis_link *link = ac->data;

	if (!reply || link->connection != ac)
		return;
	if (reply->type == REDIS_REPLY_ERROR && !logged_in && !strncmp(reply->str, "NOAUTH", 6)) {
		if (!link_log_in(link, ac) || !link_ask(link, ac, link))
			redis_link_drop(link, "out of memory");
		return;
	}
	link->told = redis_master_read(reply, &link->place);
	redis_link_drop(link, reply->type == REDIS_REPLY_ERROR ? reply->str : NO_MASTER);
}

static bool link_ask(struct redis_link *link, redisAsyncContext *ac, void *logged_in)
{
	link->expected++;
	return redisAsyncCommand(ac, on_told, logged_in, "SENTINEL get-master-addr-by-name %s",
	           link_where(link)->name) == REDIS_OK;
}

/* Servers before Redis 6 do not know HELLO; a proxy in front of a cluster may not, either. */
static void on_mode(redisAsyncContext *ac, void *answer, void *arg)
{
	const redisReply *reply = answer;
	struct redis_link *link = ac->data;
	char text[512];

	(void)arg;
	if (!reply || link->connection != ac || link->access->alone || !redis_is_alone(reply))
		return;
	link->access->alone = true;
	snprintf(text, sizeof text, "%s:%u is not a node of a cluster, so it alone has all keys", link->place.host,
	    link->place.port);
	redis_warn("write cache-redis = HOST:PORT, or start the server with cluster-enabled yes", text);
}

/* HELLO without arguments changes nothing, and every user may send it. */
static bool link_asks_mode(struct redis_link *link, redisAsyncContext *ac)
{
	if (link_where(link)->kind != CONF_REDIS_CLUSTER)
		return true;
	link->expected++;
	return redisAsyncCommand(ac, on_mode, NULL, "HELLO") == REDIS_OK;
}

static bool link_greet(struct redis_link *link, redisAsyncContext *ac)
{
	const char *last = link_where(link)->kind == CONF_REDIS_SENTINEL ? "ROLE" : "PING";

	if (link->asks)
		return link_ask(link, ac, NULL);
	link->expected++;
	return link_log_in(link, ac) && link_asks_mode(link, ac) &&
	    redisAsyncCommand(ac, on_greeted, link, last) == REDIS_OK;
}

#ifdef HAVE_HIREDIS_SSL
/* Begins TLS where it is asked for. Returns NULL, or why that failed. */
static const char *link_secure(struct redis_link *link, redisAsyncContext *ac)
{
	if (!link->access->tls)
		return NULL;
	if (!(link->ssl = tls_context_lend(link->access->tls, link->place.host)))
		return "out of memory";
	if (redisInitiateSSL(&ac->c, link->ssl) == REDIS_OK)
		return NULL;
	const char *why = tls_lent_refusal(link->ssl);
	tls_lent_free(link->ssl);
	link->ssl = NULL;
	return why ? why : ac->c.errstr;
}
#else
static const char *link_secure(struct redis_link *link, redisAsyncContext *ac)
{
	(void)link, (void)ac;
	return NULL;
}
#endif

static void link_choose(struct redis_link *link)
{
	const struct conf_redis *where = link_where(link);

	link->asks = where->kind == CONF_REDIS_SENTINEL && !link->told;
	if (!link->told && where->n) {
		const struct conf_redis_server *server = &where->servers[link->turn % where->n];

		link->round = link->turn++ / where->n;
		snprintf(link->place.host, sizeof link->place.host, "%s", server->host);
		link->place.port = server->port;
	}
	link->told = false;
}

/* address: in digits, for hiredis would look up a name itself, and block this thread. */
static void link_dial(struct redis_link *link, const char *path, const char *address)
{
	redisAsyncContext *ac = path ? redisAsyncConnectUnix(path) : redisAsyncConnect(address, link->place.port);
	const char *why = NULL;

	if (!ac || ac->err) {
		link_lost(link, ac ? ac->errstr : "out of memory");
		if (ac)
			redisAsyncFree(ac);
		return;
	}
	link->connection = ac;
	redis_guard(link, ac);
	if (link_attach(link, ac) || (why = link_secure(link, ac)) ||
	    redisAsyncSetConnectCallback(ac, on_connect) != REDIS_OK ||
	    redisAsyncSetDisconnectCallback(ac, on_disconnect) != REDIS_OK || !link_greet(link, ac)) {
		redis_link_drop(link, why ? why : ac->c.err ? ac->c.errstr : "cannot connect");
		return;
	}
	redis_link_watch(link, true);
}

static void link_on_lookup_failed(struct redis_link *link, const char *reason)
{
	char why[320];

	snprintf(why, sizeof why, "%.200s: %s; let DNS know that host, or write an address as cache-redis",
	    link->place.host, reason);
	link_lost(link, why);
}

/* As hiredis does, an address of IPv6 is taken only if there is none of IPv4. Each round takes the next address. */
static void on_looked_up(void *arg, const struct resolve_result *result)
{
	struct redis_link *link = arg;
	const struct resolve_address *at = &result->addresses[result->n ? link->round % result->n : 0];
	bool best = result->n && result->family == DNS_IPV4;

	if ((best || (result->n && !*link->address)) &&
	    getnameinfo((const struct sockaddr *)&at->address, at->len, link->address, sizeof link->address, NULL, 0,
	        NI_NUMERICHOST))
		link->address[0] = '\0';
	if (link->addresses < result->n)
		link->addresses = (unsigned)result->n;
	if (result->last)
		link->lookup = NULL;
	else if (best)
		resolve_cancel(&link->lookup);
	if (link->lookup)
		return;
	if (*link->address)
		link_dial(link, NULL, link->address);
	else
		link_on_lookup_failed(link, result->reason);
}

static void link_look_up(struct redis_link *link)
{
	struct redis_access *access = link->access;

	link->address[0] = '\0';
	if (!access->resolver)
		access->resolver = resolver_new(link->loop, &access->settings.names);
	if (access->resolver)
		link->lookup = resolve_start(access->resolver, link->place.host, link->place.port, on_looked_up, link);
	if (link->lookup)
		redis_link_watch(link, true);
	else
		link_on_lookup_failed(link, "out of memory");
}

void redis_link_connect(struct redis_link *link)
{
	const char *path = link_where(link)->path;

	if (link->lookup)
		return;
	loop_disarm(link->loop, &link->retry);
	link->odd = NULL;
	link_choose(link);
	if (path)
		link_dial(link, path, NULL);
	else
		link_look_up(link);
}

static void on_retry(struct timer *timer)
{
	redis_link_connect(container_of(timer, struct redis_link, retry));
}

static void on_watch(struct timer *timer)
{
	struct redis_link *link = container_of(timer, struct redis_link, watch);

	if (link->connection) {
		redis_link_drop(link, "no answer in time");
	} else {
		resolve_cancel(&link->lookup);
		link_on_lookup_failed(link, "the name is not answered in time");
	}
}

void redis_link_open(struct redis_link *link, struct redis_access *access, struct loop *loop,
    const struct redis_link_work *work)
{
	link->access = access;
	link->loop = loop;
	link->work = work;
	link->retry_ms = RETRY_FIRST_MS;
	link->retry.fire = on_retry;
	link->watch.fire = on_watch;
	access->links++;
	redis_link_connect(link);
}

void redis_link_watch(struct redis_link *link, bool due)
{
	loop_arm(link->loop, &link->watch, due ? link->access->settings.timeout_ms : 0);
}

void redis_link_works(struct redis_link *link)
{
	link->retry_ms = RETRY_FIRST_MS;
	link->hops = 0;
	if (link_complains_no_more(link))
		log_info("redis store: connected");
}

void redis_link_send(struct redis_link *link, redisCallbackFn *done, void *arg, int argc, const struct slice *args)
{
	const char *argv[REDIS_ARGS_MAX];
	size_t lens[REDIS_ARGS_MAX];

	for (int i = 0; i < argc; i++) {
		argv[i] = args[i].at;
		lens[i] = args[i].len;
	}
	if (link->connection && redisAsyncCommandArgv(link->connection, done, arg, argc, argv, lens) == REDIS_OK) {
		link->expected++;
		return;
	}
	if (link->connection && !(link->connection->c.flags & (REDIS_DISCONNECTING | REDIS_FREEING)))
		redis_link_drop(link, "out of memory");
	if (done)
		done(NULL, NULL, arg);
}

void redis_link_subscribe(struct redis_link *link, redisCallbackFn *heard, void *arg, struct slice channel)
{
	struct slice args[] = { REDIS_WORD("SUBSCRIBE"), channel };

	link->subscribed = true;
	redis_link_send(link, heard, arg, 2, args);
}
