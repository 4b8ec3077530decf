/* Entries: their references and the memory they take; see entry.h. */
#include "proxy/store/entry.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proxy/http/head_text.h"

/* What malloc took. */
static size_t malloced_bytes(void *p)
{
	return p ? malloc_usable_size(p) + sizeof(size_t) : 0;
}

static size_t head_bytes(struct object_head *head)
{
	return head && !head->home ? malloced_bytes(head) + malloced_bytes(head->bytes) : 0;
}

/* Of an inlay that lies in another entry's block all of that block counts. */
static size_t entry_count(const struct entry *e)
{
	size_t sum = heap_bytes(e);

	if (e->object && !e->whole)
		sum += object_memory(e->object) + head_bytes(object_get_head(e->object));
	return sum;
}

void entry_prefetch(const struct entry *e)
{
	enum { LINES = 16, LINE_BYTES = 64 };

	for (size_t i = 0; i < LINES; i++)
		__builtin_prefetch((const char *)e + i * LINE_BYTES);
}

void entry_prefetch_object(const struct entry *e)
{
	if (!e->whole)
		__builtin_prefetch(e->object);
}

size_t entry_gzip_bytes(const struct object *form)
{
	return object_memory(form) + head_bytes(object_get_head(form));
}

/* Segments are made before the length of the body is known. So most of a short body's last segment may be empty, and
 * the first segments of a long body may share pages. NULL: the object may stay as it is, or memory ran out. */
static struct object *compact_copy(const struct object *o)
{
	enum { WASTE_MIN_BYTES = 512, WASTE_SHARE = 16,
		COPY_MAX_BYTES = 1024 * 1024 /* copied within a fraction of a millisecond */ };
	uint64_t length = object_length(o);
	bool wasteful = object_unused(o) > length / WASTE_SHARE + WASTE_MIN_BYTES;

	if (object_home(o) || length > COPY_MAX_BYTES || (!wasteful && !object_wants_pages(o)))
		return NULL;
	return object_compact(o);
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

/* Where in an entry's block its things lie; zero: there is none. */
struct entry_layout { size_t key, head, head_text, object, vary, upstream, end; };

static size_t aligned(size_t at)
{
	enum { ALIGNMENT = 8 };

	return (at + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* The parts that a hit reads come first. */
static struct entry_layout entry_layout(size_t key_len, const struct entry_parts *parts)
{
	struct entry_layout l = { .key = sizeof(struct entry) };
	size_t inlay = parts->object ? object_inlay_bytes(parts->object) : 0;

	l.end = l.key + key_len;
	if (parts->head && (inlay || !parts->object || object_get_head(parts->object) != parts->head)) {
		l.head = aligned(l.end);
		l.head_text = l.head + sizeof *parts->head;
		l.end = l.head_text + parts->head->len;
	}
	if (inlay) {
		l.object = aligned(l.end);
		l.end = l.object + inlay;
	}
	if (parts->vary) {
		l.vary = l.end;
		l.end += strlen(parts->vary) + 1;
	}
	if (parts->upstream) {
		l.upstream = l.end;
		l.end += parts->upstream_len;
	}
	return l;
}

static void *laid(struct entry *e, size_t at, const void *bytes, size_t len)
{
	return at ? memcpy((char *)e + at, bytes, len) : NULL;
}

static struct object_head *laid_head(struct entry *e, const struct entry_layout *layout, const struct object_head *from)
{
	struct object_head *head = (struct object_head *)(void *)((char *)e + layout->head);

	if (!layout->head)                  /* there is none, or it is the object's, too */
		return from ? object_head_ref((struct object_head *)(uintptr_t)from) : NULL;
	*head = (struct object_head){ .status = from->status, .len = from->len, .content_length = from->content_length,
		.etag_end = from->etag_end, .no_body = from->no_body, .gzip = from->gzip, .home = &e->home,
		.bytes = laid(e, layout->head_text, from->bytes, from->len) };
	atomic_init(&head->refs, 1);
	atomic_fetch_add_explicit(&e->home.things, 1, memory_order_relaxed);
	return head;
}

/* A long object stays where it is, or gets a compact copy. -1: out of memory. */
static int entry_take_object(struct entry *e, const struct entry_layout *layout, const struct object *from,
    size_t *more)
{
	if (!layout->object) {
		if (!(e->object = compact_copy(from)))
			e->object = object_ref((struct object *)(uintptr_t)from);
		return 0;
	}
	if (!(e->object = object_inlay((char *)e + layout->object, from, e->head, &e->home, more)))
		return -1;
	e->whole = true;
	atomic_fetch_add_explicit(&e->home.things, 1, memory_order_relaxed);
	return 0;
}

struct entry *entry_new(const char *key, size_t key_len, struct entry_parts *parts)
{
	struct entry_layout l = entry_layout(key_len, parts);
	struct entry *e = l.end <= HEAP_MAX ? heap_take(HEAP_KEPT, l.end) : NULL;
	size_t more = 0;

	if (!e) {
		entry_parts_free(parts);
		return NULL;
	}
	memset(e, 0, sizeof *e);
	atomic_init(&e->home.things, 1);
	atomic_init(&e->refs, 1);
	atomic_flag_clear(&e->claimed);
	e->key = laid(e, l.key, key, key_len);
	e->key_len = (uint32_t)key_len;
	e->vary = laid(e, l.vary, parts->vary, parts->vary ? strlen(parts->vary) + 1 : 0);
	e->generation = parts->generation;
	e->since = parts->since;
	e->part = parts->part;
	e->upstream = laid(e, l.upstream, parts->upstream, parts->upstream_len);
	e->upstream_len = (uint32_t)parts->upstream_len;
	if (parts->freshness)
		e->freshness = *parts->freshness;
	e->head = laid_head(e, &l, parts->head);
	if (parts->object && entry_take_object(e, &l, parts->object, &more))
		entry_unref(&e);
	entry_parts_free(parts);
	if (e)
		e->bytes = entry_count(e) + more;
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

int64_t entry_ends_s(const struct entry *e)
{
	struct slice upstream = { e->upstream, e->upstream_len };

	if (e->vary)
		return ENTRY_ENDS_LAST;
	if (head_text_get(upstream, "etag").at || head_text_get(upstream, "last-modified").at)
		return ENTRY_ENDS_NEVER;
	return freshness_use_s(&e->freshness);
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
	home_leave(&e->home);
}

void entry_unref(struct entry **ep)
{
	struct entry *e = *ep;

	*ep = NULL;
	if (e && atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1)
		entry_free(e);
}

/* A purge may have been made by another machine's clock, which is ahead: until that time comes here the entry would
 * count as fresh. */
static int64_t not_to_come(int64_t time_s)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return time_s > t.tv_sec ? t.tv_sec - 1 : time_s;
}

struct entry *entry_expired(struct entry *e, int64_t now)
{
	struct freshness freshness = e->freshness;
	struct entry_parts parts = { .freshness = &freshness, .generation = e->generation, .since = e->since,
		.part = e->part, .upstream_len = e->upstream_len };

	if (!e->object)
		return entry_ref(e);
	freshness_expire(&freshness, not_to_come(now));
	if (!(parts.upstream = malloc(e->upstream_len ? e->upstream_len : 1)))
		return NULL;
	if (e->upstream_len)
		memcpy(parts.upstream, e->upstream, e->upstream_len);
	parts.object = object_ref(e->object);
	parts.head = object_head_ref(e->head);
	struct entry *expired = entry_new(e->key, e->key_len, &parts);
	if (expired)
		atomic_init(&expired->noted, atomic_load_explicit(&e->noted, memory_order_relaxed));
	return expired;
}
