/* The account of feeds and their publishers; see publishers.h. */
#include "proxy/report/publishers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/policy/policy_words.h"
#include "proxy/base/hash.h"

enum { PUBLISHERS_BUCKETS = 1 << 17 };

struct publishers *publishers_new(void)
{
	struct publishers *publishers = calloc(1, sizeof *publishers);

	if (!publishers)
		return NULL;
	publishers->all = calloc(PUBLISHERS_FEEDS_MAX, sizeof(struct publisher *));
	publishers->feeds = calloc(PUBLISHERS_FEEDS_MAX, sizeof(struct publisher_feed *));
	publishers->buckets = calloc(PUBLISHERS_BUCKETS, sizeof(struct publisher *));
	publishers->feed_buckets = calloc(PUBLISHERS_BUCKETS, sizeof(struct publisher_feed *));
	if (!publishers->all || !publishers->feeds || !publishers->buckets || !publishers->feed_buckets)
		publishers_free(&publishers);
	return publishers;
}

void publishers_free(struct publishers **pp)
{
	struct publishers *publishers = *pp;

	if (!publishers)
		return;
	for (size_t i = 0; i < publishers->n; i++)
		free(publishers->all[i]);
	for (size_t i = 0; i < publishers->n_feeds; i++)
		free(publishers->feeds[i]);
	free(publishers->all);
	free(publishers->feeds);
	free(publishers->buckets);
	free(publishers->feed_buckets);
	free(publishers);
	*pp = NULL;
}

static size_t publishers_bucket(const char *text)
{
	return hash_keyed(text, strlen(text)) % PUBLISHERS_BUCKETS;
}

static bool publishers_has_room(const struct publishers *publishers, size_t more)
{
	return publishers->n_feeds < PUBLISHERS_FEEDS_MAX && publishers->n < PUBLISHERS_FEEDS_MAX &&
	    more <= PUBLISHERS_BYTES_MAX - publishers->bytes;
}

/* The publisher of that name, made at its first line. NULL: out of memory. */
static struct publisher *publishers_find(struct publishers *publishers, const char *name)
{
	struct publisher **bucket = &publishers->buckets[publishers_bucket(name)], *one = *bucket;
	size_t size = sizeof *one + strlen(name) + 1;

	while (one && strcmp(one->name, name))
		one = one->next;
	if (one || !(one = calloc(1, size)))
		return one;
	strcpy(one->name, name);
	one->next = *bucket;
	*bucket = publishers->all[publishers->n++] = one;
	publishers->bytes += size;
	return one;
}

static struct publisher_feed *publishers_find_feed(struct publishers *publishers, size_t bucket, const char *name,
    const char *url)
{
	struct publisher_feed *feed = publishers->feed_buckets[bucket];

	while (feed && (strcmp(feed->url, url) || strcmp(feed->publisher->name, name)))
		feed = feed->next;
	return feed;
}

/* NULL: out of memory. */
static struct publisher_feed *publishers_add_feed(struct publishers *publishers, size_t bucket, const char *name,
    const char *url)
{
	size_t size = sizeof(struct publisher_feed) + strlen(url) + 1;
	struct publisher *publisher = publishers_find(publishers, name);
	struct publisher_feed *feed = publisher ? calloc(1, size) : NULL;

	if (!feed)
		return NULL;
	strcpy(feed->url, url);
	feed->publisher = publisher;
	feed->next = publishers->feed_buckets[bucket];
	publishers->feed_buckets[bucket] = publishers->feeds[publishers->n_feeds++] = feed;
	publishers->bytes += size;
	return feed;
}

/* A feed of /api/feeds tells what is so now. */
static void publishers_note_listed(struct publisher_feed *feed, const struct log_line *line)
{
	feed->good = line->good;
	feed->kept_since = line->kept_since;
	feed->error_at = line->error_at;
	memcpy(feed->error, line->error, sizeof feed->error);
	feed->paused_until = line->paused_until;
	feed->next_fetch = line->next_fetch;
	feed->saved = line->saved;
}

