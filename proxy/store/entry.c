/* Entries: their references and the memory they take; see entry.h. */
#include "proxy/store/entry.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static size_t heap_bytes(void *p)
{
	return p ? malloc_usable_size(p) + sizeof(size_t) : 0;
}

static size_t head_bytes(struct object_head *h)
{
	return h ? heap_bytes(h) + heap_bytes(h->bytes) : 0;
}

static size_t entry_count(struct entry *e)
{
	size_t sum =
	    heap_bytes(e) + heap_bytes(e->key) + heap_bytes(e->vary) + heap_bytes(e->upstream) + head_bytes(e->head);

	if (e->object) {
		sum += object_memory(e->object);
		if (object_get_head(e->object) != e->head)
			sum += head_bytes(object_get_head(e->object));
	}
	return sum;
}

struct entry_hints entry_hints(const struct entry *e)
{
	struct entry_hints h = { .key = e->key, .object = e->object, .head = e->head };

	if (e->object) {
		h.head_bytes = e->head->bytes;
		h.body = object_start(e->object);
	}
	return h;
}

static inline void prefetch(const void *at, size_t lines)
{
	for (size_t i = 0; at && i < lines; i++)
		__builtin_prefetch((const char *)at + i * 64);
}

void entry_prefetch(const struct entry *e, const struct entry_hints *h)
{
	prefetch(e, 4);
	prefetch(h->key, 2);
	prefetch(h->object, 6);
	prefetch(h->head, 1);
	prefetch(h->head_bytes, 5);
	prefetch(h->body, 4);
}

size_t entry_gzip_bytes(const struct object *form)
{
	return object_memory(form) + head_bytes(object_get_head(form));
}

/* Segments are made before the length of the body is known: in a short body most of the last segment is empty, and the
 * first segments of a long body have no pages of their own. */
static void entry_compact(struct entry *e)
{
	enum { WASTE_MIN_BYTES = 512, WASTE_SHARE = 16,
		PAGES_MAX_BYTES = 1024 * 1024 /* copied within a fraction of a millisecond */ };
	uint64_t length = object_length(e->object);
	bool wasteful = object_unused(e->object) > length / WASTE_SHARE + WASTE_MIN_BYTES;
	struct object *compact;

	if (!wasteful && (length > PAGES_MAX_BYTES || !object_wants_pages(e->object)))
		return;
	if (!(compact = object_compact(e->object)))
		return;
	object_unref(&e->object);
	e->object = compact;
}

void entry_parts_free(struct entry_parts *parts)
{
	free(parts->vary);
	free(parts->upstream);
	object_unref(&parts->object);
	object_head_unref(&parts->head);
}

bool entry_key_of_parts(const char *key, size_t len)
{
	size_t n = sizeof ENTRY_PARTS - 1;

	return len >= n && !memcmp(key + len - n, ENTRY_PARTS, n);
}

struct entry *entry_new(const char *key, size_t key_len, struct entry_parts *parts)
{
	struct entry *e = calloc(1, sizeof *e);

	if (!e) {
		entry_parts_free(parts);
		return NULL;
	}
	atomic_init(&e->refs, 1);
	atomic_init(&e->hits, 0);
	atomic_flag_clear(&e->claimed);
	atomic_init(&e->noted, 0);
	e->vary = parts->vary;
	e->generation = parts->generation;
	e->object = parts->object;
	e->head = parts->head;
	e->part = parts->part;
	e->upstream = parts->upstream;
	e->upstream_len = parts->upstream_len;
	if (parts->freshness)
		e->freshness = *parts->freshness;
	if (!(e->key = malloc(key_len ? key_len : 1))) {
		entry_unref(&e);
		return NULL;
	}
	memcpy(e->key, key, key_len);
	e->key_len = key_len;
	if (e->object)
		entry_compact(e);
	e->bytes = entry_count(e);
	return e;
}

bool entry_is_hot(struct entry *e, unsigned enough)
{
	return atomic_load_explicit(&e->hits, memory_order_relaxed) >= enough ||
	    atomic_fetch_add_explicit(&e->hits, 1, memory_order_relaxed) + 1 >= enough;
}

int64_t entry_now(struct entry *e, int64_t wall, int64_t monotonic)
{
	int64_t ahead = wall - monotonic, noted = atomic_load_explicit(&e->noted, memory_order_relaxed);

	if (!noted)
		atomic_store_explicit(&e->noted, ahead, memory_order_relaxed);
	return noted - ahead > FRESHNESS_AHEAD_MAX_S ? monotonic + noted : wall;
}

bool entry_claim(struct entry *e)
{
	return !atomic_flag_test_and_set_explicit(&e->claimed, memory_order_relaxed);
}

struct entry *entry_ref(struct entry *e)
{
	atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
	return e;
}

static __attribute__((cold)) void entry_free(struct entry *e)
{
	object_unref(&e->object);
	object_head_unref(&e->head);
	free(e->key);
	free(e->vary);
	free(e->upstream);
	free(e);
}

void entry_unref(struct entry **ep)
{
	struct entry *e = *ep;

	*ep = NULL;
	if (e && atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1)
		entry_free(e);
}

struct entry *entry_expired(struct entry *e, int64_t now)
{
	struct freshness freshness = e->freshness;
	struct entry_parts parts = { .freshness = &freshness, .generation = e->generation, .part = e->part,
		.upstream_len = e->upstream_len };
	struct entry *expired;

	if (!e->object)
		return entry_ref(e);
	freshness_expire(&freshness, now);
	if (!(parts.upstream = malloc(e->upstream_len ? e->upstream_len : 1)))
		return NULL;
	if (e->upstream_len)
		memcpy(parts.upstream, e->upstream, e->upstream_len);
	parts.object = object_ref(e->object);
	parts.head = object_head_ref(e->head);
	expired = entry_new(e->key, e->key_len, &parts);
	if (expired)
		atomic_init(&expired->noted, atomic_load_explicit(&e->noted, memory_order_relaxed));
	return expired;
}
