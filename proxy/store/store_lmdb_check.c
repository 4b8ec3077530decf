/* Walks the pages of an LMDB file; see store_lmdb_check.h. The structures are those in a file of LMDB 0.9: numbers are
 * in the machine's own byte order, page numbers as wide as its addresses. */
#include "proxy/store/store_lmdb_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_BRANCH = 1, PAGE_LEAF = 2, PAGE_OVERFLOW = 4, PAGE_META = 8 };
enum { NODE_BIG = 1 /* the value stands on pages of its own */, NODE_TREE = 2 /* the value is a tree's record */ };
enum { META_PAGES = 2, DEPTH_MAX = 32, KEY_MAX = 511, PAGE_MIN_BYTES = 512, PAGE_MAX_BYTES = 32768, INTEGER_KEYS = 8 };
#define MAGIC 0xBEEFC0DEu
#define NO_PAGE SIZE_MAX
#define MAP_MAX_BYTES (UINT64_C(1) << 40)         /* the most that cache-lmdb-bytes may say */

struct page_head {
	size_t number;
	uint16_t pad, flags;
	union {
		struct {
			uint16_t lower, upper;
		} free;
		uint32_t pages;
	} u;
};
struct tree_record { uint32_t pad; uint16_t flags, depth; size_t branches, leaves, overflows, entries, root; };
struct meta_record {
	uint32_t magic, version;
	void *address;
	size_t map_bytes;
	struct tree_record free, names;
	size_t last;
	size_t txnid;
};
struct node_head { uint16_t lo, hi, flags, key_len; };
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define NODE_SIZE(n) ((uint32_t)(n).lo << 16 | (n).hi)
#else
#define NODE_SIZE(n) ((uint32_t)(n).hi << 16 | (n).lo)
#endif

struct check;
/* The keys and values that the leaves of a tree may hold. record checks a value; NULL: any value of value_least to
 * value_most bytes. */
struct tree_kind {
	const char *name;
	bool numbers;                  /* the keys are LMDB's own numbers and compared as numbers */
	size_t key_least, key_most, value_least, value_most;
	bool (*record)(struct check *, const char *key, const char *value, size_t len);
	uint16_t node_flags;           /* the flags of every node on a leaf, NODE_BIG aside */
};

struct check {
	int fd;
	const atomic_bool *stop;
	struct check_found *found;
	enum check_verdict verdict;
	size_t page_bytes, file_pages;
	uint64_t last, unwritten;      /* last: number of the last page; unwritten: free pages behind the file's end */
	uint64_t txnid;
	uint64_t *seen;                /* a bit for each page that something leads to */
	char *levels[DEPTH_MAX];       /* a page on each level */
	uint8_t *used;                 /* of the present page, one byte for each two: 1 where a node has them */
	/* of the tree being walked */
	const struct tree_kind *kind;
	struct tree_record counted;
	char key[KEY_MAX];             /* the last one seen */
	size_t key_len;
	bool any, may_equal;           /* may_equal: key was a branch's, so the next one may be the same */
};

static bool check_tree_record(struct check *, const struct tree_record *, const struct tree_kind *);

static bool damaged(struct check *c, const char *fault, uint64_t page)
{
	if (c->verdict == CHECK_SOUND) {
		c->verdict = CHECK_DAMAGED;
		c->found->fault = fault;
		c->found->page = page;
	}
	return false;
}