static void publishers_note_origin(struct publisher_feed *feed, const struct log_line *line)
{
	uint64_t at = log_line_time(line);

	feed->saved += log_line_saves(line);
	if (!line->kept[0] && !log_line_is_error(line)) {
		feed->good = at;
		feed->kept_since = 0;
		return;
	}
	feed->error_at = at;
	if (line->kept[0]) {
		memcpy(feed->error, line->kept, sizeof feed->error);
		feed->kept_since = feed->kept_since ? feed->kept_since : at;
		return;
	}
	feed->kept_since = 0;
	if (line->status >= 400)
		snprintf(feed->error, sizeof feed->error, "%u", line->status);
	else
		snprintf(feed->error, sizeof feed->error, "%s", *line->failure ? line->failure : line->end);
}

/* An error says nothing of the feed's labels, so these stay as they were. */
static void publishers_note(struct publisher_feed *feed, const struct log_line *line)
{
	feed->requests += line->requests ? line->requests : 1;
	feed->errors += line->requests ? line->errors : log_line_is_error(line);
	(line->requests ? publishers_note_listed : publishers_note_origin)(feed, line);
	if (!line->charset[0])
		return;
	memcpy(feed->charset, line->charset, sizeof feed->charset);
	feed->mislabelled = log_line_is_mislabelled(line);
	feed->label[0] = '\0';
	if (feed->mislabelled && !rule_is_default(line->rule))
		memcpy(feed->label, line->was, sizeof feed->label);
	feed->repairs = line->repairs;
	feed->malformed = line->malformed;
}

int publishers_take(struct publishers *publishers, const char *line, size_t len)
{
	char name[LOG_PUBLISHER_MAX], url[LOG_FEED_MAX];
	struct log_line l;

	publishers->lines++;
	if (!log_line_read(&l, line, len)) {
		publishers->unread++;
		publishers->combined += log_line_is_combined(line, len);
		return 0;
	}
	if (!log_line_counts(&l))
		return 0;
	log_line_publisher(&l, name, url);
	size_t bucket = publishers_bucket(url);
	struct publisher_feed *feed = publishers_find_feed(publishers, bucket, name, url);
	if (!feed && !publishers_has_room(publishers,
	    sizeof(struct publisher) + sizeof *feed + strlen(name) + strlen(url) + 2)) {
		publishers->left_out++;
		return 0;
	}
	if (!feed && !(feed = publishers_add_feed(publishers, bucket, name, url)))
		return -1;
	publishers_note(feed, &l);
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
	struct publisher_feed *const *x = left, *const *y = right;
	const struct publisher_feed *a = *x, *b = *y;
	int order = a->publisher == b->publisher ? 0 : publisher_compare(a->publisher, b->publisher);

	if (order == 0)
		order = publishers_order(a->mislabelled, b->mislabelled);
	if (order == 0)
		order = publishers_order(a->malformed + a->repairs, b->malformed + b->repairs);
	if (order == 0)
		order = publishers_order(a->errors, b->errors);
	return order ? order : strcmp(a->url, b->url);
}

void publishers_sort(struct publishers *publishers)
{
	for (size_t i = 0; i < publishers->n_feeds; i++) {
		const struct publisher_feed *feed = publishers->feeds[i];
		struct publisher *one = feed->publisher;

		one->feeds++;
		one->bad += publisher_feed_is_bad(feed);
		one->mislabelled += feed->mislabelled;
		one->requests += feed->requests;
		one->errors += feed->errors;
		one->repairs += feed->repairs;
		one->malformed += feed->malformed;
	}
	qsort(publishers->all, publishers->n, sizeof publishers->all[0], publisher_order);
	qsort(publishers->feeds, publishers->n_feeds, sizeof publishers->feeds[0], feed_order);
}

bool publisher_feed_is_bad(const struct publisher_feed *feed)
{
	uint64_t expected = strcmp(feed->charset, "utf-8") != 0;

	return feed->mislabelled || feed->repairs > expected || feed->malformed || feed->errors || feed->kept_since;
}
