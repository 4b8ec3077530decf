/* Owns the cases of proxy/answer/lookup.c and lookup_origin.c: which way a request goes, by what is stored and what it says. The memory
 * store is the real one, the second store answers when the case lets it, and the linker puts fills of the test's own in the place of
 * fill_start() and fetch_plan() (tests/include.am).
 * Must not know: origins, clients. Invariant: each row names its rule (sections of RFC 9111 where no other is named). */
#include "proxy/answer/answer_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/answer/request_read.h"
#include "proxy/cache/fill.h"
#include "proxy/http/http_parse.h"
#include "proxy/http/vary.h"
#include "proxy/net/loop.h"
#include "proxy/origin/backoff.h"
#include "proxy/settings/settings.h"
#include "proxy/store/store_memory.h"
#include "tests/unit/entries.h"
#include "tests/unit/slow_store.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define URL "http://o/f"
#define GERMAN "Accept-Language: de\r\n"
#define PRIMARY URL "\n0000000000000007"
enum { SETTINGS_HASH = 7, LIFETIME = 60, WINDOW = 1000, FIELDS = 32, HEAD_MAX = 512 };

struct object *__wrap_fill_start(const struct fill_params *, struct fetch_request *, enum in_flight *way);
int __wrap_fetch_plan(const struct request_context *, const struct request *, const struct target *, enum policy, struct object *, bool,
    struct slice, struct fetch_request *);

/* The fills that were asked for, and what the second store does. */
static struct {
	unsigned fills, validating, alone;
	char busy[256];
	struct store_wait *wait;
	void (*meanwhile)(void);       /* what another worker does before the first fill begins */
} seen;

/* Begins as fill_start() does. False: the caller has to ask memory again. */
static bool fill_begins(const struct fill_params *p)
{
	struct object *o = object_new(0), *theirs = NULL;
	void (*meanwhile)(void) = seen.meanwhile;

	seen.meanwhile = NULL;
	if (meanwhile)
		meanwhile();
	enum in_flight way = cache_in_flight_begin(p->cache, &p->busy, o, p->ends, &theirs);
	CU_ASSERT(!theirs && way != IN_FLIGHT_JOINED);
	if (way == IN_FLIGHT_BEGUN)
		cache_in_flight_end(p->cache, &p->busy, o);
	object_unref(&o);
	return way == IN_FLIGHT_BEGUN;
}

struct object *__wrap_fill_start(const struct fill_params *p, struct fetch_request *r, enum in_flight *way)
{
	(void)r;
	*way = IN_FLIGHT_ENDED;
	if (!p->alone && !fill_begins(p))
		return NULL;
	*way = IN_FLIGHT_BEGUN;
	seen.fills++;
	seen.validating += p->entry != NULL;
	seen.alone += p->alone;
	snprintf(seen.busy, sizeof seen.busy, "%.*s", (int)p->busy.len, p->busy.at);
	return object_new(0);
}

int __wrap_fetch_plan(const struct request_context *ctx, const struct request *request, const struct target *target, enum policy policy,
    struct object *body, bool ranged, struct slice begin, struct fetch_request *r)
{
	(void)ctx, (void)request, (void)target, (void)policy, (void)body, (void)ranged, (void)begin;
	memset(r, 0, sizeof *r);
	return 0;
}

/* ---- a second store that answers when the case lets it ---- */

static enum store_result waits(struct store *s, const char *key, size_t len, struct entry **e, struct store_wait *w)
{
	(void)s, (void)key, (void)len, (void)e;
	seen.wait = w;
	return STORE_WAIT;
}

static void cancel(struct store *s, struct store_wait *w)
{
	(void)s;
	CU_ASSERT_PTR_EQUAL(w, seen.wait);
	seen.wait = NULL;
}

static const struct store_ops slow_ops = { .name = "slow", .get = waits, .put = slow_put, .remove = slow_remove, .cancel = cancel,
	.free = slow_free };

/* ---- one request ---- */

static struct {
	struct loop *loop;
	struct backoff *backoff;
	struct conf *conf;
	struct request_context ctx;
	struct store slow;
	bool alone;                    /* the requests wait with no others */
} world;

