/* Purges in force; see purge_marks.h. */
#include "proxy/store/purge_marks.h"

#include <stdlib.h>

struct purge_marks *marks_new(void)
{
	return calloc(1, sizeof(struct purge_marks));
}

void marks_free(struct purge_marks **mp)
{
	struct purge_marks *marks = *mp;

	if (!marks)
		return;
	for (size_t i = 0; i < marks->n; i++)
		free(marks->at[i].url);
	free(marks);
	*mp = NULL;
}

/* Numbers are compared as times are: they begin anew after 2^32 purges. */
static bool is_later(uint32_t number, uint32_t than)
{
	return (int32_t)(number - than) > 0;
}

static void mark_end(struct purge_marks *marks, size_t i)
{
	size_t slot = marks->at[i].number % MARKS_DONE;

	marks->done[slot].number = marks->at[i].number;
	marks->done[slot].count = marks->at[i].count;
	free(marks->at[i].url);
	marks->n--;
	memmove(&marks->at[i], &marks->at[i + 1], (marks->n - i) * sizeof *marks->at);
}

/* Whether whatever the older mark does the newer one does too: it removes more. */
static bool mark_includes(const struct purge_mark *newer, const struct purge_mark *older)
{
	if (newer->soft)
		return false;
	if (newer->what == PURGE_ALL)
		return true;
	if (older->what == PURGE_ALL || (newer->what == PURGE_URL && older->what == PURGE_PREFIX))
		return false;
	return older->len >= newer->len && !memcmp(older->url, newer->url, newer->len) &&
	    (newer->what == PURGE_PREFIX || older->len == newer->len);
}

static size_t shared_prefix(const struct purge_mark *a, const struct purge_mark *b)
{
	size_t n = 0, most = a->len < b->len ? a->len : b->len;

	if (a->what == PURGE_ALL || b->what == PURGE_ALL)
		return 0;
	while (n < most && a->url[n] == b->url[n])
		n++;
	return n;
}

/* The mark covers what the other one covers, too, and takes its place in the sweep, which has to begin anew for it. */
static void mark_widen(struct purge_mark *to, const struct purge_mark *other)
{
	to->len = shared_prefix(to, other);
	to->what = to->len ? PURGE_PREFIX : PURGE_ALL;
	to->soft = to->soft && other->soft;
	to->now = to->now > other->now ? to->now : other->now;
}

/* Takes that mark into the new one with which it has most in common: both removed alike if there is such a mark, and by
 * the longest prefix. */
static void marks_merge(struct purge_marks *marks, struct purge_mark *new)
{
	size_t best = 0;

	for (size_t i = 1; i < marks->n; i++) {
		bool alike = marks->at[i].soft == new->soft, best_alike = marks->at[best].soft == new->soft;

		if (alike != best_alike ? alike
		    : shared_prefix(&marks->at[i], new) > shared_prefix(&marks->at[best], new))
			best = i;
	}
	mark_widen(new, &marks->at[best]);
	mark_end(marks, best);
}

static void marks_take_over(struct purge_marks *marks, const struct purge_mark *new)
{
	for (size_t i = marks->n; i-- > 0;)
		if (mark_includes(new, &marks->at[i]))
			mark_end(marks, i);
}

uint32_t marks_add(struct purge_marks *marks, enum store_purge what, const char *url, size_t len, bool soft,
    int64_t now, size_t buckets)
{
	struct purge_mark new = { .number = marks->number + 1, .what = what, .soft = soft, .now = now,
		.end = marks->position + buckets + 1 /* the bucket in which the sweep stands is passed once more */ };

	if (what != PURGE_ALL && (new.url = malloc(len ? len : 1)) != NULL) {
		memcpy(new.url, url, len);
		new.len = len;
	} else {
		new.what = PURGE_ALL;
	}
	marks_take_over(marks, &new);
	if (marks->n == MARKS_MAX) {
		marks_merge(marks, &new);
		marks_take_over(marks, &new);
	}
	marks->at[marks->n++] = new;
	return marks->number = new.number;
}

struct purge_mark *marks_next(struct purge_marks *marks, uint32_t *seen, const char *key, size_t len)
{
	for (size_t i = 0; i < marks->n; i++) {
		struct purge_mark *mark = &marks->at[i];

		if (is_later(mark->number, *seen) && store_purges(mark->what, mark->url, mark->len, key, len)) {
			*seen = mark->number;
			return mark;
		}
	}
	*seen = marks->number;
	return NULL;
}

void marks_pass(struct purge_marks *marks)
{
	marks->position++;
	while (marks->n && marks->at[0].end <= marks->position)
		mark_end(marks, 0);
}

bool marks_are_done(const struct purge_marks *marks, uint32_t number, int64_t *count)
{
	for (size_t i = 0; i < marks->n; i++)
		if (marks->at[i].number == number) {
			*count = marks->at[i].count;
			return false;
		}
	*count = marks->done[number % MARKS_DONE].number == number ? marks->done[number % MARKS_DONE].count : -1;
	return true;
}
