/* One worker and its configurations; see settings.h. */
#include "tests/fuzz/proxy/settings.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_internal.h"
#include "proxy/base/log.h"
#include "proxy/cache/cache.h"
#include "proxy/client/client.h"
#include "proxy/dns/resolve.h"
#include "proxy/net/tls_context_internal.h"
#include "proxy/origin/backoff.h"
#include "proxy/origin/fetch_internal.h"
#include "proxy/settings/settings.h"
#include "proxy/settings/tls_set.h"
#include "proxy/store/store_memory.h"
#include "tests/fuzz/proxy/world.h"

enum { BENCH_OBJECT_MORE = 64 * 1024 };

#define COMMON \
	"access-log = off\nresolv-conf = /dev/null\nhosts-file = /dev/null\ncache-bytes = 1m\ncache-object-max = 48k\ntransit-bytes = 16k\n" \
	"sniff-bytes = 1k\ngzip-min = 200\n"
#define ROUTES(more) \
	"[route /r/]\norigin = http://a.test/r/\n" more \
	"[route /n/]\norigin = http://a.test/n/\nnormalise = off\nrequest-fields = *\n" more \
	"[route /c/]\norigin = http://a.test/c/\ncookies = on\nauthorization = on\nfollow-redirects = on\nstale-if-error = 10m\n" more \
	"[route /p/]\norigin = http://a.test/p/\npolicy = rome-strict\nfollow-redirects = on\nfreshness-floor = 10s\n" more \
	"[route /k/]\norigin = http://a.test/k/\npolicy = feedparser\nrespect-no-transform = on\n" more

static const struct { const char *text; bool sends_credentials; } texts[BENCH_SETTINGS] = {
	{ COMMON ROUTES(""), false },
	{ COMMON "forward-credentials = on\nrefresh-hot = 1\n" ROUTES(""), true },
	{ COMMON "cache = off\non-error = pass\n" ROUTES(""), false },
	{ COMMON "policy = rome-strict\non-error = pass\noutput = us-ascii\nclient-no-cache = off\nfreshness-floor = 0\n" ROUTES(""), false },
	{ COMMON "http-proxy = http://u:p@e.test:3128\nforward-credentials = on\nredirects = 1\n" ROUTES(""), true },
	{ COMMON "max-header-bytes = 1k\nmax-header-fields = 12\norigin-connections = 1\nclient-connections = 2\n"
	    "request-timeout = 1s\nkeepalive-timeout = 1s\nmin-interval = 5s\nfetch-timeout = 30s\norigin-idle = 1\n" ROUTES(""), false },
	{ COMMON "connect-allow = a.test:443\nconnect-allow = b.test:443\nconnect-allow = inner.test:443\nrepair = none\npolicy = appendix-f\n"
	    "tunnel-idle-timeout = 30s\n" ROUTES(""), false },
	{ COMMON "trusted-proxies = 127.0.0.0/8\nclient-allow = 0.0.0.0/0\nclient-policy = any\nerror-max = 0\npolicy = rfc7303\n"
	    ROUTES("cache = on\n"), false },
};

struct bench {
	struct loop *loop;
	struct store *memory;
	struct cache *cache;
	struct backoff *backoff;
	struct resolver *resolver;
	struct pool *connections;
	struct fetch_pool *fetches;
	struct client_pool *clients;
	uint64_t empty_bytes;          /* what the store takes before anything is in it */
};

bool settings_send_credentials(unsigned settings)
{
	return texts[settings].sends_credentials;
}

static struct loop *priming;

static void on_made(struct task *t)
{
	(void)t;
	loop_stop(priming);
}

/* Contexts are made by threads of their own, when somebody first needs them: here before, for a run knows no threads. */
static void make_context(struct tls_context *c)
{
	struct task made = { .run = on_made };
	struct tls_waiter waiter = { .loop = priming, .task = &made };

	if (tls_context_await(c, &waiter) && loop_run(priming))
		REQUIRE(false, "settings", "%s", "the loop failed");
	tls_context_leave(c, &waiter);
	loop_forget(priming, &made);
}

static void make_contexts(struct settings *s)
{
	make_context(tls_set_origin(s->tls, &s->conf->direct));
	make_context(tls_set_origin(s->tls, &s->conf->by_url));
	for (size_t i = 0; i < s->conf->routes.count; i++)
		make_context(tls_set_origin(s->tls, &s->conf->routes.items[i]));
}

static struct settings *made[BENCH_SETTINGS];