static void world_open(bool second)
{
	static char *const none[] = { NULL }, *const words[] = { (char *)(uintptr_t)"serve", (char *)(uintptr_t)"--route=/=http://o/" };
	static struct settings settings;
	struct conf_error error;

	memset(&seen, 0, sizeof seen);
	world.slow = (struct store){ .ops = &slow_ops };
	CU_ASSERT_FATAL((world.loop = loop_new()) && (world.backoff = backoff_new()) && (world.conf = conf_new()));
	CU_ASSERT_EQUAL_FATAL(conf_load(world.conf, 2, words, none, &error), 0);
	world.ctx = (struct request_context){ .loop = world.loop, .backoff = world.backoff, .conf = world.conf, .settings = &settings,
		.cache = cache_new(store_memory_new(1 << 20, 1 << 20), second ? &world.slow : NULL) };
	CU_ASSERT_PTR_NOT_NULL_FATAL(world.ctx.cache);
}

static void world_close(void)
{
	cache_free(&world.ctx.cache);
	conf_free(&world.conf);
	backoff_free(&world.backoff);
	loop_free(&world.loop);
}

struct asked {
	struct http_msg msg;
	struct request request;
	struct answer answer;
	unsigned ready;
	char text[HEAD_MAX];
};

static void on_ready(void *asked)
{
	((struct asked *)asked)->ready++;
}

/* In the place of dispatch(): every request is looked up. */
void __wrap_dispatch(struct answer *, const struct answer_asked *);
void __wrap_dispatch(struct answer *a, const struct answer_asked *asked)
{
	static const struct freshness_settings settings;
	const char *why;

	CU_ASSERT_EQUAL_FATAL(target_find(&a->target, world.conf, asked->request->msg, 80, a->memory.path, sizeof a->memory.path, &why), TARGET_OK);
	text_empty(&a->memory.key);
	text_puts(&a->memory.key, URL);
	a->kind = KIND_CACHED;
	lookup_start(a, &settings, SETTINGS_HASH, POLICY_AUTO, world.alone);
}

static void ask(struct asked *a, const char *lines)
{
	struct http_parser *p = http_parser_new(true, NULL, NULL);
	int len = snprintf(a->text, sizeof a->text, "GET /f HTTP/1.1\r\nHost: o\r\n%s\r\n", lines);
	size_t used;

	memset(&a->answer, 0, sizeof a->answer);
	a->ready = 0;
	CU_ASSERT_FATAL(p && !http_msg_init(&a->msg, FIELDS));
	a->msg.base = a->text;
	http_parser_start(p, &a->msg, false);
	CU_ASSERT_EQUAL_FATAL(http_parse(p, a->text, (size_t)len, &used), PARSE_HEAD);
	http_parser_free(&p);
	request_read(&a->request, &a->msg);
	answer_start(&a->answer, &(struct answer_asked){ .ctx = &world.ctx, .request = &a->request, .ready = on_ready, .owner = a });
}

static void leave(struct asked *a)
{
	answer_end(&a->answer);
	answer_free_memory(&a->answer);
	http_msg_free(&a->msg);
}

/* age: of the entry, in seconds. */
static struct entry *aged(const char *key, int64_t age, const struct freshness *more)
{
	struct freshness f = *more;
	struct entry_parts parts = { .head = entries_head(5), .freshness = &f };

	f.response_time = loop_wall_ms(world.loop) / 1000 - age;
	f.lifetime_s = LIFETIME;
	parts.object = entries_object(1, 5, object_head_ref(parts.head), NULL);
	parts.upstream = strdup("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\n");
	parts.upstream_len = strlen(parts.upstream);
	return entry_new(key, strlen(key), &parts);
}

static void put(struct entry *e)
{
	struct cache_ticket ticket = cache_ticket(world.ctx.cache, e->key, e->key_len);

	CU_ASSERT(cache_put(world.ctx.cache, e, &ticket));
	entry_unref(&e);
}

/* ---- by what is stored ---- */

/* The key of the variant for requests with that line. */
static const char *variant(const char *line)
{
	static char key[128];
	struct text t = { 0 };

	text_puts(&t, PRIMARY "\n");
	vary_key(&t, (struct slice){ "accept-language", 15 }, (struct slice){ line, strlen(line) });
	snprintf(key, sizeof key, "%.*s", (int)t.len, t.bytes);
	text_free(&t);
	return key;
}

enum stored { NOTHING, WHOLE, VARIANT, OTHER_VARIANT, OLDER_VARIANT, VARIANTS_OF_VARIANTS };

