/* Purges in force; see purge_marks.h. */
#include "proxy/store/purge_marks.h"

#include <stdlib.h>

struct purge_marks *marks_new(void)
{
	return calloc(1, sizeof(struct purge_marks));
}

void marks_free(struct purge_marks **mp)
{
	struct purge_marks *m = *mp;

	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->at[i].url);
	free(m);
	*mp = NULL;
}

/* Numbers are compared as times are: they begin anew after 2^32 purges. */
static bool is_later(uint32_t number, uint32_t than)
{
	return (int32_t)(number - than) > 0;
}

static void mark_end(struct purge_marks *m, size_t i)
{
	size_t slot = m->at[i].number % MARKS_DONE;

	m->done[slot].number = m->at[i].number;
	m->done[slot].count = m->at[i].count;
	free(m->at[i].url);
	m->n--;
	memmove(&m->at[i], &m->at[i + 1], (m->n - i) * sizeof *m->at);
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
static void marks_merge(struct purge_marks *m, struct purge_mark *new)
{
	size_t best = 0;

	for (size_t i = 1; i < m->n; i++) {
		bool alike = m->at[i].soft == new->soft, best_alike = m->at[best].soft == new->soft;

		if (alike != best_alike ? alike
		                        : shared_prefix(&m->at[i], new) > shared_prefix(&m->at[best], new))
			best = i;
	}
	mark_widen(new, &m->at[best]);
	mark_end(m, best);
}

static void marks_take_over(struct purge_marks *m, const struct purge_mark *new)
{
	for (size_t i = m->n; i-- > 0;)
		if (mark_includes(new, &m->at[i]))
			mark_end(m, i);
}

uint32_t marks_add(struct purge_marks *m, enum store_purge what, const char *url, size_t len, bool soft, int64_t now,
    size_t buckets)
{
	struct purge_mark new = { .number = m->number + 1, .what = what, .soft = soft, .now = now,
		.end = m->position + buckets + 1 /* the bucket in which the sweep stands is passed once more */ };

	if (what != PURGE_ALL && (new.url = malloc(len ? len : 1)) != NULL) {
		memcpy(new.url, url, len);
		new.len = len;
	} else {
		new.what = PURGE_ALL;
	}
	marks_take_over(m, &new);
	if (m->n == MARKS_MAX) {
		marks_merge(m, &new);
		marks_take_over(m, &new);
	}
	m->at[m->n++] = new;
	return m->number = new.number;
}

struct purge_mark *marks_next(struct purge_marks *m, uint32_t *seen, const char *key, size_t len)
{
	for (size_t i = 0; i < m->n; i++) {
		struct purge_mark *mark = &m->at[i];

		if (is_later(mark->number, *seen) && store_purges(mark->what, mark->url, mark->len, key, len)) {
			*seen = mark->number;
			return mark;
		}
	}
	*seen = m->number;
	return NULL;
}

void marks_pass(struct purge_marks *m)
{
	m->position++;
	while (m->n && m->at[0].end <= m->position)
		mark_end(m, 0);
}

bool marks_are_done(const struct purge_marks *m, uint32_t number, int64_t *count)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->at[i].number == number) {
			*count = m->at[i].count;
			return false;
		}
	*count = m->done[number % MARKS_DONE].number == number ? m->done[number % MARKS_DONE].count : -1;
	return true;
}
