/* Owns making entries for tests: any key, status, body length. Must not know: stores. */
#ifndef UTFEED_TESTS_ENTRIES_H
#define UTFEED_TESTS_ENTRIES_H

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proxy/base/heap.h"
#include "proxy/store/entry.h"

/* Byte i of the body with that seed. */
static inline uint8_t entries_byte(unsigned seed, size_t i)
{
	return (uint8_t)((i * 2654435761u + seed * 40503u) >> 7);
}

static inline struct object *entries_object(unsigned seed, size_t len, struct object_head *head, const struct object_report *report)
{
	struct object *o = object_new(0);
	uint8_t piece[8192];
	size_t at = 0;

	object_retain(o, UINT64_MAX);
	object_head(o, head);
	while (at < len) {
		size_t n = len - at < sizeof piece ? len - at : sizeof piece;

		for (size_t i = 0; i < n; i++)
			piece[i] = entries_byte(seed, at + i);
		if (object_append(o, piece, n))
			abort();
		at += n;
	}
	if (report)
		*object_report(o) = *report;
	object_done(o);
	return o;
}

static inline struct object_head *entries_head(size_t len)
{
	struct object_head *head = object_head_new();

	head->status = 200;
	head->bytes = strdup("HTTP/1.1 200 OK\r\nContent-Type: application/xml; charset=utf-8\r\n");
	head->len = strlen(head->bytes);
	head->content_length = (int64_t)len;
	return head;
}

/* report NULL: an empty one. */
static inline struct entry *entries_reported(const char *key, unsigned seed, size_t len, const struct object_report *report)
{
	static const struct freshness freshness = { .response_time = 1000, .lifetime_s = 3600, .swr_s = 60, .sie_s = 86400 };
	struct entry_parts parts = { .head = entries_head(len), .freshness = &freshness };

	parts.object = entries_object(seed, len, object_head_ref(parts.head), report);
	parts.upstream = strdup("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\n");
	parts.upstream_len = strlen(parts.upstream);
	return entry_new(key, strlen(key), &parts);
}

static inline struct entry *entries_new(const char *key, unsigned seed, size_t len)
{
	return entries_reported(key, seed, len, NULL);
}

static inline struct entry *entries_vary(const char *key, const char *names)
{
	struct entry_parts parts = { .vary = strdup(names) };

	return entry_new(key, strlen(key), &parts);
}

static inline struct entry *entries_mark(const char *key)
{
	static const struct freshness known = { .response_time = 1000, .lifetime_s = 86400 };
	struct entry_parts parts = { .freshness = &known };

	return entry_new(key, strlen(key), &parts);
}

/* The first bytes of the body with that seed, as what stands at first in a whole of total. */
static inline struct entry *entries_part(const char *key, unsigned seed, size_t len, uint64_t first, uint64_t total)
{
	static const struct freshness freshness = { .response_time = 1000, .lifetime_s = 3600 };
	struct entry_parts parts = { .head = entries_head(len), .freshness = &freshness, .part = { first, first + len - 1, total } };

	parts.object = entries_object(seed, len, object_head_ref(parts.head), NULL);
	parts.upstream = strdup("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\n");
	parts.upstream_len = strlen(parts.upstream);
	return entry_new(key, strlen(key), &parts);
}

/* Whether its body is that of entries_new(seed, len), whole. */
static inline bool entries_body_is(const struct entry *e, unsigned seed, size_t len)
{
	struct object_reader r = { 0 };
	struct iovec iov[8];
	size_t at = 0, n;
	bool same = object_phase(e->object) == OBJECT_DONE && object_length(e->object) == len;

	object_attach(e->object, &r);
	do {
		int count = object_peek(&r, iov, 8, SIZE_MAX, &n);

		for (int i = 0; i < count; i++)
			for (size_t k = 0; k < iov[i].iov_len; k++)
				same &= ((uint8_t *)iov[i].iov_base)[k] == entries_byte(seed, at++);
		object_consume(&r, n);
	} while (n);
	object_detach(&r);
	return same && at == len;
}

/* What malloc says is in use, with what it needs itself, the pieces of the heap, and the pages that are nobody's file; 0: another malloc is at work,
 * a sanitizer's. Takes no memory itself. */
static inline size_t entries_memory(void)
{
	static char maps[1 << 18];
	size_t sum = mallinfo2().uordblks, len = 0;
	int fd = sum ? open("/proc/self/maps", O_RDONLY) : -1;
	struct heap_sums sums;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, maps + len, sizeof maps - 1 - len)) > 0)
		len += (size_t)n;
	maps[len] = '\0';
	if (fd >= 0)
		close(fd);
	for (const char *line = maps; *line; line += strcspn(line, "\n") + 1) {
		unsigned long from, to;
		int end = 0;

		if (sscanf(line, "%lx-%lx rw-p 00000000 00:00 0%n", &from, &to, &end) == 2 && end && line[end + strspn(line + end, " ")] == '\n')
			sum += to - from;
	}
	sums = heap_sums();
	return sum ? sum - sums.mapped + sums.pieces : 0;
}

#endif
