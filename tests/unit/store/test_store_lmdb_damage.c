/* Owns what LMDB's store does with a file that was damaged while nobody had it open: a table of kinds of damage, each at many places.
 * Must not know: the file's format, but for the length of its pages. Invariant: whatever is done to the file the store opens, gives no
 * wrong byte, and takes and gives entries as before. The places follow from a seed: a failing row can be run again. */
#include "tests/unit/entries.h"
#include "tests/unit/stores.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
enum { MAP = 4 << 20, KEYS = 120, PAGE = 4096, FIELDS = 160 };
enum { LATEST = 24 };         /* entries that are written last, in as many transactions as chance makes of them */
#ifndef TIMES
#define TIMES 8               /* of each kind */
#endif

struct image { unsigned char *bytes; size_t len; };
static unsigned dice_state;

static size_t dice(size_t below)
{
	dice_state = dice_state * 1103515245 + 12345;
	return ((size_t)(dice_state >> 8) * 7919 + (dice_state >> 20)) % below;
}

static void flip_a_bit(struct image *i) { i->bytes[dice(i->len)] ^= (unsigned char)(1u << dice(8)); }
static void flip_in_a_head(struct image *i) { i->bytes[dice(i->len / PAGE) * PAGE + dice(FIELDS)] ^= (unsigned char)(1u << dice(8)); }
static void flip_in_the_metas(struct image *i) { i->bytes[dice(2) * PAGE + dice(FIELDS)] ^= (unsigned char)(1u << dice(8)); }
static void zero_a_page(struct image *i) { memset(i->bytes + dice(i->len / PAGE) * PAGE, 0, PAGE); }
static void cut(struct image *i) { i->len = dice(i->len); }
static void cut_at_a_page(struct image *i) { i->len = dice(i->len / PAGE) * PAGE; }
static void one_page_for_another(struct image *i)
{
	memmove(i->bytes + dice(i->len / PAGE) * PAGE, i->bytes + dice(i->len / PAGE) * PAGE, PAGE);
}

static void write_noise(struct image *i)
{
	size_t at = dice(i->len - 512);

	for (size_t n = 1 + dice(511); n; n--)
		i->bytes[at + n] = (unsigned char)dice(256);
}

static void write_a_number(struct image *i)
{
	uint64_t numbers[] = { 0, 1, 2, 0xffff, UINT32_MAX, INT64_MAX, UINT64_MAX, i->len / PAGE, i->len / PAGE - 1, dice(i->len / PAGE) };

	memcpy(i->bytes + dice(i->len / PAGE) * PAGE + dice(FIELDS / 8) * 8, &numbers[dice(COUNT(numbers))], 8);
}

static const struct { const char *name; void (*harm)(struct image *); } kinds[] = {
	{ "a bit", flip_a_bit }, { "a bit of a page's head", flip_in_a_head }, { "a bit of the meta pages", flip_in_the_metas },
	{ "a page of zeros", zero_a_page }, { "cut anywhere", cut }, { "cut at a page", cut_at_a_page }, { "noise", write_noise },
	{ "a page in another's place", one_page_for_another }, { "a number", write_a_number },
};

static void key_of(char key[32], unsigned k)
{
	snprintf(key, 32, "http://h%u/\nk", k);
}

static size_t length_of(unsigned k)
{
	return k % 9 ? k * 7919 % 3000 : k * 7919 % 60000;
}

static void file_name(char name[128], const char *file)
{
	snprintf(name, 128, "%s/%s", stores_folder(), file);
}

static void put_all(struct store *s, unsigned step)
{
	char key[32];

	for (unsigned k = 0; k < KEYS; k += step) {
		key_of(key, k);
		stores_put(s, key, k, length_of(k));
	}
}

/* A file with a past: free pages, several levels, values on pages of their own. */
static struct image image_make(void)
{
	struct store *s = stores_lmdb(MAP);
	struct image i;
	char key[32], name[128];
	struct stat st;
	int fd;

