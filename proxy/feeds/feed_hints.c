/* Reading a feed's hints on its own freshness; see feed_hints.h. */
#include "proxy/feeds/feed_hints.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/loose_date.h"
#include "proxy/base/slice.h"
#include "proxy/object/object.h"

enum { HINTS_IOV = 8, HOUR_S = 3600, DAY_S = 86400, EPOCH_DAY = 4 /* a Thursday */ };

struct hints_reader {
	struct feed_hints *hints;
	struct slice rest;
	int64_t now;
	bool in_item;                  /* elements of an item say nothing of the feed but its dates */
	uint32_t ttl_s, period_s, times;
};

static const struct { const char *word; uint32_t seconds; } periods[] = {
	{ "hourly", HOUR_S }, { "daily", DAY_S }, { "weekly", 7 * DAY_S }, { "monthly", 30 * DAY_S },
	{ "yearly", 365u * DAY_S },
};

static const char *const days[FEED_HINTS_DAYS] = { "sunday", "monday", "tuesday", "wednesday", "thursday", "friday",
	"saturday" };

static void take_ttl(struct hints_reader *, struct slice);
static void take_period(struct hints_reader *, struct slice);
static void take_frequency(struct hints_reader *, struct slice);
static void take_hour(struct hints_reader *, struct slice);
static void take_day(struct hints_reader *, struct slice);
static void take_date(struct hints_reader *, struct slice);

/* prefixed: the element belongs to another namespace than RSS and Atom; any prefix is taken for that one. of_item: it
 * counts in items, and not outside. */
static const struct { const char *name; bool prefixed, of_item; void (*take)(struct hints_reader *,
    struct slice text); } elements[] = {
	{ "ttl", false, false, take_ttl }, { "hour", false, false, take_hour }, { "day", false, false, take_day },
	{ "updatePeriod", true, false, take_period }, { "updateFrequency", true, false, take_frequency },
	{ "pubDate", false, true, take_date }, { "updated", false, true, take_date },
	{ "published", false, true, take_date }, { "date", true, true, take_date },
};

/* Trims white space as XML defines it. */
static struct slice hints_trim(struct slice s)
{
	while (s.len && memchr(" \t\r\n", s.at[0], 4))
		s = (struct slice){ s.at + 1, s.len - 1 };
	while (s.len && memchr(" \t\r\n", s.at[s.len - 1], 4))
		s.len--;
	return s;
}

/* Takes digits only; a number that is too large becomes UINT32_MAX. */
static bool hints_read_number(struct slice s, uint32_t *number)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(s.at[i] - '0');
		if (n > UINT32_MAX)
			n = UINT32_MAX;
	}
	*number = (uint32_t)n;
	return s.len > 0;
}

static void take_ttl(struct hints_reader *reader, struct slice text)
{
	uint32_t minutes;

	if (!reader->ttl_s && hints_read_number(text, &minutes))
		reader->ttl_s = minutes > UINT32_MAX / 60 ? UINT32_MAX : minutes * 60;
}

static void take_period(struct hints_reader *reader, struct slice text)
{
	for (size_t i = 0; i < sizeof periods / sizeof *periods; i++)
		if (!reader->period_s && slice_is(text, periods[i].word))
			reader->period_s = periods[i].seconds;
}

static void take_frequency(struct hints_reader *reader, struct slice text)
{
	if (!reader->times)
		hints_read_number(text, &reader->times);
}

/* Takes an hour: 0 to 23, or 24 for midnight. */
static void take_hour(struct hints_reader *reader, struct slice text)
{
	uint32_t hour;

	if (hints_read_number(text, &hour) && hour <= FEED_HINTS_HOURS)
		reader->hints->skip_hours |= 1u << hour % FEED_HINTS_HOURS;
}

static void take_day(struct hints_reader *reader, struct slice text)
{
	for (unsigned i = 0; i < FEED_HINTS_DAYS; i++)
		if (slice_is(text, days[i]))
			reader->hints->skip_days |= 1u << i;
}

static void take_date(struct hints_reader *reader, struct slice text)
{
	int64_t date;

	if (loose_date_read(text, &date) && date <= reader->now && date > reader->hints->newest)
		reader->hints->newest = date;
}

/* Moves *rest behind the next occurrence of end, or else to the end of the text. Returns the text before it. */
static struct slice skip_behind(struct slice *rest, const char *end, size_t len)
{
	const char *at = memmem(rest->at, rest->len, end, len);
	struct slice before = { rest->at, at ? (size_t)(at - rest->at) : rest->len };
	size_t gone = before.len + (at ? len : 0);

	*rest = (struct slice){ rest->at + gone, rest->len - gone };
	return before;
}

static bool hints_begins(struct slice s, const char *with, size_t len)
{
	return s.len >= len && !memcmp(s.at, with, len);
}

