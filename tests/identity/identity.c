/* The identity test: what is no feed leaves as it came, what is right XML says the same afterwards (issue 12, faults 9 and 10).
 * Must not know: how either is told. Each document is made from its number; UTFEED_IDENTITY_DOCUMENTS says how many (20,000),
 * UTFEED_IDENTITY_FIRST which is the first, UTFEED_IDENTITY_FAULTS after how many faults it ends (10). A fault is printed with its
 * number and its bytes; 1 is the exit status then. */
#include "subject.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/text/utf8.h"

enum { DEFAULT_DOCUMENTS = 20000, CUT_ONE_IN = 25, DEFAULT_FAULTS = 10 };

struct tally {
	uint64_t xml, feeds, others, cut, ascii, ambiguous, faults;
	size_t bytes;
};

static void fault(struct tally *t, const struct subject *b, const struct seen *s, const char *why)
{
	subject_print("trust_09 trust_10 identity", b, s, why);
	t->faults++;
}

/* The output never depends on the cuts. */
static void check_cuts(struct tally *t, const struct subject *b, const struct seen *whole, struct chance *c)
{
	static struct seen cut;

	t->cut++;
	if (!subject_is_cut_alike(&cut, b, whole, c))
		fault(t, b, &cut, "cuts change what comes out");
}

/* The text as it must come out: what it was, and a declaration that says UTF-8. */
static void expect(struct text *out, const struct document *d)
{
	text_clear(out);
	text_add(out, d->text.bytes, d->enc_start);
	if (d->enc_end > d->enc_start && strcasecmp(d->charset->label, "UTF-8") != 0)
		text_put(out, "encoding=\"UTF-8\"");
	else
		text_add(out, d->text.bytes + d->enc_start, d->enc_end - d->enc_start);
	text_add(out, d->text.bytes + d->enc_end, d->text.len - d->enc_end);
}

/* Bytes of a narrow encoding that are UTF-8 by accident, or mostly, are taken for it: the step "utf8" of auto (utfeed-rules(7)). */
static bool is_ambiguous(const struct document *d, const struct text *bytes)
{
	const uint8_t *p = (const uint8_t *)bytes->bytes;
	struct utf8_count count;

	if (!d->charset->iconv || d->charset->wide || d->charset->ebcdic)
		return false;
	count = utf8_count(p, bytes->len, true);
	return count.multibyte > 0 && count.stray <= count.multibyte;
}

static const char *xml_type(const struct document *d, struct chance *c, char buf[128])
{
	static const char *const types[] = { "application/xml", "text/xml", "application/rss+xml", "application/atom+xml", "application/rdf+xml", "text/x-opml+xml" };
	const char *type = ANY_OF(c, types);

	if (!d->declared || one_in(c, 2))
		return type;
	snprintf(buf, 128, "%s; charset=%s", type, d->charset->label);
	return buf;
}

static void check_events(struct tally *t, const struct subject *b, const struct document *d, const struct seen *s)
{
	static struct text before, after;

	if (d->xml_1_1)
		return;             /* expat knows 1.0 */
	if (!xml_events(&before, "utf-8", d->text.bytes, d->text.len)) {
		fault(t, b, s, "a fault of this test: not well-formed");
		printf("%s\n", before.bytes + (before.len > 300 ? before.len - 300 : 0));
	} else if (!xml_events(&after, NULL, s->out.bytes, s->out.len) || !same(&after, before.bytes, before.len)) {
		fault(t, b, s, "a parser says something else");
	}
}

/* The weakest output is still well-formed, where nothing had to be lost for it. */
static void check_ascii(struct tally *t, const struct subject *b, const struct document *d)
{
	static struct seen s;
	static struct text plain;

	subject_normalise(&s, b, OUTPUT_US_ASCII, NULL);
	if (s.lost > 0 || d->xml_1_1 || utf8_ascii_prefix((const uint8_t *)s.out.bytes, s.out.len) != s.out.len)
		return;
	t->ascii++;
	if (!xml_events(&plain, NULL, s.out.bytes, s.out.len))
		fault(t, b, &s, "as US-ASCII a parser takes it no more");
}

/* The document as its bytes, behind a mark where it has one. False: not to be written in its charset, or ambiguous. */
static bool write_out(struct text *in, const struct document *d)
{
	static struct text marked;

	text_clear(in);
	text_clear(&marked);
	text_put(&marked, d->mark ? "\xef\xbb\xbf" : "");
	text_add(&marked, d->text.bytes, d->text.len);
	return encode(in, d->charset, &marked) && !is_ambiguous(d, in);
}

