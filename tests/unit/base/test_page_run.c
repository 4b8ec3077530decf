/* Owns the cases of proxy/base/page_run.c: whose bytes are whose, whatever is given back, and that what is given back is free. Must not know:
 * objects. Invariant: each live run holds its own number in every word. */
#include "proxy/base/page_run.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { PAGE = 4096, REGION = 2 << 20 };

struct run {
	uint64_t *words;
	size_t len;
	uint64_t number;
	struct pages_region *region;
};

static bool run_new(struct run *r, size_t len, bool lasting, uint64_t number)
{
	*r = (struct run){ .len = len, .number = number };
	if (!(r->words = (uint64_t *)(void *)page_run_new(len, lasting, &r->region)))
		return false;
	for (size_t i = 0; i < len / sizeof *r->words; i++) {
		if (r->words[i])
			return false;
		r->words[i] = number;
	}
	return true;
}

static bool run_holds(const struct run *r)
{
	for (size_t i = 0; i < r->len / sizeof *r->words; i++)
		if (r->words[i] != r->number)
			return false;
	return true;
}

static void run_free(struct run *r)
{
	if (r->words)
		page_run_free((uint8_t *)r->words, r->len, r->region);
	r->words = NULL;
}

static void sizes(void)
{
	static const struct { const char *name; size_t len; bool lasting, shares; } rows[] = {
		{ "a page", PAGE, true, true }, { "a byte", 1, true, true }, { "a feed", 100000, true, true }, { "half a huge page", REGION / 2, true, true },
		{ "more than half", REGION / 2 + 1, true, false }, { "a huge page", REGION, true, false }, { "not for long", 100000, false, false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct run r;

		UNIT_ROW(run_new(&r, rows[i].len, rows[i].lasting, i + 1) && run_holds(&r), "%s", rows[i].name);
		UNIT_ROW(!r.region == !rows[i].shares, "%s", rows[i].name);
		UNIT_ROW(page_run_whole(rows[i].len) >= rows[i].len && page_run_whole(rows[i].len) % (size_t)sysconf(_SC_PAGESIZE) == 0, "%s", rows[i].name);
		run_free(&r);
	}
}

static size_t mapped_bytes(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	CU_ASSERT_FATAL(f && fscanf(f, "%lu", &pages) == 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Runs of all sizes come, are trimmed, go, in any order. */
static void churn(unsigned seed, size_t steps)
{
	enum { LIVE = 96 };
	struct run *live = calloc(LIVE, sizeof *live);
	size_t faults = 0;

	for (size_t i = 0; i < steps; i++) {
		struct run *r = &live[(size_t)rand_r(&seed) % LIVE];
		size_t len = 1 + (size_t)rand_r(&seed) % (rand_r(&seed) % 16 ? 160000 : REGION);

		if (r->words) {
			faults += !run_holds(r);
			run_free(r);
			continue;
		}
		if (!run_new(r, len, rand_r(&seed) % 4, ((uint64_t)seed << 32) + i + 1)) {
			faults++;
		} else if (rand_r(&seed) % 4 == 0) {
			r->len = 1 + len / 3;
			page_run_trim((uint8_t *)r->words, len, r->len, r->region);
		}
	}
	for (size_t i = 0; i < LIVE; i++) {
		if (live[i].words)
			faults += !run_holds(&live[i]);
		run_free(&live[i]);
	}
	free(live);
	CU_ASSERT_EQUAL(faults, 0);
}

static void any_order(void)
{
	size_t before = mapped_bytes(), after;

	if (UNIT_RACES_ONLY)
		UNIT_SKIP("one thread has no races");
	churn(1, 8000);
	after = mapped_bytes();
	UNIT_ROW(after < before + 3 * REGION, "%zu bytes mapped, before %zu", after, before);
}

static void *churner(void *seed)
{
	churn(*(unsigned *)seed, UNIT_RACES_ONLY ? 400 : 1500);
	return NULL;
}

static void threads(void)
{
	unsigned seeds[] = { 2, 3, 4, 5 };
	pthread_t ids[COUNT(seeds)];

	for (size_t i = 0; i < COUNT(seeds); i++)
		CU_ASSERT_FATAL(!pthread_create(&ids[i], NULL, churner, &seeds[i]));
	for (size_t i = 0; i < COUNT(seeds); i++)
		pthread_join(ids[i], NULL);
}

/* The kernel holds what lies in a pipe; nothing that comes after the run may be seen there. */
static void never_again(void)
{
	enum { LEN = 16 * PAGE };
	static uint64_t got[LEN / sizeof(uint64_t)];
	int ends[2];

	CU_ASSERT_FATAL(!pipe(ends) && fcntl(ends[0], F_SETPIPE_SZ, 2 * LEN) >= LEN);
	for (int lasting = 0; lasting < 2; lasting++) {
		struct run r, next[64];
		bool same = true;

		CU_ASSERT_FATAL(run_new(&r, LEN, lasting, 7));
		CU_ASSERT_FATAL(vmsplice(ends[1], &(struct iovec){ r.words, LEN }, 1, 0) == LEN);
		run_free(&r);
		for (size_t i = 0; i < COUNT(next); i++)
			CU_ASSERT_FATAL(run_new(&next[i], LEN, lasting, 8));
		for (size_t have = 0; have < LEN;) {
			ssize_t n = read(ends[0], (uint8_t *)got + have, LEN - have);

			CU_ASSERT_FATAL(n > 0);
			have += (size_t)n;
		}
		for (size_t i = 0; i < COUNT(got); i++)
			same = same && got[i] == 7;
		UNIT_ROW(same, "%s", lasting ? "lasting" : "not lasting");
		for (size_t i = 0; i < COUNT(next); i++)
			run_free(&next[i]);
	}
	close(ends[0]);
	close(ends[1]);
}

enum huge { SMALL, HUGE, UNKNOWN };

/* Whether the page at this address is part of a huge one: /proc/PID/pagemap and /proc/kpageflags (proc_pid_pagemap(5)), for root only. */
static enum huge page_is_huge(const void *address)
{
	enum { KPF_THP = 22 };
	uint64_t entry = 0, flags = 0, frame;
	int map = open("/proc/self/pagemap", O_RDONLY), kinds = open("/proc/kpageflags", O_RDONLY);
	bool known = map >= 0 && kinds >= 0 &&
	    pread(map, &entry, sizeof entry, (off_t)((uintptr_t)address / (uintptr_t)sysconf(_SC_PAGESIZE) * sizeof entry)) == sizeof entry &&
	    (frame = entry & ((UINT64_C(1) << 55) - 1)) &&
	    pread(kinds, &flags, sizeof flags, (off_t)(frame * sizeof flags)) == sizeof flags;

	close(map);
	close(kinds);
	if (!known)
		return UNKNOWN;
	return flags >> KPF_THP & 1 ? HUGE : SMALL;
}

/* A huge page lasts as long as most of it is in use; then it is split, and what nobody uses is free. */
static void splits(void)
{
	enum { LEN = REGION / 32, RUNS = 31 };
	static const struct { const char *name; size_t freed; enum huge left; } rows[] = {
		{ "all in use", 0, HUGE }, { "an eighth is not", 3, HUGE }, { "more than an eighth", 4, SMALL }, { "one is left", 30, SMALL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct run r[RUNS], other;
		enum huge is;

		CU_ASSERT_FATAL(run_new(&r[0], LEN, true, 1));
		while ((uintptr_t)r[0].words % REGION) {       /* until a region starts */
			run_free(&r[0]);
			CU_ASSERT_FATAL(run_new(&r[0], LEN, true, 1));
		}
		for (size_t k = 1; k < RUNS; k++)
			CU_ASSERT_FATAL(run_new(&r[k], LEN, true, k + 1) && r[k].region == r[0].region);
		for (size_t k = 0; k < 3; k++) {               /* two that take its place */
			CU_ASSERT_FATAL(run_new(&other, REGION / 2, true, 1));
			run_free(&other);
		}
		if ((is = page_is_huge(r[0].words)) == HUGE) {
			for (size_t k = 0; k < rows[i].freed; k++)
				run_free(&r[RUNS - 1 - k]);
			UNIT_ROW(page_is_huge(r[0].words) == rows[i].left, "%s", rows[i].name);
		}
		for (size_t k = 0; k < RUNS; k++) {
			UNIT_ROW(!r[k].words || run_holds(&r[k]), "%s: run %zu", rows[i].name, k);
			run_free(&r[k]);
		}
		if (is != HUGE)
			UNIT_SKIP(is == SMALL ? "no huge page was to be had" : "only root may see what kind a page is");
	}
}

static void too_many(void)
{
	enum { MAX = 16384 };
	struct pages_region *region;
	uint8_t **bytes = calloc(MAX, sizeof *bytes);
	size_t n = 0;

	while (n < MAX && (bytes[n] = page_run_new(PAGE, false, &region)))
		n++;
	CU_ASSERT_EQUAL(n, MAX);
	CU_ASSERT_PTR_NULL(page_run_new(PAGE, false, &region));
	CU_ASSERT_PTR_NULL(page_run_new(PAGE, true, &region));
	page_run_free(bytes[--n], PAGE, NULL);
	CU_ASSERT_PTR_NOT_NULL(bytes[n] = page_run_new(PAGE, true, &region));
	page_run_free(bytes[n], PAGE, region);
	while (n)
		page_run_free(bytes[--n], PAGE, NULL);
	free(bytes);
}

UNIT_SUITE(pages, { "sizes", sizes }, { "any order", any_order }, { "threads", threads }, { "never again", never_again }, { "splits", splits },
	{ "too many", too_many })
