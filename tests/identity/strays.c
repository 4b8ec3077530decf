/* The test of strays (issue 30, part B8). The labels of a feed agree on UTF-8, or there are none.
 * A feed of well-formed UTF-8 comes out with the same text. If it has stray bytes, each well-formed character is still there, in order.
 * The characters in the place of stray bytes are never more than these bytes.
 * Must not know: how the detector recognises UTF-8. Each feed is made from its number, so each run makes the same feeds.
 * UTFEED_STRAYS_FEEDS: number of feeds (10,000); UTFEED_STRAYS_FIRST: the first number (0); UTFEED_STRAYS_FAULTS: faults until the
 * test ends (10). The test prints the number and the bytes of each fault, and exits with status 1 if there is one.
 * What the feeds are: random_feed.c. Beside more stray bytes than it makes, utfeed may rightly read another charset. */
#include "random_feed.h"
#include "subject.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/aligned.h"

enum { DEFAULT_FEEDS = 10000, CUT_ONE_IN = 20, DEFAULT_FAULTS = 10 };

struct tally {
	uint64_t right, spoilt, cut, faults;
};

static void fault(struct tally *t, const struct subject *b, const struct seen *s, const char *why)
{
	subject_print("strays", b, s, why);
	t->faults++;
}

/* From the root on: before it stands the declaration, which may be written anew. */
static bool keeps(const struct feed *f, const struct text *out)
{
	const char *root = memmem(out->bytes, out->len, "<rss", 4);

	return root && aligned((const uint8_t *)f->body.bytes + f->root, f->body.len - f->root, (const uint8_t *)root,
	    out->len - (size_t)(root - out->bytes));
}

static void check_feed(struct tally *t, uint64_t number)
{
	static const size_t windows[] = { 0, 0, 0, 256, 2000 };
	static struct feed f;
	static struct seen s, cut;
	struct chance c = chance_of(number);
	struct subject b = { .number = number, .what = "UTF-8", .http = true };

	random_feed(&f, &c);
	b.window = ANY_OF(&c, windows);
	b.type = f.type, b.bytes = f.body.bytes, b.len = f.body.len;
	t->right += f.strays == 0;
	t->spoilt += f.strays > 0;
	subject_normalise(&s, &b, OUTPUT_UTF_8, NULL);
	if (!keeps(&f, &s.out))
		fault(t, &b, &s, f.strays == 0 ? "the text is another" : "a well-formed character is lost");
	if (!one_in(&c, CUT_ONE_IN))
		return;
	t->cut++;
	if (!subject_is_cut_alike(&cut, &b, &s, &c))
		fault(t, &b, &cut, "cuts change what comes out");
}

int main(void)
{
	uint64_t first = number_of("UTFEED_STRAYS_FIRST", 0), count = number_of("UTFEED_STRAYS_FEEDS", DEFAULT_FEEDS);
	uint64_t most = number_of("UTFEED_STRAYS_FAULTS", DEFAULT_FAULTS), i;
	struct tally t = { 0 };

	for (i = first; i < first + count && t.faults < most; i++) {
		check_feed(&t, i);
		fflush(stdout);
	}
	printf("strays: %llu feeds from %llu on: %llu right, %llu with strays, %llu cut; %llu changed\n", (unsigned long long)(i - first),
	    (unsigned long long)first, (unsigned long long)t.right, (unsigned long long)t.spoilt, (unsigned long long)t.cut,
	    (unsigned long long)t.faults);
	return t.faults > 0;
}
