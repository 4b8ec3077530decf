/* Owns the purges that the file of the LMDB store remembers, for all processes that share it. The table "marks" maps
 * the number of each (big-endian) to the process that made it, how many it had asked for by then, since when soft ones
 * make stale, and what is covered. Must not know: the queue, what is in an entry.
 * Invariants: a mark is written in the transaction that removes what it covers, and an entry is judged in the one that
 * writes it, so that none comes between. Numbers grow, also when the file is made anew (they are the time in
 * microseconds where that is later). There are MARKS_MAX_KEPT marks at most; what began before the oldest of them
 * cannot be judged, and is not stored. */
#include "proxy/store/store_lmdb_internal.h"

#include <endian.h>
#include <string.h>
#include <time.h>

enum { MARKS_MIN_KEPT = 64, MARKS_MAX_KEPT = 4096, MARKS_SHARE = 1 << 14 /* of the limit, for each */ };
enum { KIND_BEGIN = PURGE_ALL + 1 };   /* not a purge, but the first mark of a new file */

struct mark_head { uint64_t process, asked; int64_t now; uint8_t kind, soft; };
enum { MARK_NUMBERS = 3, MARK_HEAD_BYTES = 8 * MARK_NUMBERS + 2 };

static void head_write(char *at, const struct mark_head *head)
{
	uint64_t numbers[MARK_NUMBERS] = { htobe64(head->process), htobe64(head->asked), htobe64((uint64_t)head->now) };

	memcpy(at, numbers, sizeof numbers);
	at[sizeof numbers] = (char)head->kind;
	at[sizeof numbers + 1] = (char)head->soft;
}

static bool head_read(struct mark_head *head, const MDB_val *v)
{
	const char *at = v->mv_data;
	uint64_t numbers[MARK_NUMBERS];

	if (v->mv_size < MARK_HEAD_BYTES || v->mv_size > MARK_HEAD_BYTES + LMDB_MARK_URL)
		return false;
	memcpy(numbers, at, sizeof numbers);
	*head = (struct mark_head){ be64toh(numbers[0]), be64toh(numbers[1]), (int64_t)be64toh(numbers[2]),
		(uint8_t)at[sizeof numbers], at[sizeof numbers + 1] != 0 };
	return head->kind <= KIND_BEGIN;
}

static uint64_t mark_number(const MDB_val *k)
{
	uint64_t n = 0;

	if (k->mv_size == sizeof n)
		memcpy(&n, k->mv_data, sizeof n);
	return be64toh(n);
}

/* A mark that cannot be read counts as a purge of everything. */
static void mark_read(struct store_mark *mark, struct mark_head *head, const MDB_val *k, const MDB_val *v)
{
	if (!head_read(head, v))
		*head = (struct mark_head){ .kind = PURGE_ALL };
	*mark = (struct store_mark){ .number = mark_number(k), .what = PURGE_ALL, .soft = head->soft, .now = head->now,
		.url = "" };
	if (head->kind == PURGE_ALL || head->kind == KIND_BEGIN)
		return;
	mark->what = (enum store_purge)head->kind;
	mark->url = (const char *)v->mv_data + MARK_HEAD_BYTES;
	mark->len = v->mv_size - MARK_HEAD_BYTES;
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static int marks_drop_oldest(MDB_cursor *cursor, size_t n)
{
	MDB_val k, v;
	int rc = 0;

	while (n-- && !rc && !(rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST)))
		rc = mdb_cursor_del(cursor, 0);
	return rc;
}

/* Adds a mark behind the last one. A URL that is too long is cut, and the mark covers whatever begins so. */
static int marks_add_row(struct lmdb_file *file, MDB_txn *txn, MDB_cursor *cursor, const struct mark_head *head,
    const char *url, size_t len)
{
	char key[sizeof(uint64_t)], value[MARK_HEAD_BYTES + LMDB_MARK_URL];
	uint64_t number = now_us();
	MDB_val k, v;
	int rc = mdb_cursor_get(cursor, &k, &v, MDB_LAST);

	if (rc && rc != MDB_NOTFOUND)
		return rc;
	if (!rc && mark_number(&k) >= number)
		number = mark_number(&k) + 1;
	uint64_t big = htobe64(number);
	memcpy(key, &big, sizeof key);
	head_write(value, head);
	memcpy(value + MARK_HEAD_BYTES, url, len);
	k = (MDB_val){ sizeof key, key };
	v = (MDB_val){ MARK_HEAD_BYTES + len, value };
	return mdb_put(txn, file->marks, &k, &v, 0);
}

