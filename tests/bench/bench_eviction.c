/* Owns the choice of proxy/store/eviction.c: hit ratios of S3-FIFO (the product's own code), LRU, SIEVE and FIFO on the same traces.
 * Trace: Zipf-distributed requests for objects of 1 KB to 1 MB, as they are or with one request in five for an object asked for
 * once only (a scan). Usage: bench_eviction [requests] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/hash.h"
#include "proxy/store/eviction.h"

enum { OBJECTS = 50000, REQUESTS = 2000000, SCAN_EVERY = 5 };

struct simple { struct eviction_list list; struct eviction_node *hand; };
union state { struct eviction s3; struct simple simple; };

struct policy {
	const char *name;
	void (*insert)(union state *, struct eviction_node *);
	void (*hit)(union state *, struct eviction_node *);
	struct eviction_node *(*victim)(union state *, size_t bytes, size_t budget);       /* NULL: nobody has to go */
};

static void s3_insert(union state *s, struct eviction_node *n) { eviction_insert(&s->s3, n); }
static void s3_hit(union state *s, struct eviction_node *n) { (void)s; eviction_hit(n); }

static struct eviction_node *s3_victim(union state *s, size_t bytes, size_t budget)
{
	(void)budget;
	return eviction_victim(&s->s3, bytes);
}

static void simple_insert(union state *s, struct eviction_node *n)
{
	n->hits = 0;
	TAILQ_INSERT_TAIL(&s->simple.list, n, link);
}

static void fifo_hit(union state *s, struct eviction_node *n) { (void)s, (void)n; }

static void lru_hit(union state *s, struct eviction_node *n)
{
	TAILQ_REMOVE(&s->simple.list, n, link);
	TAILQ_INSERT_TAIL(&s->simple.list, n, link);
}

static struct eviction_node *first_victim(union state *s, size_t bytes, size_t budget)
{
	struct eviction_node *n = TAILQ_FIRST(&s->simple.list);

	if (bytes <= budget)
		return NULL;
	TAILQ_REMOVE(&s->simple.list, n, link);
	return n;
}

static void sieve_hit(union state *s, struct eviction_node *n) { (void)s; n->hits = 1; }

static struct eviction_node *sieve_victim(union state *s, size_t bytes, size_t budget)
{
	struct eviction_node *n = s->simple.hand ? s->simple.hand : TAILQ_FIRST(&s->simple.list);

	if (bytes <= budget)
		return NULL;
	while (n->hits) {
		n->hits = 0;
		n = TAILQ_NEXT(n, link) ? TAILQ_NEXT(n, link) : TAILQ_FIRST(&s->simple.list);
	}
	s->simple.hand = TAILQ_NEXT(n, link);
	TAILQ_REMOVE(&s->simple.list, n, link);
	return n;
}

static const struct policy policies[] = {
	{ "S3-FIFO", s3_insert, s3_hit, s3_victim },
	{ "SIEVE", simple_insert, sieve_hit, sieve_victim },
	{ "LRU", simple_insert, lru_hit, first_victim },
	{ "FIFO", simple_insert, fifo_hit, first_victim },
};

struct item { struct eviction_node node; bool in; };

static uint64_t random_state = 1;

static double uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

static void trace_make(uint32_t *trace, size_t requests, size_t objects, double alpha, bool scans)
{
	double *sum = calloc(objects, sizeof *sum), total = 0;
	uint32_t once = (uint32_t)objects;

	for (size_t i = 0; i < objects; i++)
		sum[i] = total += 1 / pow((double)i + 1, alpha);
	for (size_t r = 0; r < requests; r++) {
		double at = uniform() * total;
		size_t low = 0, high = objects - 1;

		while (low < high) {
			size_t middle = (low + high) / 2;

			if (sum[middle] < at)
				low = middle + 1;
			else
				high = middle;
		}
		trace[r] = scans && r % SCAN_EVERY == 0 ? once++ : (uint32_t)low;
	}
	free(sum);
}

struct ratio { double requests, bytes; };

static struct ratio simulate(const struct policy *p, struct item *items, size_t n_items, const uint32_t *trace, size_t requests, size_t budget)
{
	union state state;
	size_t used = 0, hits = 0;
	uint64_t hit_bytes = 0, all_bytes = 0;

	memset(&state, 0, sizeof state);
	if (p->insert == s3_insert) {
		if (eviction_init(&state.s3, budget, budget / 4096))
			exit(1);
	} else {
		TAILQ_INIT(&state.simple.list);
	}
	for (size_t i = 0; i < n_items; i++)
		items[i].in = false;
	for (size_t r = 0; r < requests; r++) {
		struct item *it = &items[trace[r]];
		struct eviction_node *v;

		all_bytes += it->node.bytes;
		if (it->in) {
			hits++;
			hit_bytes += it->node.bytes;
			p->hit(&state, &it->node);
			continue;
		}
		if (it->node.bytes > budget)
			continue;
		while ((v = p->victim(&state, used + it->node.bytes, budget)) != NULL) {
			used -= v->bytes;
			((struct item *)(void *)v)->in = false;
		}
		p->insert(&state, &it->node);
		it->in = true;
		used += it->node.bytes;
	}
	if (p->insert == s3_insert)
		eviction_destroy(&state.s3);
	return (struct ratio){ 100.0 * (double)hits / (double)requests, 100.0 * (double)hit_bytes / (double)all_bytes };
}

int main(int argc, char **argv)
{
	static const double alphas[] = { 0.7, 1.0 };
	static const int shares[] = { 1, 10, 50, 100 };        /* of a thousand */
	static const uint64_t secret[2] = { 1, 2 };
	size_t requests = argc > 1 ? (size_t)atol(argv[1]) : REQUESTS, n_items = OBJECTS + requests / SCAN_EVERY + 1, footprint = 0;
	uint32_t *trace = calloc(requests, sizeof *trace);
	struct item *items = calloc(n_items, sizeof *items);

	if (!trace || !items)
		return 1;
	for (size_t i = 0; i < n_items; i++) {
		items[i].node.bytes = (size_t)(1024 * pow(1024, uniform()));
		items[i].node.hash = hash_sip(secret, &i, sizeof i);
		footprint += i < OBJECTS ? items[i].node.bytes : 0;
	}
	printf("%zu requests, %d objects, footprint %zu MB; hit ratio %% of requests (of bytes)\n", requests, OBJECTS, footprint >> 20);
	printf("zipf  scans   cache");
	for (size_t p = 0; p < sizeof policies / sizeof policies[0]; p++)
		printf("  %-13s", policies[p].name);
	putchar('\n');
	for (int scans = 0; scans < 2; scans++)
		for (size_t a = 0; a < sizeof alphas / sizeof alphas[0]; a++) {
			trace_make(trace, requests, OBJECTS, alphas[a], scans);
			for (size_t c = 0; c < sizeof shares / sizeof shares[0]; c++) {
				printf("%.1f   %-5s  %4.1f %%", alphas[a], scans ? "20 %" : "none", shares[c] / 10.0);
				for (size_t p = 0; p < sizeof policies / sizeof policies[0]; p++) {
					struct ratio x = simulate(&policies[p], items, n_items, trace, requests, footprint / 1000 * (size_t)shares[c]);

					printf("  %4.1f (%4.1f)  ", x.requests, x.bytes);
				}
				putchar('\n');
			}
		}
	free(items);
	free(trace);
	return 0;
}