#define BEGINS(s, with) hints_begins(s, with, sizeof(with) - 1)
#define SKIP_BEHIND(rest, end) skip_behind(rest, end, sizeof(end) - 1)

/* The text of an element that has just begun: up to the next tag, or that of its one CDATA section. Empty if the end is
 * not in the text. */
static struct slice element_text(struct slice rest)
{
	static const char cdata[] = "<![CDATA[";
	struct slice text = hints_trim(rest);

	if (BEGINS(text, cdata)) {
		rest = (struct slice){ text.at + sizeof cdata - 1, text.len - (sizeof cdata - 1) };
		text = SKIP_BEHIND(&rest, "]]>");
	} else {
		rest = text;
		text = SKIP_BEHIND(&rest, "<");
	}
	return rest.len ? hints_trim(text) : rest;
}

/* The name in a tag; tag begins behind "<" or "</" with NAME or PREFIX:NAME. */
static struct slice tag_name(struct slice tag, bool *prefixed)
{
	size_t len = 0;

	while (len < tag.len && !strchr(" \t\r\n/", tag.at[len]))
		len++;
	const char *colon = memchr(tag.at, ':', len);
	*prefixed = colon != NULL;
	return colon ? (struct slice){ colon + 1, len - (size_t)(colon + 1 - tag.at) } : (struct slice){ tag.at, len };
}

static bool name_is(struct slice name, const char *is)
{
	return name.len == strlen(is) && !memcmp(name.at, is, name.len);
}

static void read_tag(struct hints_reader *reader, struct slice tag)
{
	bool closes = tag.len && tag.at[0] == '/', prefixed;
	struct slice name = tag_name((struct slice){ tag.at + closes, tag.len - closes }, &prefixed);

	if (tag.len && tag.at[tag.len - 1] == '/')
		return;
	if (!prefixed && (name_is(name, "item") || name_is(name, "entry")))
		reader->in_item = !closes;
	for (size_t i = 0; !closes && i < sizeof elements / sizeof *elements; i++)
		if (elements[i].of_item == reader->in_item && elements[i].prefixed == prefixed &&
		    name_is(name, elements[i].name))
			elements[i].take(reader, element_text(reader->rest));
}

static void read_markup(struct hints_reader *reader)
{
	if (BEGINS(reader->rest, "!--"))
		SKIP_BEHIND(&reader->rest, "-->");
	else if (BEGINS(reader->rest, "![CDATA["))
		SKIP_BEHIND(&reader->rest, "]]>");
	else if (BEGINS(reader->rest, "?"))
		SKIP_BEHIND(&reader->rest, "?>");
	else {
		struct slice tag = SKIP_BEHIND(&reader->rest, ">");

		if (reader->rest.len)
			read_tag(reader, tag);
	}
}

void feed_hints_read(struct feed_hints *hints, const char *text, size_t len, int64_t now)
{
	struct hints_reader r = { .hints = hints, .rest = { text, len }, .now = now };

	*hints = (struct feed_hints){ 0 };
	while (SKIP_BEHIND(&r.rest, "<"), r.rest.len)
		read_markup(&r);
	/* A frequency without a period is per day; a period without a frequency means once. */
	if (r.times && !r.period_s)
		r.period_s = DAY_S;
	hints->interval_s = r.ttl_s ? r.ttl_s : r.times > 1 ? r.period_s / r.times : r.period_s;
}

void feed_hints_of(struct feed_hints *hints, struct object *body, int64_t now)
{
	struct object_reader r = { 0 };
	struct iovec iov[HINTS_IOV];
	char *text = malloc(FEED_HINTS_LOOK_BYTES);
	size_t len, at = 0;

	*hints = (struct feed_hints){ 0 };
	if (!text)
		return;
	object_attach(body, &r);
	int n = object_peek(&r, iov, HINTS_IOV, FEED_HINTS_LOOK_BYTES, &len);
	for (int i = 0; i < n; i++) {
		memcpy(text + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	object_detach(&r);
	feed_hints_read(hints, text, at, now);
	free(text);
}

static bool is_skipped(const struct feed_hints *hints, int64_t hour)
{
	return hints->skip_hours >> hour % FEED_HINTS_HOURS & 1 ||
	    hints->skip_days >> (hour / FEED_HINTS_HOURS + EPOCH_DAY) % FEED_HINTS_DAYS & 1;
}

uint32_t feed_hints_lifetime(const struct feed_hints *hints, int64_t at, uint32_t max)
{
	int64_t lifetime = hints->interval_s, hour = at > 0 ? at / HOUR_S : 0, until = hour;

	while (at > 0 && is_skipped(hints, until) && until * HOUR_S - at < (int64_t)max)
		until++;
	if (until > hour && until * HOUR_S - at > lifetime)
		lifetime = until * HOUR_S - at;
	return lifetime < (int64_t)max ? (uint32_t)lifetime : max;
}
