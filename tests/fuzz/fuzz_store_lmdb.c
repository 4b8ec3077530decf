/* Owns feeding arbitrary bytes to what the LMDB store reads back: the values of its tables as they stand in the file. The first byte says
 * whether the checksum is as it comes or put right. Must not know: threads, LMDB's pages, which the store believes.
 * Invariants: nothing is caught here, so no value makes the store read what is not there; no key has another's bytes. */
#include "tests/unit/entries.h"

#include <dirent.h>
#include <endian.h>

#include "proxy/base/hash.h"
#include "proxy/base/log.h"
#include "proxy/store/store_lmdb_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAP = 1 << 20, KEYS = 48 };
enum { HOW_VALUES, HOW_ENTRY, HOWS };

static struct { uint8_t *bytes; size_t len; } sound;
static char folder[64];

static void require(bool holds)
{
	if (!holds)
		abort();
}

static const char *path_of(const char *file)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", folder, file);
	return path;
}

/* ---- the store without its threads ---- */

static struct lmdb_file *file_open(void)
{
	struct lmdb_file *f = calloc(1, sizeof *f);

	require(f && !lmdb_file_init(f, folder, MAP));
	require(!lmdb_open(f));
	return f;
}

static void file_close(struct lmdb_file *f)
{
	lmdb_close(f);
	lmdb_file_free(f);
	free(f);
}

static MDB_txn *begin(struct lmdb_file *f)
{
	MDB_txn *txn;

	require(!lmdb_begin(f, &txn));
	return txn;
}

static void key_of(char key[64], unsigned k)
{
	snprintf(key, 64, "http://h%u/%.*s\nk", k, (int)(k % 40), "a path that makes some keys longer than others");
}

static size_t length_of(unsigned k)
{
	return k % 8 ? k * 7919 % 900 : 3000 + k * 97;
}

static void put(struct lmdb_file *f, MDB_txn *txn, unsigned k)
{
	char key[64];
	struct entry *e;

	key_of(key, k);
	e = entries_new(key, k, length_of(k));
	require(!lmdb_put(f, txn, e));
	entry_unref(&e);
}

static void remove_one(struct lmdb_file *f, MDB_txn *txn, unsigned k)
{
	char key[64];

	key_of(key, k);
	require(!lmdb_remove(f, txn, key, strlen(key)));
}

static void look_up_all(struct lmdb_file *f)
{
	struct lmdb_news news = { .known = 0 };
	MDB_txn *txn;
	char key[64];

	require(!mdb_txn_begin(f->env, NULL, MDB_RDONLY, &txn));
	do
		require(!lmdb_marks_read(f, txn, &news));
	while (news.more);
	for (unsigned k = 0; k < KEYS; k++) {
		struct entry *e;
		bool damaged = false;

		key_of(key, k);
		require(!lmdb_get(f, txn, key, strlen(key), &e, &damaged));
		require(!e || (!damaged && entries_body_is(e, k, length_of(k))));
		entry_unref(&e);
	}
	mdb_txn_abort(txn);
}

static void purge(struct lmdb_file *f, const char *url, enum store_purge what, bool soft)
{
	struct store_op op = { .type = OP_PURGE, .key = (char *)(uintptr_t)url, .len = strlen(url), .what = what, .soft = soft, .now = 2000 };
	MDB_txn *txn = begin(f);

	require(!lmdb_purge(f, txn, &op));
	require(!mdb_txn_commit(txn));
}

static void change_all(struct lmdb_file *f)
{
	MDB_txn *txn;

	purge(f, "http://h1", PURGE_PREFIX, true);
	txn = begin(f);
	for (unsigned k = 0; k < KEYS; k += 2)
		remove_one(f, txn, k);
	require(!mdb_txn_commit(txn));
	txn = begin(f);
	for (unsigned k = 0; k < KEYS; k += 3)
		put(f, txn, k);
	require(!mdb_txn_commit(txn));
	look_up_all(f);
	require(!lmdb_evict(f, MAP, 8));
	purge(f, "", PURGE_ALL, false);
	txn = begin(f);
	for (unsigned k = 0; k < KEYS; k++)
		put(f, txn, k);
	require(!mdb_txn_commit(txn));
}

/* ---- a sound file: some levels, free pages, values on pages of their own ---- */

