/* The account of feeds and their publishers; see publishers.h. */
#include "proxy/report/publishers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/hash.h"

enum { PUBLISHERS_BUCKETS = 1 << 17 };

struct publishers *publishers_new(void)
{
	struct publishers *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->all = calloc(PUBLISHERS_FEEDS_MAX, sizeof(struct publisher *));
	p->feeds = calloc(PUBLISHERS_FEEDS_MAX, sizeof(struct publisher_feed *));
	p->buckets = calloc(PUBLISHERS_BUCKETS, sizeof(struct publisher *));
	p->feed_buckets = calloc(PUBLISHERS_BUCKETS, sizeof(struct publisher_feed *));
	if (!p->all || !p->feeds || !p->buckets || !p->feed_buckets)
		publishers_free(&p);
	return p;
}

void publishers_free(struct publishers **pp)
{
	struct publishers *p = *pp;

	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free(p->all[i]);
	for (size_t i = 0; i < p->n_feeds; i++)
		free(p->feeds[i]);
	free(p->all);
	free(p->feeds);
	free(p->buckets);
	free(p->feed_buckets);
	free(p);
	*pp = NULL;
}

static size_t publishers_bucket(const char *text)
{
	return hash_keyed(text, strlen(text)) % PUBLISHERS_BUCKETS;
}

static bool publishers_has_room(const struct publishers *p, size_t more)
{
	return p->n_feeds < PUBLISHERS_FEEDS_MAX && p->n < PUBLISHERS_FEEDS_MAX &&
	    more <= PUBLISHERS_BYTES_MAX - p->bytes;
}

/* The publisher of that name, made where there is none yet. NULL: out of memory. */
static struct publisher *publishers_find(struct publishers *p, const char *name)
{
	struct publisher **bucket = &p->buckets[publishers_bucket(name)], *one = *bucket;
	size_t size = sizeof *one + strlen(name) + 1;

	while (one && strcmp(one->name, name) != 0)
		one = one->next;
	if (one || !(one = calloc(1, size)))
		return one;
	strcpy(one->name, name);
	one->next = *bucket;
	*bucket = p->all[p->n++] = one;
	p->bytes += size;
	return one;
}

static struct publisher_feed *publishers_find_feed(struct publishers *p, size_t bucket, const char *name,
    const char *url)
{
	struct publisher_feed *f = p->feed_buckets[bucket];

	while (f && (strcmp(f->url, url) != 0 || strcmp(f->publisher->name, name) != 0))
		f = f->next;
	return f;
}

/* NULL: out of memory. */
static struct publisher_feed *publishers_add_feed(struct publishers *p, size_t bucket, const char *name,
    const char *url)
{
	size_t size = sizeof(struct publisher_feed) + strlen(url) + 1;
	struct publisher *publisher = publishers_find(p, name);
	struct publisher_feed *f = publisher ? calloc(1, size) : NULL;

	if (!f)
		return NULL;
	strcpy(f->url, url);
	f->publisher = publisher;
	f->next = p->feed_buckets[bucket];
	p->feed_buckets[bucket] = p->feeds[p->n_feeds++] = f;
	p->bytes += size;
	return f;
}

/* A feed of /api/feeds tells what is so now. */
static void publishers_note_listed(struct publisher_feed *f, const struct log_line *l)
{
	f->good = l->good;
	f->kept_since = l->kept_since;
	f->error_at = l->error_at;
	memcpy(f->error, l->error, sizeof f->error);
	f->paused_until = l->paused_until;
	f->next_fetch = l->next_fetch;
	f->saved = l->saved;
}

static void publishers_note_origin(struct publisher_feed *f, const struct log_line *l)
{
	uint64_t at = log_line_time(l);

	f->saved += log_line_saves(l);
	if (!l->kept[0] && !log_line_is_error(l)) {
		f->good = at;
		f->kept_since = 0;
		return;
	}
	f->error_at = at;
	if (l->kept[0]) {
		memcpy(f->error, l->kept, sizeof f->error);
		f->kept_since = f->kept_since ? f->kept_since : at;
		return;
	}
	f->kept_since = 0;
	snprintf(f->error, sizeof f->error, "%u", l->status);
}