static void settings_make(unsigned i)
{
	static char *const variables[] = { NULL };
	struct conf_error error = { "" };
	struct conf *conf = conf_new();

	if (!conf || conf_file_parse(conf, texts[i].text, strlen(texts[i].text), "settings", variables, &error) || conf_settle(conf, &error) ||
	    !(made[i] = settings_new(conf, i + 1, NULL)))
		REQUIRE(false, "settings", "%u: %s", i, error.text);
	make_contexts(made[i]);
}

/* Which joins the threads that made contexts. */
static void settings_drop(void)
{
	for (unsigned i = 0; i < BENCH_SETTINGS; i++)
		settings_unref(&made[i]);
}

void settings_make_all(void)
{
	log_set_level(LOG_LEVEL_ERROR);
	if (made[0] || !(priming = loop_new()))
		return;
	for (unsigned i = 0; i < BENCH_SETTINGS; i++)
		settings_make(i);
	loop_free(&priming);
	atexit(settings_drop);
}

static void on_changed(void *arg)
{
	(void)arg;
}

void bench_reload(struct bench *b, unsigned settings)
{
	struct settings *s = made[settings];
	const struct pool_limits limits = { (size_t)s->conf->origin_idle, 8, 30000, pool_h2_settings(s->conf) };

	pool_renew(b->connections, &limits, s->generation);
	client_pool_set(b->clients, s);
}

struct bench *bench_new(unsigned settings)
{
	const struct conf *conf = made[settings]->conf;
	const struct resolver_options names = { conf->resolver, conf->resolv_conf, conf->hosts_file };
	struct bench *b = calloc(1, sizeof *b);
	struct store_stats s = { 0 };
	struct request_context ctx;

	if (!b || !(b->loop = loop_new()) || !(b->memory = store_memory_new(BENCH_CACHE_BYTES, conf->cache_object_max + BENCH_OBJECT_MORE)) ||
	    !(b->cache = cache_new(b->memory, NULL)) || !(b->backoff = backoff_new()) || !(b->resolver = resolver_new(b->loop, &names)) ||
	    !(b->connections = pool_new(b->loop, b->resolver)) || !(b->fetches = fetch_pool_new(b->loop, b->connections, b->backoff, NULL)))
		abort();
	ctx = (struct request_context){ .loop = b->loop, .fetches = b->fetches, .backoff = b->backoff, .cache = b->cache, .resolver = b->resolver };
	if (!(b->clients = client_pool_new(&ctx, on_changed, NULL)))
		abort();
	bench_reload(b, settings);
	b->memory->ops->stats(b->memory, &s);
	b->empty_bytes = s.bytes;
	return b;
}

void bench_run(struct bench *b)
{
	REQUIRE(!loop_run(b->loop), "it-waits", "the event loop failed");
}

void bench_stop(struct bench *b)
{
	loop_stop(b->loop);
}

void bench_accept(struct bench *b, int fd)
{
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(4711), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct requester who;

	requester_of_peer(&who, (struct sockaddr *)&peer);
	if (client_accept(b->clients, fd, (struct sockaddr *)&peer, sizeof peer, NULL, &who))
		abort();
}

void bench_require_budget(struct bench *b)
{
	struct store_stats s = { 0 };

	b->memory->ops->stats(b->memory, &s);
	REQUIRE(s.bytes <= BENCH_CACHE_BYTES + BENCH_CACHE_BYTES / 20, "budget", "%llu bytes are stored", (unsigned long long)s.bytes);
}

void bench_require_idle(struct bench *b)
{
	struct store_stats s = { 0 };

	REQUIRE(!client_count(b->clients), "let-go", "%zu clients are left", client_count(b->clients));
	REQUIRE(LIST_EMPTY(&b->fetches->fetches), "let-go", "a fetch is left");
	uint32_t number;

	cache_purge(b->cache, PURGE_ALL, "", 0, false, 0, &number);
	while (!cache_sweep(b->cache))
		;
	b->memory->ops->stats(b->memory, &s);
	REQUIRE(!s.entries && s.bytes == b->empty_bytes, "let-go", "%llu entries of %llu bytes are left after a purge", (unsigned long long)s.entries,
	    (unsigned long long)s.bytes);
	REQUIRE(cache_reserve(b->cache, 0, BENCH_CACHE_BYTES / 5), "let-go", "bodies in the making are still reserved for");
	cache_release(b->cache, BENCH_CACHE_BYTES / 5);
}

void bench_free(struct bench *b)
{
	client_pool_free(&b->clients);
	fetch_pool_free(&b->fetches);
	pool_free(&b->connections);
	resolver_free(&b->resolver);
	backoff_free(&b->backoff);
	cache_free(&b->cache);
	loop_free(&b->loop);
	free(b);
}