static void sound_read(void)
{
	FILE *file = fopen(path_of("data.mdb"), "rb");

	require(file && !fseek(file, 0, SEEK_END));
	sound.len = (size_t)ftell(file);
	rewind(file);
	require((sound.bytes = malloc(sound.len)) != NULL && fread(sound.bytes, 1, sound.len, file) == sound.len);
	fclose(file);
}

static void folder_clear(void)
{
	static const char *const files[] = { "data.mdb", "lock.mdb", "in-use", "purges" };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		unlink(path_of(files[i]));
	rmdir(folder);
}

static void sound_make(void)
{
	struct lmdb_file *f;

	log_set_level(LOG_LEVEL_ERROR);
	snprintf(folder, sizeof folder, "%s/utfeed-fuzz-%d", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", getpid());
	atexit(folder_clear);
	f = file_open();
	change_all(f);
	for (unsigned k = 0; k < KEYS; k += 5) {
		MDB_txn *txn = begin(f);

		remove_one(f, txn, k);
		require(!mdb_txn_commit(txn));
	}
	file_close(f);
	sound_read();
}

static void image_write(const uint8_t *bytes, size_t len)
{
	FILE *file = fopen(path_of("data.mdb"), "wb");

	require(file && fwrite(bytes, 1, len, file) == len && !fclose(file));
}

/* ---- values: how many bytes of them are the entry's, then both ---- */

static void put_raw(MDB_txn *txn, MDB_dbi table, const void *key, size_t key_len, const void *value, size_t len)
{
	MDB_val k = { key_len, (void *)(uintptr_t)key }, v = { len, (void *)(uintptr_t)value };

	require(!mdb_put(txn, table, &k, &v, 0));
}

static void values_use(struct lmdb_file *f, const char *key, size_t key_len)
{
	MDB_txn *txn;
	struct entry *e;
	bool damaged = false;

	require(!mdb_txn_begin(f->env, NULL, MDB_RDONLY, &txn));
	require(!lmdb_get(f, txn, key, key_len, &e, &damaged) && damaged == !e);
	require(!e || (e->key_len == key_len && !memcmp(e->key, key, key_len)));
	entry_unref(&e);
	mdb_txn_abort(txn);
	look_up_all(f);
	purge(f, "http://r", PURGE_PREFIX, true);
	purge(f, "http://raw/", PURGE_URL, false);
	require(!lmdb_evict(f, MAP, 8));
	change_all(f);
}

static void run_values(const uint8_t *value, size_t len, const uint8_t *order, size_t order_len)
{
	static const char key[] = "http://raw/\nk";
	uint64_t number = 0;
	struct lmdb_file *f;
	MDB_txn *txn;

	image_write(sound.bytes, sound.len);
	f = file_open();
	txn = begin(f);
	memcpy(&number, value, len < sizeof number ? len : sizeof number);
	put_raw(txn, f->entries, key, sizeof key - 1, value, len);
	put_raw(txn, f->order, &number, sizeof number, order, order_len);
	require(!mdb_txn_commit(txn));
	values_use(f, key, sizeof key - 1);
	file_close(f);
}

static void run_split(const uint8_t *data, size_t size)
{
	size_t len = size ? data[0] : 0;

	if (len > size - 1)
		len = size ? size - 1 : 0;
	run_values(data + 1, len, data + 1 + len, size > 1 + len ? size - 1 - len : 0);
}

/* A packed entry, its checksum and its row put right. */
static void run_entry(const uint8_t *data, size_t size)
{
	static const char start[] = { 0, 0, 0, 0, 0, 0, 1, 0, 'u', 't', 'f', 'e', 'e', 'd', '\r', '\n', ENTRY_FORMAT, 0, 0, 0 };
	static const char order[] = "\0\0\0\0\0\0\0\0http://raw/\nk";
	size_t len = sizeof start + size;
	uint8_t *value = malloc(len + sizeof(uint64_t));
	uint64_t sum;

	require(value != NULL);
	memcpy(value, start, sizeof start);
	if (size)
		memcpy(value + sizeof start, data, size);
	sum = htole64(hash_xx64(value + sizeof(uint64_t), len - sizeof(uint64_t)));
	memcpy(value + len, &sum, sizeof sum);
	run_values(value, len + sizeof sum, (const uint8_t *)order, sizeof order - 1);
	free(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const runs[HOWS])(const uint8_t *, size_t) = { run_split, run_entry };

	if (!sound.bytes)
		sound_make();
	if (size && size <= 4096)
		runs[data[0] % HOWS](data + 1, size - 1);
	return 0;
}