static int marks_insert(struct lmdb_file *file, MDB_txn *txn, const struct mark_head *head, const char *url, size_t len)
{
	size_t share = file->limit_bytes / MARKS_SHARE,
	       kept = share < MARKS_MIN_KEPT ? MARKS_MIN_KEPT : share > MARKS_MAX_KEPT ? MARKS_MAX_KEPT : share;
	MDB_cursor *cursor;
	MDB_stat stat;
	int rc = mdb_stat(txn, file->marks, &stat);

	if (rc || (rc = mdb_cursor_open(txn, file->marks, &cursor)))
		return rc;
	if (stat.ms_entries >= kept)           /* with room for the new one */
		rc = marks_drop_oldest(cursor, stat.ms_entries + 1 - kept);
	if (!rc)
		rc = marks_add_row(file, txn, cursor, head, url, len);
	mdb_cursor_close(cursor);
	return rc;
}

int lmdb_marks_begin(struct lmdb_file *file, MDB_txn *txn)
{
	const struct mark_head h = { .process = file->process, .kind = KIND_BEGIN };
	int rc = mdb_drop(txn, file->marks, 0);

	return rc ? rc : marks_insert(file, txn, &h, "", 0);
}

int lmdb_marks_add(struct lmdb_file *file, MDB_txn *txn, const struct store_op *op)
{
	struct mark_head h = { .process = file->process, .asked = op->asked, .kind = (uint8_t)op->what,
		.soft = op->soft, .now = op->now };
	size_t len = op->what == PURGE_ALL ? 0 : op->len;

	if (len > LMDB_MARK_URL) {
		len = LMDB_MARK_URL;
		h.kind = PURGE_PREFIX;
	}
	return marks_insert(file, txn, &h, op->key, len);
}

/* Sets the cursor behind the mark of that number. *whole: all that came behind it are there. A fetch that began before
 * this process knew any (0) is judged by all of them. */
static int marks_seek(MDB_cursor *cursor, uint64_t since, MDB_val *k, MDB_val *v, bool *whole)
{
	uint64_t big = htobe64(since);
	struct store_mark m;
	struct mark_head h;
	int rc;

	*whole = false;
	*k = (MDB_val){ sizeof big, &big };
	if ((rc = mdb_cursor_get(cursor, k, v, MDB_SET_RANGE)))
		return rc;
	mark_read(&m, &h, k, v);
	*whole = since ? m.number == since : h.kind == KIND_BEGIN;
	return *whole ? mdb_cursor_get(cursor, k, v, MDB_NEXT) : 0;
}

int lmdb_marks_allow(struct lmdb_file *file, MDB_txn *txn, const struct entry *e, bool *allowed)
{
	struct store_mark m;
	struct mark_head h;
	MDB_cursor *cursor;
	MDB_val k, v;
	int rc = mdb_cursor_open(txn, file->marks, &cursor);

	*allowed = false;
	if (rc)
		return rc;
	rc = marks_seek(cursor, e->since, &k, &v, allowed);
	while (*allowed && !rc) {
		mark_read(&m, &h, &k, &v);
		*allowed = h.kind == KIND_BEGIN || (h.process == file->process && h.asked <= e->asked) ||
		    !store_purges(m.what, m.url, m.len, e->key, e->key_len);
		rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
	}
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

/* Copies the purges of other processes; purges of this process count as known. */
static void marks_note(struct lmdb_news *news, uint64_t process, const MDB_val *k, const MDB_val *v)
{
	struct store_mark m;
	struct mark_head h;

	mark_read(&m, &h, k, v);
	news->known = m.number;
	if (h.kind == KIND_BEGIN || h.process == process)
		return;
	news->others = m.number;
	memcpy(news->urls[news->n], m.url, m.len);
	m.url = news->urls[news->n];
	news->marks[news->n++] = m;
}

int lmdb_marks_read(struct lmdb_file *file, MDB_txn *txn, struct lmdb_news *news)
{
	MDB_val k, v;
	int rc = file->news ? mdb_cursor_renew(txn, file->news) : mdb_cursor_open(txn, file->marks, &file->news);
	MDB_cursor *cursor = file->news;
	bool whole;

	if (rc)
		return rc;
	news->n = 0;
	rc = marks_seek(cursor, news->known, &k, &v, &whole);
	news->missed = !whole;
	if (news->missed)
		rc = mdb_cursor_get(cursor, &k, &v, MDB_LAST);
	news->missed &= !rc;
	while (!rc && news->n < LMDB_NEWS) {
		marks_note(news, file->process, &k, &v);
		rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
	}
	news->more = !rc;
	return rc == MDB_NOTFOUND ? 0 : rc;
}
