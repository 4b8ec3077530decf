/* Owns the cases of proxy/feeds/feed_hints.c: what is read of a feed, and how long it holds then.
 * Invariant: each row names its rule; RSS stands for RSS 2.0, SY for the RSS 1.0 syndication module. */
#include "proxy/feeds/feed_hints.h"
#include "tests/unit/unit.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
enum { HOUR = 3600, DAY = 86400, SUNDAY = 1 << 0, MONDAY = 1 << 1, SATURDAY = 1 << 6 };

static void reading(void)
{
	static const struct { const char *rule, *text; struct { uint32_t interval_s, skip_hours, skip_days; } want; } cases[] = {
		{ "nothing", "", { 0, 0, 0 } },
		{ "RSS: ttl is in minutes", "<rss><channel><ttl>60</ttl>", { HOUR, 0, 0 } },
		{ "XML: white space round the value", "<ttl>\r\n\t 5 </ttl>", { 300, 0, 0 } },
		{ "XML: attributes", "<ttl xml:lang='en' a=\"b\">5</ttl>", { 300, 0, 0 } },
		{ "XML: white space in tags", "<ttl\n>5</ttl\n>", { 300, 0, 0 } },
		{ "XML: CDATA", "<ttl> <![CDATA[ 5 ]]> </ttl>", { 300, 0, 0 } },
		{ "XML: names have their case", "<TTL>5</TTL>", { 0, 0, 0 } },
		{ "XML: whole names", "<ttls>5</ttls><tt>5</tt>", { 0, 0, 0 } },
		{ "XML: an empty element", "<ttl/>5<ttl a='b' />6<ttl></ttl>", { 0, 0, 0 } },
		{ "XML: not in comments", "<!-- <ttl>5</ttl> -- <ttl>6</ttl> --><ttl>7</ttl>", { 420, 0, 0 } },
		{ "XML: not in CDATA", "<a><![CDATA[<ttl>5</ttl>]]></a>", { 0, 0, 0 } },
		{ "XML: not in processing instructions", "<?x <ttl>5</ttl>?>", { 0, 0, 0 } },
		{ "XML: ttl of another namespace", "<x:ttl>5</x:ttl>", { 0, 0, 0 } },
		{ "RSS: of the channel, not of an item", "<item><ttl>5</ttl></item><ttl>6</ttl>", { 360, 0, 0 } },
		{ "RSS 1.0: items is no item", "<items><ttl>5</ttl></items>", { 300, 0, 0 } },
		{ "Atom: of the feed, not of an entry", "<entry><ttl>5</ttl>", { 0, 0, 0 } },
		{ "an item without content", "<item/><ttl>5</ttl>", { 300, 0, 0 } },
		{ "the first counts", "<ttl>5</ttl><ttl>6</ttl>", { 300, 0, 0 } },
		{ "the first that says something", "<ttl>0</ttl><ttl>-1</ttl><ttl>1.5</ttl><ttl>6</ttl>", { 360, 0, 0 } },
		{ "as large as can be", "<ttl>99999999999999999999999</ttl>", { UINT32_MAX, 0, 0 } },
		{ "not cut short by the window's end", "<ttl>60", { 0, 0, 0 } },
		{ "not cut short by the window's end, CDATA", "<ttl><![CDATA[60", { 0, 0, 0 } },
		{ "a tag without end", "<ttl", { 0, 0, 0 } },
		{ "a comment without end", "<!-- <ttl>5</ttl>", { 0, 0, 0 } },
		{ "SY: hourly", "<sy:updatePeriod>\n\thourly\t</sy:updatePeriod>", { HOUR, 0, 0 } },
		{ "SY: daily", "<sy:updatePeriod>daily</sy:updatePeriod>", { DAY, 0, 0 } },
		{ "SY: weekly", "<sy:updatePeriod>weekly</sy:updatePeriod>", { 7 * DAY, 0, 0 } },
		{ "SY: monthly", "<sy:updatePeriod>monthly</sy:updatePeriod>", { 30 * DAY, 0, 0 } },
		{ "SY: yearly", "<sy:updatePeriod>yearly</sy:updatePeriod>", { 365 * DAY, 0, 0 } },
		{ "SY: another word", "<sy:updatePeriod>hourlyish</sy:updatePeriod>", { 0, 0, 0 } },
		{ "SY: any prefix", "<syn:updatePeriod>daily</syn:updatePeriod>", { DAY, 0, 0 } },
		{ "SY: not without one", "<updatePeriod>daily</updatePeriod>", { 0, 0, 0 } },
		{ "SY: frequency", "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>", { 900, 0, 0 } },
		{ "SY: frequency before period", "<sy:updateFrequency>2</sy:updateFrequency><sy:updatePeriod>daily</sy:updatePeriod>", { DAY / 2, 0, 0 } },
		{ "SY: without a period a day's", "<sy:updateFrequency>24</sy:updateFrequency>", { HOUR, 0, 0 } },
		{ "SY: frequency 0 is none", "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>", { HOUR, 0, 0 } },
		{ "SY: oftener than every second", "<sy:updateFrequency>90000</sy:updateFrequency>", { 0, 0, 0 } },
		{ "ttl before SY", "<sy:updatePeriod>hourly</sy:updatePeriod><ttl>5</ttl>", { 300, 0, 0 } },
		{ "RSS: skipHours", "<skipHours><hour>0</hour><hour> 7 </hour><hour>23</hour></skipHours>", { 0, 1u << 0 | 1u << 7 | 1u << 23, 0 } },
		{ "RSS 0.91: 24 is midnight", "<skipHours><hour>24</hour></skipHours>", { 0, 1, 0 } },
		{ "RSS: no hour", "<hour>25</hour><hour>0x</hour><hour></hour><hour>-1</hour><hour>4294967297</hour>", { 0, 0, 0 } },
		{ "RSS: leading zeros", "<hour>07</hour>", { 0, 1u << 7, 0 } },
		{ "RSS: skipDays", "<skipDays><day>Saturday</day><day>\nsunday</day><day>Sun</day></skipDays>", { 0, 0, SUNDAY | SATURDAY } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct feed_hints h;
		const __typeof__(cases[i].want) *want = &cases[i].want;

		feed_hints_read(&h, cases[i].text, strlen(cases[i].text), 0);
		UNIT_ROW(h.interval_s == want->interval_s && h.skip_hours == want->skip_hours && h.skip_days == want->skip_days, "%s: %u %x %x",
			cases[i].rule, h.interval_s, h.skip_hours, h.skip_days);
	}
}

/* The newest date of an item, of 6 November 1994 at 8:49:37, or by how many seconds earlier; NONE: there is none. */
static void dates(void)
{
	enum { NOW = 784111777, NONE = -1 };
	static const struct { const char *rule, *text; int64_t before; } cases[] = {
		{ "nothing", "<rss><item><title>a</title></item></rss>", NONE },
		{ "RSS: pubDate", "<item><pubDate>Sun, 06 Nov 1994 08:49:37 GMT</pubDate></item>", 0 },
		{ "RSS: not the channel's", "<channel><pubDate>Sun, 06 Nov 1994 08:49:37 GMT</pubDate><item/>", NONE },
		{ "Atom: updated", "<feed><updated>1994-11-06T08:49:37Z</updated><entry><updated>1994-11-06T08:49:36Z</updated></entry>", 1 },
		{ "Atom: published", "<entry><published>1994-11-06T08:49:37Z</published></entry>", 0 },
		{ "Dublin Core: date", "<item rdf:about='x'><dc:date>1994-11-06T10:49:37+02:00</dc:date></item>", 0 },
		{ "Dublin Core: not without a prefix", "<item><date>1994-11-06T08:49:37Z</date></item>", NONE },
		{ "RSS: not with one", "<item><x:pubDate>Sun, 06 Nov 1994 08:49:37 GMT</x:pubDate></item>", NONE },
		{ "the newest of several", "<item><pubDate>06 Nov 1994 08:49:30 GMT</pubDate></item><item><pubDate>06 Nov 1994 08:49:35 GMT</pubDate></item>"
			"<item><pubDate>06 Nov 1994 08:49:31 GMT</pubDate></item>", 2 },
		{ "none to come", "<item><pubDate>06 Nov 1994 08:49:38 GMT</pubDate></item><item><pubDate>06 Nov 1994 08:49:30 GMT</pubDate></item>", 7 },
		{ "not behind the items", "<item></item><pubDate>06 Nov 1994 08:49:30 GMT</pubDate>", NONE },
		{ "in CDATA", "<item><pubDate><![CDATA[ Sun, 06 Nov 1994 08:49:37 GMT ]]></pubDate></item>", 0 },
		{ "before the epoch", "<item><pubDate>06 Nov 1964 08:49:30 GMT</pubDate></item>", NONE },
		{ "what is no date", "<item><pubDate>yesterday</pubDate></item>", NONE },
		{ "not cut short by the window's end", "<item><pubDate>Sun, 06 Nov 1994 08:49:37 GMT", NONE },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t want = cases[i].before == NONE ? 0 : NOW - cases[i].before;
		struct feed_hints h;

		feed_hints_read(&h, cases[i].text, strlen(cases[i].text), NOW);
		UNIT_ROW(h.newest == want, "%s: %lld", cases[i].rule, (long long)h.newest);
	}
}

static void lifetimes(void)
{
	/* Sunday, 6 November 1994, midnight GMT */
	static const int64_t sunday = 784080000;
	static const struct { const char *rule; struct feed_hints hints; int64_t at; uint32_t max, want; } cases[] = {
		{ "nothing said", { 0, 0, 0, 0 }, sunday, DAY, 0 },
		{ "the interval", { 900, 0, 0, 0 }, sunday, DAY, 900 },
		{ "at most the maximum", { 2 * DAY, 0, 0, 0 }, sunday, DAY, DAY },
		{ "the largest there is", { UINT32_MAX, 0xffffff, 0x7f, 0 }, sunday, UINT32_MAX, UINT32_MAX },
		{ "not in a skipped hour", { 900, 1u << 1, 0, 0 }, sunday + HOUR - 1, DAY, 900 },
		{ "in a skipped hour: its end", { 900, 1u << 1, 0, 0 }, sunday + HOUR, DAY, HOUR },
		{ "in a skipped hour: its last second", { 0, 1u << 1, 0, 0 }, sunday + 2 * HOUR - 1, DAY, 1 },
		{ "the interval if that is longer", { 7200, 1u << 1, 0, 0 }, sunday + HOUR, DAY, 7200 },
		{ "the end of a run", { 0, 7u << 1, 0, 0 }, sunday + HOUR + 60, DAY, 3 * HOUR - 60 },
		{ "a run over midnight", { 0, 1u << 23 | 3u, 0, 0 }, sunday + 23 * HOUR, DAY, 3 * HOUR },
		{ "a run beyond the maximum", { 0, 7u << 1, 0, 0 }, sunday + HOUR, 2 * HOUR - 1, 2 * HOUR - 1 },
		{ "every hour: the maximum", { 0, 0xffffff, 0, 0 }, sunday, DAY + 1, DAY + 1 },
		{ "a skipped day", { 0, 0, SUNDAY, 0 }, sunday + HOUR, 2 * DAY, 23 * HOUR },
		{ "a skipped weekend", { 0, 0, SATURDAY | SUNDAY, 0 }, sunday - DAY, 7 * DAY, 2 * DAY },
		{ "another day", { 900, 0, MONDAY, 0 }, sunday + DAY - 1, DAY, 900 },
		{ "hours go on into a skipped day", { 0, 1u << 23, MONDAY, 0 }, sunday + 23 * HOUR, 7 * DAY, 25 * HOUR },
		{ "before the epoch", { 900, 0xffffff, 0x7f, 0 }, -1, DAY, 900 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint32_t got = feed_hints_lifetime(&cases[i].hints, cases[i].at, cases[i].max);

		UNIT_ROW(got == cases[i].want, "%s: %u", cases[i].rule, got);
	}
}

UNIT_SUITE(feed_hints, { "reading", reading }, { "dates", dates }, { "lifetimes", lifetimes })
