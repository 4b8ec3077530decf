/* Owns the speed of utfeed's parts beside the decoders: the whole decision, the normaliser, the parser of heads, the memory
 * store's lookup. Must not know: sockets.
 * usage: bench_parts ROUNDS FILE...     (feeds to decide on and to normalise); output: bench.h */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "core/evidence/detector.h"
#include "core/normalise/normalise.h"
#include "proxy/http/http_parse.h"
#include "proxy/store/store_memory.h"
#include "tests/unit/collect.h"
#include "tests/unit/entries.h"

enum { FEEDS_MAX = 16, FEED_MAX = 6 << 20, FIELDS_MAX = 64, LOOKUPS = 1000, KEY_MAX = 64, SCATTER = 7919, BUDGET = 1 << 30 };

static const char type[] = "application/rss+xml";

struct feed { const char *name; uint8_t *bytes; size_t len; };

static void fail(const char *what)
{
	fprintf(stderr, "bench_parts: %s\n", what);
	exit(EXIT_FAILURE);
}

/* As normalise does before it writes: evidence of the held window, then the ladder. */
static void decide(void *arg)
{
	const struct feed *f = arg;
	struct evidence evidence;
	struct verdict verdict;
	bool complete = f->len <= NORMALISE_SNIFF_BYTES;

	evidence_collect(&evidence, true, type, sizeof type - 1, CS_NONE, f->bytes, complete ? f->len : NORMALISE_SNIFF_BYTES, complete);
	if (policy_decide(POLICY_AUTO, &evidence, &verdict) || verdict.kind != VERDICT_CHARSET)
		fail(f->name);
}

static void guess(void *arg)
{
	const struct feed *f = arg;

	struct detection d;

	if (detector_weigh(&d, f->bytes, f->len < NORMALISE_SNIFF_BYTES ? f->len : NORMALISE_SNIFF_BYTES, NULL, NULL, 0) != 0)
		fail(f->name);
}

static int decided(void *arg, const struct verdict *verdict)
{
	(void)arg;
	return verdict->kind != VERDICT_CHARSET;
}

static int written(void *arg, const uint8_t *bytes, size_t len)
{
	(void)bytes;
	*(size_t *)arg += len;
	return 0;
}

static void normalise(void *arg)
{
	const struct feed *f = arg;
	size_t out = 0, piece = 64 << 10;
	struct normalise_options options = { .http = true, .content_type = type, .content_type_len = sizeof type - 1, .repairs = REPAIR_ALL };
	struct normalise_events events = { .decided = decided, .write = written, .arg = &out };
	struct normaliser *n = normaliser_new(&options, &events);

	for (size_t at = 0; at < f->len; at += piece)
		if (normaliser_feed(n, f->bytes + at, f->len - at < piece ? f->len - at : piece))
			fail(f->name);
	if (normaliser_finish(n) || !out)
		fail(f->name);
	normaliser_free(&n);
}

struct heads { struct http_parser *parser; struct http_msg msg; const char *text; };

static void parse(void *arg)
{
	struct heads *h = arg;
	size_t used;

	h->msg.base = h->text;
	http_parser_start(h->parser, &h->msg, false);
	if (http_parse(h->parser, h->text, strlen(h->text), &used) != PARSE_HEAD)
		fail(http_parser_reason(h->parser));
}