/* Types that say nothing leave alone what is no feed and has no declaration; a feed is one anyhow. */
static void check_text(struct tally *t, const struct subject *b, const struct document *d, const struct seen *s, bool is_vague)
{
	static struct text want;

	expect(&want, d);
	if (s->kind == VERDICT_NONE && (!is_vague || d->feed))
		fault(t, b, s, "it was not taken for XML");
	else if (s->kind == VERDICT_NONE && !same(&s->out, b->bytes, b->len))
		fault(t, b, s, "untouched, and changed");
	else if (s->kind != VERDICT_NONE && !same(&s->out, want.bytes, want.len))
		fault(t, b, s, "the text is another");
}

static void check_xml(struct tally *t, uint64_t number, struct chance *c)
{
	static const char *const vague[] = { NULL, "text/plain", "application/octet-stream", "text/html" };
	static struct document d;
	static struct seen s;
	static struct text in;
	struct subject b = { .number = number };
	bool is_vague = one_in(c, 4);
	char type[128];

	random_xml(&d, c);
	if (!write_out(&in, &d)) {
		t->ambiguous++;
		return;
	}
	b.http = is_vague || !one_in(c, 6);
	b.type = is_vague ? ANY_OF(c, vague) : b.http ? xml_type(&d, c, type) : NULL;
	b.what = d.charset->label;
	b.bytes = in.bytes, b.len = in.len;
	t->xml++;
	t->feeds += d.feed;
	t->bytes += in.len;
	subject_normalise(&s, &b, OUTPUT_UTF_8, NULL);
	check_text(t, &b, &d, &s, is_vague);
	if (s.kind != VERDICT_NONE)
		check_events(t, &b, &d, &s);
	if (s.kind != VERDICT_NONE && one_in(c, CUT_ONE_IN))
		check_ascii(t, &b, &d);
	if (one_in(c, CUT_ONE_IN))
		check_cuts(t, &b, &s, c);
}

static void check_other(struct tally *t, uint64_t number, struct chance *c)
{
	static const char *const vague[] = { NULL, "text/plain", "application/octet-stream", "text/plain; charset=utf-8", "binary/octet-stream" };
	static struct other o;
	static struct seen s;
	struct subject b = { .number = number, .http = true };

	random_other(&o, (size_t)(number / 2 % other_kinds), c);
	b.what = o.type;
	b.bytes = o.body.bytes, b.len = o.body.len;
	b.type = one_in(c, 2) ? o.type : o.html && one_in(c, 4) ? "text/html" : ANY_OF(c, vague);
	t->others++;
	t->bytes += b.len;
	subject_normalise(&s, &b, OUTPUT_UTF_8, NULL);
	if (s.kind != VERDICT_NONE || !same(&s.out, b.bytes, b.len))
		fault(t, &b, &s, "no feed, and changed");
	if (one_in(c, CUT_ONE_IN))
		check_cuts(t, &b, &s, c);
}

int main(void)
{
	uint64_t first = number_of("UTFEED_IDENTITY_FIRST", 0), count = number_of("UTFEED_IDENTITY_DOCUMENTS", DEFAULT_DOCUMENTS);
	uint64_t most = number_of("UTFEED_IDENTITY_FAULTS", DEFAULT_FAULTS), i;
	struct tally t = { 0 };

	for (i = first; i < first + count && t.faults < most; i++) {
		struct chance c = chance_of(i);

		if (i % 2 == 0)
			check_xml(&t, i, &c);
		else
			check_other(&t, i, &c);
		fflush(stdout);
	}
	printf("identity: %llu documents from %llu on, %zu MB: %llu of XML (%llu feeds), %llu of %zu other kinds; %llu cut, %llu as US-ASCII, %llu "
	    "skipped as ambiguous; %llu changed\n", (unsigned long long)(i - first), (unsigned long long)first, t.bytes >> 20,
	    (unsigned long long)t.xml, (unsigned long long)t.feeds, (unsigned long long)t.others, other_kinds, (unsigned long long)t.cut,
	    (unsigned long long)t.ascii, (unsigned long long)t.ambiguous, (unsigned long long)t.faults);
	return t.faults > 0;
}