static bool read_at(int fd, void *to, size_t len, uint64_t at)
{
	size_t got = 0;
	ssize_t n;

	while (got < len) {
		n = pread(fd, (char *)to + got, len - got, (off_t)(at + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

/* Marks pages as seen; a page that was seen before is damage. */
static bool mark(struct check *c, uint64_t first, uint64_t count)
{
	if (first < META_PAGES || first > c->last || count > c->last - first + 1)
		return damaged(c, "a page outside of the file", first);
	for (uint64_t p = first; p < first + count; p++) {
		if (c->seen[p / 64] >> p % 64 & 1)
			return damaged(c, "a page that is used twice", p);
		c->seen[p / 64] |= UINT64_C(1) << p % 64;
	}
	return true;
}

static bool mark_written(struct check *c, uint64_t first, uint64_t count)
{
	return mark(c, first, count) &&
	    (first + count <= c->file_pages || damaged(c, "a page behind the end of the file", first));
}

/* ---- values ---- */

/* Checks a value that stands on pages of its own; *head is the head of the first. */
static bool big_value(struct check *c, uint64_t first, size_t len, struct page_head *head)
{
	uint64_t needed = (sizeof *head - 1 + len) / c->page_bytes + 1;

	if (first > c->last || !read_at(c->fd, head, sizeof *head, first * c->page_bytes))
		return damaged(c, "a value behind the end of the file", first);
	if (head->number != first || head->flags != PAGE_OVERFLOW || head->u.pages < needed)
		return damaged(c, "a value on a page that is none of values", first);
	c->counted.overflows += head->u.pages;
	return mark_written(c, first, head->u.pages);
}

/* Checks a list of free pages: their count, then their numbers, the highest first. */
static bool free_list(struct check *c, const char *key, const char *value, size_t len)
{
	size_t txnid, count, number, above = c->last + 1;

	memcpy(&txnid, key, sizeof txnid);
	memcpy(&count, value, sizeof count);
	if (!txnid || txnid > c->txnid || len % sizeof count || count > len / sizeof count - 1)
		return damaged(c, "a list of free pages that is none", 0);
	for (size_t i = 1; i <= count; i++, above = number) {
		memcpy(&number, value + i * sizeof number, sizeof number);
		if (number >= above)
			return damaged(c, "a list of free pages out of order", number);
		if (!mark(c, number, 1))
			return false;
		c->unwritten += number >= c->file_pages;
	}
	return true;
}

static bool table(struct check *, const char *key, const char *value, size_t len);

static const struct tree_kind free_kind = { "", true, sizeof(size_t), sizeof(size_t), sizeof(size_t), UINT32_MAX,
	free_list, 0 };
static const struct tree_kind names_kind = { "", false, 1, KEY_MAX, sizeof(struct tree_record),
	sizeof(struct tree_record), table, NODE_TREE };
static const struct tree_kind tables[] = {
	{ "entries", false, 1, KEY_MAX, 0, UINT32_MAX, NULL, 0 },
	{ "marks", false, sizeof(uint64_t), sizeof(uint64_t), 0, UINT32_MAX, NULL, 0 },
	{ "meta", false, 1, KEY_MAX, 0, UINT32_MAX, NULL, 0 },
	{ "order", false, 1, KEY_MAX, 0, UINT32_MAX, NULL, 0 },
};

/* Checks one of our tables. key has no NUL at its end; its length is c->key_len. */
static bool table(struct check *c, const char *key, const char *value, size_t len)
{
	struct tree_record record;
	struct check outer = *c;

	memcpy(&record, value, len);
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (c->key_len == strlen(tables[i].name) && !memcmp(key, tables[i].name, c->key_len)) {
			bool sound =
			    (!record.flags && !record.pad) || damaged(c, "a table with other flags than ours", 0);

			sound = sound && check_tree_record(c, &record, &tables[i]);
			c->kind = outer.kind;
			c->counted = outer.counted;
			memcpy(c->key, outer.key, sizeof c->key);
			c->key_len = outer.key_len;
			c->any = outer.any;
			c->may_equal = outer.may_equal;
			return sound;
		}
	return damaged(c, "a table that is none of ours", 0);
}

static bool value_of_leaf(struct check *c, const struct node_head *n, const char *at, uint64_t page)
{
	size_t len = NODE_SIZE(*n), first;
	const char *value = at + sizeof *n + n->key_len;
	struct page_head head;
	bool sound;
	char *whole;

	if ((n->flags & ~NODE_BIG) != c->kind->node_flags || len < c->kind->value_least || len > c->kind->value_most)
		return damaged(c, "a value of another kind", page);
	c->counted.entries++;
	if (!(n->flags & NODE_BIG))
		return !c->kind->record || c->kind->record(c, at + sizeof *n, value, len);
	memcpy(&first, value, sizeof first);
	if (!big_value(c, first, len, &head))
		return false;
	if (!c->kind->record)
		return true;
	if (!(whole = malloc(len))) {
		c->verdict = CHECK_NO_MEMORY;
		return false;
	}
	sound = read_at(c->fd, whole, len, first * c->page_bytes + sizeof head)
	    ? c->kind->record(c, at + sizeof *n, whole, len)
	    : damaged(c, "a value behind the end of the file", first);
	free(whole);
	return sound;
}

/* ---- pages ---- */

static int key_compare(const struct check *c, const char *key, size_t len)
{
	size_t a, b;
	int order;

	if (c->kind->numbers) {
		memcpy(&a, c->key, sizeof a);
		memcpy(&b, key, sizeof b);
		return a < b ? -1 : a > b;
	}
	order = memcmp(c->key, key, c->key_len < len ? c->key_len : len);
	return order ? order : c->key_len < len ? -1 : c->key_len > len;
}

/* Keys rise throughout the tree. A key on a branch stands between the keys on both sides of it, and may be equal to the
 * first key behind it. */
static bool key_next(struct check *c, const char *key, size_t len, bool branch, uint64_t page)
{
	int order;

	if (len < c->kind->key_least || len > c->kind->key_most)
		return damaged(c, "a key of another length", page);
	order = c->any ? key_compare(c, key, len) : -1;
	if (order > 0 || (!order && (branch || !c->may_equal)))
		return damaged(c, "keys out of order", page);
	memcpy(c->key, key, len);
	c->key_len = len;
	c->any = true;
	c->may_equal = branch;
	return true;
}

/* Node i of a page; NULL: it leaves the page, or overlaps another node. */
static const char *node(struct check *c, const char *page, size_t i, bool leaf, struct node_head *n)
{
	const struct page_head *head = (const void *)page;
	uint16_t at;
	size_t size;

	memcpy(&at, page + sizeof *head + i * sizeof at, sizeof at);
	if (at % 2 || at < head->u.free.upper || at > c->page_bytes - sizeof *n)
		return NULL;
	memcpy(n, page + at, sizeof *n);
	size = sizeof *n + n->key_len + (!leaf ? 0 : n->flags & NODE_BIG ? sizeof(size_t) : NODE_SIZE(*n));
	if (size > c->page_bytes - at)
		return NULL;
	size = (size + 1) / 2;
	if (memchr(c->used + at / 2, 1, size))
		return NULL;
	memset(c->used + at / 2, 1, size);
	return page + at;
}

/* Checks the head and the nodes of a page: the nodes fill all of it behind upper. */
static bool page_frame(struct check *c, const char *page, uint64_t number, bool leaf, size_t *nodes)
{
	const struct page_head *head = (const void *)page;
	size_t lower = head->u.free.lower, upper = head->u.free.upper;
	struct node_head n;

	if (head->number != number || head->flags != (leaf ? PAGE_LEAF : PAGE_BRANCH))
		return damaged(c, "a page of another kind", number);
	if (lower < sizeof *head || lower % 2 || upper % 2 || lower > upper || upper > c->page_bytes)
		return damaged(c, "a page without bounds", number);
	*nodes = (lower - sizeof *head) / 2;
	if (*nodes < (leaf || c->kind == &free_kind ? 1 : 2))
		return damaged(c, "a page without nodes", number);
	memset(c->used, 0, c->page_bytes / 2);
	for (size_t i = 0; i < *nodes; i++)
		if (!node(c, page, i, leaf, &n))
			return damaged(c, "a node outside of its page", number);
	return !memchr(c->used + upper / 2, 0, (c->page_bytes - upper) / 2) || damaged(c, "a page with a gap", number);
}

static bool walk(struct check *, uint64_t number, unsigned level, unsigned depth);

static const char *node_again(const char *page, size_t i, struct node_head *n)
{
	uint16_t at;

	memcpy(&at, page + sizeof(struct page_head) + i * sizeof at, sizeof at);
	memcpy(n, page + at, sizeof *n);
	return page + at;
}

static bool walk_branch(struct check *c, const char *page, uint64_t number, size_t nodes, unsigned level,
    unsigned depth)
{
	struct node_head n;

	c->counted.branches++;
	for (size_t i = 0; i < nodes; i++) {
		const char *at = node_again(page, i, &n);
		uint64_t child = NODE_SIZE(n) | (sizeof(size_t) > 4 ? (uint64_t)n.flags << 32 : 0);

		if (i && !key_next(c, at + sizeof n, n.key_len, true, number))
			return false;
		if (!walk(c, child, level + 1, depth))
			return false;
	}
	return true;
}

static bool walk_leaf(struct check *c, const char *page, uint64_t number, size_t nodes)
{
	struct node_head n;

	c->counted.leaves++;
	for (size_t i = 0; i < nodes; i++) {
		const char *at = node_again(page, i, &n);

		if (!key_next(c, at + sizeof n, n.key_len, false, number) || !value_of_leaf(c, &n, at, number))
			return false;
	}
	return true;
}

static char *level_page(struct check *c, unsigned level)
{
	if (!c->levels[level] && !(c->levels[level] = malloc(c->page_bytes)))
		c->verdict = CHECK_NO_MEMORY;
	return c->levels[level];
}

/* Checks a page and all below it. Every leaf stands on the last of depth levels. */
static bool walk(struct check *c, uint64_t number, unsigned level, unsigned depth)
{
	bool leaf = level + 1 == depth;
	char *page = level_page(c, level);
	size_t nodes;

	if (!page)
		return false;
	if (c->stop && atomic_load_explicit(c->stop, memory_order_relaxed)) {
		c->verdict = CHECK_STOPPED;
		return false;
	}
	if (!mark_written(c, number, 1))
		return false;
	if (!read_at(c->fd, page, c->page_bytes, number * c->page_bytes))
		return damaged(c, "a page that cannot be read", number);
	return page_frame(c, page, number, leaf, &nodes) &&
	    (leaf ? walk_leaf(c, page, number, nodes) : walk_branch(c, page, number, nodes, level, depth));
}

/* The walk of a table keeps its pages in the upper half of levels: the lower half still holds the pages of the names
 * that lead to it. */
static bool check_tree_record(struct check *c, const struct tree_record *r, const struct tree_kind *kind)
{
	unsigned base = kind == &free_kind || kind == &names_kind ? 0 : DEPTH_MAX / 2;

	c->kind = kind;
	c->counted = (struct tree_record){ 0 };
	c->any = c->may_equal = false;
	if ((r->root == NO_PAGE) != (r->depth == 0) || r->depth > DEPTH_MAX / 2)
		return damaged(c, "a tree without depth", 0);
	if (r->depth && !walk(c, r->root, base, base + r->depth))
		return false;
	if (c->counted.branches != r->branches || c->counted.leaves != r->leaves ||
	    c->counted.overflows != r->overflows || c->counted.entries != r->entries)
		return damaged(c, "a tree that was counted otherwise", r->root);
	return true;
}

/* ---- the meta pages ---- */

static bool read_meta(struct check *c, uint64_t at, struct meta_record *m)
{
	char bytes[sizeof(struct page_head) + sizeof *m];
	struct page_head head;

	if (!read_at(c->fd, bytes, sizeof bytes, at))
		return damaged(c, "the file ends in its meta pages", at != 0);
	memcpy(&head, bytes, sizeof head);
	memcpy(m, bytes + sizeof head, sizeof *m);
	if (!(head.flags & PAGE_META) || m->magic != MAGIC || m->version != 1)
		return damaged(c, "a meta page that is none of this version of LMDB's", at != 0);
	return true;
}

static bool page_size_is_right(size_t n)
{
	return n >= PAGE_MIN_BYTES && n <= PAGE_MAX_BYTES && !(n & (n - 1));
}

static bool read_metas(struct check *c, struct meta_record m[META_PAGES])
{
	if (!read_meta(c, 0, &m[0]))
		return false;
	c->page_bytes = m[0].free.pad;
	if (!page_size_is_right(c->page_bytes))
		return damaged(c, "a size of pages that cannot be", 0);
	if (!read_meta(c, c->page_bytes, &m[1]))
		return false;
	if (m[1].free.pad != c->page_bytes)
		return damaged(c, "two sizes of pages", 1);
	return true;
}

static bool meta_is_right(struct check *c, const struct meta_record *m, uint64_t page)
{
	if (m->last < META_PAGES - 1 || m->map_bytes > MAP_MAX_BYTES || m->last >= m->map_bytes / c->page_bytes)
		return damaged(c, "a map that cannot be", page);
	/* A transaction finds its meta page by the last bit of its number (txnid). */
	if ((m->txnid & 1) != page || m->free.flags != INTEGER_KEYS || m->names.flags || m->names.pad)
		return damaged(c, "a meta page with other flags than ours", page);
	return true;
}

static bool measure_file(struct check *c)
{
	struct stat st;

	if (fstat(c->fd, &st))
		return damaged(c, "its length cannot be read", 0);
	c->file_pages = (size_t)st.st_size / c->page_bytes;
	return c->file_pages >= META_PAGES || damaged(c, "the file ends in its meta pages", 0);
}

enum check_verdict check_metas(int fd, struct check_found *found)
{
	struct check c = { .fd = fd, .found = found };
	struct meta_record m[META_PAGES];
	struct stat st;
	uint64_t newest;

	*found = (struct check_found){ 0 };
	if (!fstat(fd, &st) && !st.st_size)
		return CHECK_EMPTY;
	if (!read_metas(&c, m) || !measure_file(&c))
		return c.verdict;
	newest = m[0].txnid < m[1].txnid;
	if (!meta_is_right(&c, &m[newest], newest))
		return c.verdict;
	found->txnid = m[newest].txnid;
	return CHECK_SOUND;
}

/* Every page behind the end of the file must be a free one that was never written. */

static bool walk_all(struct check *c, const struct meta_record *m)
{
	return check_tree_record(c, &m->free, &free_kind) && check_tree_record(c, &m->names, &names_kind) &&
	    (c->last + 1 <= c->file_pages + c->unwritten || damaged(c, "the file has lost its end", c->file_pages));
}

enum check_verdict check_tree(int fd, uint64_t txnid, const atomic_bool *stop, struct check_found *found)
{
	struct check c = { .fd = fd, .found = found, .stop = stop };
	struct meta_record m[META_PAGES];
	const struct meta_record *mine = &m[txnid & 1];

	if (!read_metas(&c, m) || !measure_file(&c))
		return c.verdict;
	if (mine->txnid != txnid)
		return CHECK_EMPTY;
	if (!meta_is_right(&c, mine, txnid & 1))
		return c.verdict;
	c.last = mine->last;
	c.txnid = txnid;
	c.seen = calloc(c.last / 64 + 1, sizeof *c.seen);
	c.used = malloc(c.page_bytes / 2);
	if (c.seen && c.used)
		walk_all(&c, mine);
	else
		c.verdict = CHECK_NO_MEMORY;
	free(c.seen);
	free(c.used);
	for (size_t i = 0; i < DEPTH_MAX; i++)
		free(c.levels[i]);
	return c.verdict;
}