static void bench_heads(int rounds)
{
	static const struct { const char *name, *text; bool request; } heads[] = {
		{ "request head, short", "GET /news/today.xml HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", true },
		{ "request head, a browser's", "GET /news/today.xml HTTP/1.1\r\nHost: feeds.example.org\r\n"
		    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
		    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-GB,en;q=0.5\r\n"
		    "Accept-Encoding: gzip, deflate, br, zstd\r\nDNT: 1\r\nConnection: keep-alive\r\nUpgrade-Insecure-Requests: 1\r\n"
		    "Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: none\r\nPriority: u=0, i\r\n\r\n", true },
		{ "response head", "HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 04:47:30 GMT\r\nServer: Apache\r\n"
		    "Last-Modified: Sat, 21 Nov 2026 04:40:00 GMT\r\nETag: \"5c1-63f1e2\"\r\nAccept-Ranges: bytes\r\nCache-Control: max-age=300\r\n"
		    "Content-Length: 20480\r\nContent-Type: application/rss+xml; charset=windows-1251\r\n\r\n", false },
	};

	for (int round = 0; round < rounds; round++)
		for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
			struct heads h = { .parser = http_parser_new(heads[i].request, NULL, NULL), .text = heads[i].text };

			if (!h.parser || http_msg_init(&h.msg, FIELDS_MAX))
				fail("memory");
			bench(heads[i].name, "utfeed", strlen(heads[i].text), 1, parse, &h);
			http_msg_free(&h.msg);
			http_parser_free(&h.parser);
		}
}

struct lookups { struct store *store; size_t objects, at; };

static size_t key_make(char *key, size_t i)
{
	return (size_t)snprintf(key, KEY_MAX, "http://feeds.example.org/news/%zu.xml\nauto", i);
}

static void look_up(void *arg)
{
	struct lookups *l = arg;
	char key[KEY_MAX];

	for (int i = 0; i < LOOKUPS; i++) {
		struct entry *e;
		size_t len = key_make(key, l->at++ * SCATTER % l->objects);

		if (l->store->ops->get(l->store, key, len, &e, NULL) != STORE_FOUND)
			fail(key);
		entry_unref(&e);
	}
}

static void make_keys(void *arg)
{
	struct lookups *l = arg;
	char key[KEY_MAX];

	for (int i = 0; i < LOOKUPS; i++) {
		key_make(key, l->at++ * SCATTER % l->objects);
		__asm__ volatile("" : : "r"(key) : "memory");
	}
}

static void bench_lookups(int rounds)
{
	static const size_t sizes[] = { 1, 1000, 100000 };

	for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
		struct lookups l = { .store = store_memory_new(BUDGET, BUDGET), .objects = sizes[s] };
		char name[64], key[KEY_MAX];

		if (!l.store)
			fail("memory");
		snprintf(name, sizeof name, "cache lookup, %zu objects", sizes[s]);
		for (size_t i = 0; i < sizes[s]; i++) {
			struct entry *e;

			key_make(key, i);
			e = entries_new(key, (unsigned)i, 1024);
			l.store->ops->put(l.store, e);
			entry_unref(&e);
		}
		for (int round = 0; round < rounds; round++) {
			bench(name, "utfeed", 0, LOOKUPS, look_up, &l);
			bench(name, "the key alone", 0, LOOKUPS, make_keys, &l);
		}
		l.store->ops->free(l.store);
	}
}

static void bench_feed(int rounds, struct feed *f)
{
	char name[3][96];
	size_t window = f->len < NORMALISE_SNIFF_BYTES ? f->len : NORMALISE_SNIFF_BYTES;

	snprintf(name[0], sizeof name[0], "decision, %s", f->name);
	snprintf(name[1], sizeof name[1], "normalise, %s", f->name);
	for (int round = 0; round < rounds; round++) {
		bench(name[0], "utfeed", window, 1, decide, f);
		bench(name[0], "the detector's share", window, 1, guess, f);
		bench(name[1], "utfeed", f->len, 1, normalise, f);
	}
}

static void read_feed(struct feed *f, const char *path)
{
	FILE *in = fopen(path, "rb");
	const char *slash = strrchr(path, '/');

	f->name = slash ? slash + 1 : path;
	f->bytes = malloc(FEED_MAX);
	f->len = in && f->bytes ? fread(f->bytes, 1, FEED_MAX, in) : 0;
	if (!f->len)
		fail(path);
	fclose(in);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0;

	if (rounds < 1)
		fail("usage: bench_parts ROUNDS FILE...");
	for (int i = 2; i < argc; i++) {
		struct feed feed;

		read_feed(&feed, argv[i]);
		bench_feed(rounds, &feed);
		free(feed.bytes);
	}
	bench_heads(rounds);
	bench_lookups(rounds);
	return 0;
}