static void store(enum stored what, int64_t age, const struct freshness *f)
{
	struct entry *e;

	switch (what) {
	case NOTHING:
		return;
	case WHOLE:
		put(aged(PRIMARY, age, f));
		return;
	case VARIANTS_OF_VARIANTS:
		put(entries_vary(variant(GERMAN), "accept-language"));
		break;
	case VARIANT:
		put(aged(variant(GERMAN), age, f));
		break;
	case OLDER_VARIANT:
		e = aged(variant(GERMAN), age, f);
		e->generation = 1;
		put(e);
		break;
	case OTHER_VARIANT:
		put(aged(variant("Accept-Language: fr\r\n"), age, f));
		break;
	}
	put(entries_vary(PRIMARY, "accept-language"));
}

static void decisions(void)
{
	static const struct {
		const char *rule;
		enum stored stored;
		int64_t age;
		struct freshness f;
		const char *lines;
		enum answer_source source;
		enum cache_fwd fwd;
		unsigned fills, validating;
	} cases[] = {
		{ "4: nothing is stored", NOTHING, 0, { 0 }, "", SOURCE_FILL, FWD_URI_MISS, 1, 0 },
		{ "4: fresh", WHOLE, 10, { 0 }, "", SOURCE_STORED, FWD_NONE, 0, 0 },
		{ "4.2: one second before its end", WHOLE, LIFETIME - 2, { 0 }, "", SOURCE_STORED, FWD_NONE, 0, 0 },
		{ "4.3: stale", WHOLE, LIFETIME + 10, { 0 }, "", SOURCE_FILL, FWD_STALE, 1, 1 },
		{ "5.2.2.4: no-cache", WHOLE, 10, { .flags = FRESHNESS_NO_CACHE }, "", SOURCE_FILL, FWD_STALE, 1, 1 },
		{ "5.2.1.4: the request says no-cache", WHOLE, 10, { 0 }, "Cache-Control: no-cache\r\n", SOURCE_FILL, FWD_REQUEST, 1, 1 },
		{ "5.4: Pragma says it too", WHOLE, 10, { 0 }, "Pragma: no-cache\r\n", SOURCE_FILL, FWD_REQUEST, 1, 1 },
		{ "5.2.1.1: max-age", WHOLE, 10, { 0 }, "Cache-Control: max-age=5\r\n", SOURCE_FILL, FWD_REQUEST, 1, 1 },
		{ "5.2.1.3: min-fresh", WHOLE, 10, { 0 }, "Cache-Control: min-fresh=55\r\n", SOURCE_FILL, FWD_REQUEST, 1, 1 },
		{ "5.2.1.2: max-stale", WHOLE, LIFETIME + 10, { 0 }, "Cache-Control: max-stale=20\r\n", SOURCE_STORED, FWD_NONE, 0, 0 },
		{ "5.2.1.2: staler than that", WHOLE, LIFETIME + 30, { 0 }, "Cache-Control: max-stale=20\r\n", SOURCE_FILL, FWD_STALE, 1, 1 },
		{ "RFC 5861 3: served, and refreshed behind it", WHOLE, LIFETIME + 10, { .swr_s = WINDOW }, "", SOURCE_STORED, FWD_NONE, 1, 1 },
		{ "5.2.1.7: only-if-cached, and it is", WHOLE, 10, { 0 }, "Cache-Control: only-if-cached\r\n", SOURCE_STORED, FWD_NONE, 0, 0 },
		{ "5.2.1.7: it is not", NOTHING, 0, { 0 }, "Cache-Control: only-if-cached\r\n", SOURCE_PAST, FWD_URI_MISS, 0, 0 },
		{ "5.2.1.7: it is stale", WHOLE, LIFETIME + 10, { 0 }, "Cache-Control: only-if-cached\r\n", SOURCE_PAST, FWD_STALE, 0, 0 },
		{ "4.1: the variant that the request selects", VARIANT, 10, { 0 }, GERMAN, SOURCE_STORED, FWD_NONE, 0, 0 },
		{ "4.1: it is stale", VARIANT, LIFETIME + 10, { 0 }, GERMAN, SOURCE_FILL, FWD_STALE, 1, 1 },
		{ "4.1: another variant is no answer", OTHER_VARIANT, 10, { 0 }, GERMAN, SOURCE_FILL, FWD_VARY_MISS, 1, 0 },
		{ "4: nor one from before the record had to go", OLDER_VARIANT, 10, { 0 }, GERMAN, SOURCE_FILL, FWD_VARY_MISS, 1, 0 },
		{ "4.1: nor is any for who sends none", VARIANT, 10, { 0 }, "", SOURCE_FILL, FWD_VARY_MISS, 1, 0 },
		{ "a liar's store leads nobody round", VARIANTS_OF_VARIANTS, 10, { 0 }, GERMAN, SOURCE_FILL, FWD_VARY_MISS, 1, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct asked a;

		world_open(false);
		store(cases[i].stored, cases[i].age, &cases[i].f);
		ask(&a, cases[i].lines);
		UNIT_ROW(a.answer.state == ANSWER_READY && a.answer.object, "%s: state %d", cases[i].rule, (int)a.answer.state);
		UNIT_ROW(a.answer.source == cases[i].source && a.answer.status.fwd == cases[i].fwd, "%s: source %d, fwd %d", cases[i].rule,
			(int)a.answer.source, (int)a.answer.status.fwd);
		UNIT_ROW(a.answer.status.hit == (cases[i].source == SOURCE_STORED), "%s", cases[i].rule);
		UNIT_ROW(seen.fills == cases[i].fills && seen.validating == cases[i].validating, "%s: %u fills, %u of them validate", cases[i].rule,
			seen.fills, seen.validating);
		UNIT_ROW(!a.ready, "%s: ready() from within", cases[i].rule);
		leave(&a);
		world_close();
	}
}

/* ---- another worker's fetch begins and ends between the look at memory and the fetch ---- */

static void another_ends(const char *url)
{
	struct cache_key key = cache_key(world.ctx.cache, url, strlen(url));
	struct object *o = object_new(0), *theirs = NULL;

	CU_ASSERT_EQUAL(cache_in_flight_begin(world.ctx.cache, &key, o, NULL, &theirs), IN_FLIGHT_BEGUN);
	cache_in_flight_end(world.ctx.cache, &key, o);
	object_unref(&o);
}

static void another_stores(void)
{
	static const struct freshness plain = { 0 };

	put(aged(PRIMARY, 0, &plain));
	another_ends(PRIMARY);
}

static void another_fails(void)
{
	another_ends(PRIMARY);
}

static void another_stores_what_is_stale(void)
{
	static const struct freshness plain = { 0 };

	put(aged(PRIMARY, LIFETIME + 1, &plain));
	another_ends(PRIMARY);
}

static void overtaken(void)
{
	static const struct {
		const char *rule;
		enum stored stored;
		uint32_t swr;
		void (*meanwhile)(void);
		enum answer_source source;
		unsigned fills;
	} cases[] = {
		{ "what it stored answers", NOTHING, 0, another_stores, SOURCE_STORED, 0 },
		{ "also where a stale one is stored", WHOLE, 0, another_stores, SOURCE_STORED, 0 },
		{ "it stored nothing", NOTHING, 0, another_fails, SOURCE_FILL, 1 },
		{ "it left the stale one as it was", WHOLE, 0, another_fails, SOURCE_FILL, 1 },
		{ "what it stored is stale, too", NOTHING, 0, another_stores_what_is_stale, SOURCE_FILL, 1 },
		{ "RFC 5861 3: it has refreshed what is stale", WHOLE, WINDOW, another_stores, SOURCE_STORED, 0 },
		{ "RFC 5861 3: it has not", WHOLE, WINDOW, another_fails, SOURCE_STORED, 1 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct freshness f = { .swr_s = cases[i].swr };
		struct asked a;

		world_open(false);
		store(cases[i].stored, LIFETIME + 10, &f);
		seen.meanwhile = cases[i].meanwhile;
		ask(&a, "");
		UNIT_ROW(!seen.meanwhile && a.answer.state == ANSWER_READY && a.answer.object, "%s: state %d", cases[i].rule, (int)a.answer.state);
		UNIT_ROW(a.answer.source == cases[i].source && seen.fills == cases[i].fills, "%s: source %d, %u fills", cases[i].rule,
			(int)a.answer.source, seen.fills);
		leave(&a);
		world_close();
	}
}

/* ---- a second store ---- */

static void waiting(void)
{
	static const struct { const char *rule; bool brings; enum answer_source source; unsigned fills; bool warm; } cases[] = {
		{ "it has the response: memory has it from now on", true, SOURCE_STORED, 0, true },
		{ "it has not", false, SOURCE_FILL, 1, false },
	};
	static const struct freshness plain = { 0 };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct entry *e, *there;
		struct asked a;

		world_open(true);
		e = aged(PRIMARY, 10, &plain);
		ask(&a, "");
		UNIT_ROW(answer_waits(&a.answer) && seen.wait && !seen.fills && !a.ready, "%s: state %d", cases[i].rule, (int)a.answer.state);
		seen.wait->got(seen.wait, cases[i].brings ? entry_ref(e) : NULL);
		UNIT_ROW(a.ready == 1 && a.answer.state == ANSWER_READY, "%s: state %d", cases[i].rule, (int)a.answer.state);
		UNIT_ROW(a.answer.source == cases[i].source && seen.fills == cases[i].fills, "%s: source %d, %u fills", cases[i].rule,
			(int)a.answer.source, seen.fills);
		there = cache_peek(world.ctx.cache, PRIMARY, strlen(PRIMARY));
		UNIT_ROW(!there == !cases[i].warm, "%s", cases[i].rule);
		entry_unref(&there);
		entry_unref(&e);
		leave(&a);
		world_close();
	}
}

/* The client leaves while the store is asked: the store lets go of the lookup. */
static void leaving(void)
{
	struct asked a;

	world_open(true);
	ask(&a, "");
	CU_ASSERT(answer_waits(&a.answer));
	leave(&a);
	CU_ASSERT(!seen.wait && !a.ready && !seen.fills);
	world_close();
}

/* ---- whom it may wait with ---- */

static void company(void)
{
	struct cache_ticket ticket;
	struct object *o, *taken, *theirs = NULL;
	struct cache_key key;
	struct asked a;

	/* A fill is known by the variant, where the stored ones tell which that is. */
	world_open(false);
	ask(&a, GERMAN);
	CU_ASSERT_STRING_EQUAL(seen.busy, PRIMARY);
	CU_ASSERT_EQUAL(seen.alone, 0);
	leave(&a);
	put(entries_vary(PRIMARY, "accept-language"));
	ask(&a, GERMAN);
	CU_ASSERT_STRING_EQUAL(seen.busy, variant(GERMAN));
	leave(&a);
	/* A fetch that began before that was known has stored the index, and its variant not yet. */
	key = cache_key(world.ctx.cache, PRIMARY, strlen(PRIMARY));
	o = object_new(0);
	CU_ASSERT_EQUAL(cache_in_flight_begin(world.ctx.cache, &key, o, NULL, &theirs), IN_FLIGHT_BEGUN);
	ask(&a, GERMAN);
	taken = answer_take(&a.answer);
	CU_ASSERT(a.answer.source == SOURCE_COLLAPSED && taken == o && seen.fills == 2);
	answer_late(&a.answer, taken);
	object_unref(&taken);
	CU_ASSERT(a.answer.source == SOURCE_FILL && seen.fills == 3 && !theirs);
	CU_ASSERT_STRING_EQUAL(seen.busy, variant(GERMAN));
	leave(&a);
	cache_in_flight_end(world.ctx.cache, &key, o);
	object_unref(&o);
	/* What was found not to be storable is not waited for. */
	cache_remove(world.ctx.cache, PRIMARY, strlen(PRIMARY));
	key = cache_key(world.ctx.cache, PRIMARY, strlen(PRIMARY));
	ticket = cache_ticket(world.ctx.cache, PRIMARY, strlen(PRIMARY));
	cache_set_hit_for_miss(world.ctx.cache, &key, true, (int64_t)(loop_now_ms(world.loop) / 1000), &ticket);
	ask(&a, "");
	CU_ASSERT_EQUAL(seen.alone, 1);
	leave(&a);
	/* What refreshes a stored response is in flight for all to see, even for the sake of a request that waits for none. */
	put(aged(PRIMARY, LIFETIME + 10, &(struct freshness){ .swr_s = WINDOW }));
	world.alone = true;
	ask(&a, "");
	CU_ASSERT(seen.fills == 5 && seen.alone == 1);
	leave(&a);
	world.alone = false;
	world_close();
}

UNIT_SUITE(lookup, { "overtaken", overtaken }, { "decisions", decisions }, { "waiting", waiting }, { "leaving", leaving }, { "company", company })