	put_all(s, 1);
	stores_misses(s, "http://nobody/\nk");
	for (unsigned k = 0; k < KEYS; k += 3) {
		key_of(key, k);
		s->ops->remove(s, key, strlen(key));
	}
	s->ops->free(s);
	s = stores_lmdb(MAP);
	put_all(s, KEYS / LATEST);
	s->ops->free(s);
	file_name(name, "data.mdb");
	fd = open(name, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) || !(i.bytes = malloc((size_t)st.st_size)))
		abort();
	i.len = (size_t)st.st_size;
	if (read(fd, i.bytes, i.len) != (ssize_t)i.len)
		abort();
	close(fd);
	return i;
}

static void image_write(const struct image *i)
{
	char name[128];
	int fd;

	file_name(name, "data.mdb");
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, i->bytes, i->len) != (ssize_t)i->len)
		abort();
	close(fd);
}

/* How many of the keys are there; -1: one has another's bytes. */
static int held(struct store *s)
{
	char key[32];
	int n = 0;

	for (unsigned k = 0; k < KEYS; k++) {
		struct entry *e;

		key_of(key, k);
		if (!(e = stores_fetch(s, key)))
			continue;
		n = n >= 0 && entries_body_is(e, k, length_of(k)) ? n + 1 : -1;
		entry_unref(&e);
	}
	return n;
}

static bool is_there(const char *file)
{
	char name[128];

	file_name(name, file);
	return !access(name, F_OK);
}

/* Writes that touch every page: what the check let through must bear them. */
static bool works(struct store *s)
{
	put_all(s, 2);
	s->ops->purge(s, PURGE_PREFIX, "http://h1", 9, false, 2000);
	put_all(s, 1);
	return held(s) == KEYS;
}

/* Without its meta page the last transaction has not been, and the one before it counts. */
static int may_be_lost(const struct image *sound, const struct image *harmed)
{
	return memcmp(sound->bytes, harmed->bytes, 2 * PAGE) ? LATEST : 2;
}

static void row(const char *name, int time, const struct image *sound, const struct image *harmed, int before)
{
	struct store *s;
	char damaged[128];
	int n;

	file_name(damaged, "data.mdb.damaged");
	unlink(damaged);
	image_write(harmed);
	s = stores_lmdb(MAP);
	if (!UNIT_ROW(s != NULL, "trust 16: %s, %d: opens", name, time))
		return;
	n = held(s);
	UNIT_ROW(n >= 0, "trust 16: %s, %d: no wrong byte", name, time);
	UNIT_ROW(n >= before - may_be_lost(sound, harmed) || is_there("data.mdb.damaged") || !harmed->len, "trust 16: %s, %d: %d of %d kept", name, time, n, before);
	UNIT_ROW(works(s), "trust 16: %s, %d: works", name, time);
	s->ops->free(s);
	s = stores_lmdb(MAP);
	UNIT_ROW(s && held(s) == KEYS, "trust 16: %s, %d: opens once more", name, time);
	if (s)
		s->ops->free(s);
}

static void trust_16_damage(void)
{
	struct image sound = image_make(), harmed = { malloc(sound.len), 0 };
	struct store *s = stores_lmdb(MAP);
	int before = held(s);

	s->ops->free(s);
	for (size_t kind = 0; kind < COUNT(kinds); kind++)
		for (int time = 0; time < TIMES; time++) {
			dice_state = (unsigned)(kind * 1000003 + (size_t)time);
			memcpy(harmed.bytes, sound.bytes, sound.len);
			harmed.len = sound.len;
			kinds[kind].harm(&harmed);
			row(kinds[kind].name, time, &sound, &harmed, before);
		}
	free(harmed.bytes);
	free(sound.bytes);
	stores_folder_clear();
}

UNIT_SUITE(store_lmdb_damage, { "trust 16: damage", trust_16_damage })