/* An error says nothing of the feed's labels, so these stay as they were. */
static void publishers_note(struct publisher_feed *f, const struct log_line *l)
{
	f->requests += l->requests ? l->requests : 1;
	f->errors += l->requests ? l->errors : log_line_is_error(l);
	(l->requests ? publishers_note_listed : publishers_note_origin)(f, l);
	if (!l->charset[0])
		return;
	memcpy(f->charset, l->charset, sizeof f->charset);
	memcpy(f->was, l->was, sizeof f->was);
	f->mislabelled = log_line_is_mislabelled(l);
	f->repairs = l->repairs;
	f->malformed = l->malformed;
}

int publishers_take(struct publishers *p, const char *line, size_t len)
{
	char name[LOG_PUBLISHER_MAX], url[LOG_FEED_MAX];
	struct publisher_feed *f;
	struct log_line l;
	size_t bucket;

	p->lines++;
	if (!log_line_read(&l, line, len)) {
		p->unread++;
		p->combined += log_line_is_combined(line, len);
		return 0;
	}
	if (!log_line_counts(&l))
		return 0;
	log_line_publisher(&l, name, url);
	bucket = publishers_bucket(url);
	f = publishers_find_feed(p, bucket, name, url);
	if (!f && !publishers_has_room(p, sizeof(struct publisher) + sizeof *f + strlen(name) + strlen(url) + 2)) {
		p->left_out++;
		return 0;
	}
	if (!f && !(f = publishers_add_feed(p, bucket, name, url)))
		return -1;
	publishers_note(f, &l);
	return 0;
}

/* ---- the order ---- */

static int publishers_order(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int publisher_compare(const struct publisher *a, const struct publisher *b)
{
	int order = publishers_order(a->mislabelled, b->mislabelled);

	if (order == 0)
		order = publishers_order(a->malformed + a->repairs, b->malformed + b->repairs);
	if (order == 0)
		order = publishers_order(a->errors, b->errors);
	return order ? order : strcmp(a->name, b->name);
}

static int publisher_order(const void *a, const void *b)
{
	return publisher_compare(*(struct publisher *const *)a, *(struct publisher *const *)b);
}

static int feed_order(const void *left, const void *right)
{
	const struct publisher_feed *a = *(struct publisher_feed *const *)left;
	const struct publisher_feed *b = *(struct publisher_feed *const *)right;
	int order = a->publisher == b->publisher ? 0 : publisher_compare(a->publisher, b->publisher);

	if (order == 0)
		order = publishers_order(a->mislabelled, b->mislabelled);
	if (order == 0)
		order = publishers_order(a->malformed + a->repairs, b->malformed + b->repairs);
	if (order == 0)
		order = publishers_order(a->errors, b->errors);
	return order ? order : strcmp(a->url, b->url);
}

void publishers_sort(struct publishers *p)
{
	for (size_t i = 0; i < p->n_feeds; i++) {
		const struct publisher_feed *f = p->feeds[i];
		struct publisher *one = f->publisher;

		one->feeds++;
		one->bad += publisher_feed_is_bad(f);
		one->mislabelled += f->mislabelled;
		one->requests += f->requests;
		one->errors += f->errors;
		one->repairs += f->repairs;
		one->malformed += f->malformed;
	}
	qsort(p->all, p->n, sizeof p->all[0], publisher_order);
	qsort(p->feeds, p->n_feeds, sizeof p->feeds[0], feed_order);
}

bool publisher_is_bad(const struct publisher *p)
{
	return p->bad > 0;
}

bool publisher_feed_is_bad(const struct publisher_feed *f)
{
	uint64_t expected = strcmp(f->charset, "utf-8") != 0;

	return f->mislabelled || f->repairs > expected || f->malformed || f->errors || f->kept_since;
}
