/* Owns what core/ does when memory, or a converter, is not to be had: the n-th request is refused, for every n.
 * Must not know: which request is whose. The linker puts the __wrap_ functions in place of the C library's (tests/include.am).
 * Invariant: a refusal is reported, nothing leaks (AddressSanitizer looks), and the next try works. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "core/evidence/detector.h"
#include "core/library/utfeed.h"
#include "core/normalise/normalise.h"
#include "core/text/utf8.h"

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
iconv_t __real_iconv_open(const char *, const char *);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
iconv_t __wrap_iconv_open(const char *, const char *);

static struct {
	size_t until;               /* counts down to the request that is refused; 0: none is */
	bool hit;
	bool no_converter;          /* iconv_open knows nothing */
	size_t meanwhile_at;        /* counts down to the request within which this runs; 0: never */
	void (*meanwhile)(void);
} fault;

static bool refused(void)
{
	if (fault.meanwhile_at > 0 && --fault.meanwhile_at == 0)
		fault.meanwhile();
	if (fault.until == 0 || --fault.until > 0)
		return false;
	fault.hit = true;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return refused() ? NULL : __real_realloc(old, size);
}

iconv_t __wrap_iconv_open(const char *to, const char *from)
{
	if (!fault.no_converter)
		return __real_iconv_open(to, from);
	errno = EINVAL;
	return (iconv_t)-1;
}

/* ---- the detector ---- */

/* A charset that this machine cannot read is none that the detector finds, in whatever language. */
static void detector_without_converters(void)
{
	static const uint8_t text[] = "<title>\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0</title><title>caf\xe9 \xe0 la cr\xe8me, d\xe9j\xe0 vu</title>";
	struct detection d;

	fault.no_converter = true;
	CU_ASSERT_EQUAL(detector_weigh(&d, text, sizeof(text) - 1, NULL, NULL, 0), 0);
	for (size_t i = 0; i < d.n; i++) {
		struct decoder *decoder = decoder_new(d.readings[i].charset, 0);

		UNIT_ROW(decoder != NULL, "%s", charset_name(d.readings[i].charset));
		decoder_free(&decoder);
	}
	fault.no_converter = false;
}

/* ---- decoders ---- */

static void without_converters(void)
{
	const char *missing;
	size_t failed;

	fault.no_converter = true;
	failed = decoder_selftest(&missing);
	UNIT_ROW(failed > 100 && missing != NULL, "%zu missing", failed);
	errno = 0;
	CU_ASSERT_PTR_NULL(decoder_new(CS_BIG5, 0));
	CU_ASSERT_EQUAL(errno, EINVAL);
	fault.no_converter = false;
}

/* Every request on the way to a first decoder of a charset, its tables among them. */
static void decoders(void)
{
	for (enum charset cs = CS_NONE + 1; cs < CS_COUNT; cs++)
		for (size_t n = 1;; n++) {
			struct decoder *d;

			fault.hit = false;
			fault.until = n;
			errno = 0;
			d = decoder_new(cs, 0);
			fault.until = 0;
			UNIT_ROW((d == NULL) == fault.hit && (d != NULL || errno == ENOMEM), "%s, request %zu", charset_name(cs), n);
			decoder_free(&d);
			if (!fault.hit)
				break;
		}
}

static enum charset built_meanwhile;

static void build(void)
{
	struct decoder *d = decoder_new(built_meanwhile, DECODER_LITERAL);

	CU_ASSERT_PTR_NOT_NULL(d);
	decoder_free(&d);
}

/* Another thread publishes a table while this one builds it: literal ones, which no case before has asked for. */
static void lost_races(void)
{
	static const enum charset charsets[] = { CS_WINDOWS_1252, CS_SHIFT_JIS };

	for (size_t i = 0; i < sizeof(charsets) / sizeof(charsets[0]); i++) {
		struct decoder *d;

		built_meanwhile = charsets[i];
		fault.meanwhile = build;
		fault.meanwhile_at = 2;                 /* the decoder's own request is the first */
		d = decoder_new(charsets[i], DECODER_LITERAL);
		CU_ASSERT_PTR_NOT_NULL(d);
		CU_ASSERT_EQUAL(fault.meanwhile_at, 0);
		decoder_free(&d);
	}
}

/* The detector's tables are made at first use, which is asked again where memory was missing. */
static void detector(void)
{
	static const uint8_t text[] = "<title>\xcf\xf0\xe8\xe2\xe5\xf2</title>";
	struct detection d;

	fault.hit = false;
	fault.until = 1;
	CU_ASSERT_EQUAL(detector_weigh(&d, text, sizeof(text) - 1, NULL, NULL, 0), -1);
	CU_ASSERT_TRUE(fault.hit);
	fault.until = 0;
	CU_ASSERT_EQUAL(detector_weigh(&d, text, sizeof(text) - 1, NULL, NULL, 0), 0);
	CU_ASSERT_EQUAL(d.readings[0].charset, CS_WINDOWS_1251);
}

/* ---- bodies ---- */

struct seen {
	char rule[VERDICT_FORMAT_MAX];
	uint8_t out[16384];
	size_t len;
};

static int on_verdict(void *arg, const struct verdict *v)
{
	struct seen *s = arg;

	verdict_format(v, s->rule, sizeof(s->rule));
	return 0;
}

static int on_write(void *arg, const uint8_t *bytes, size_t len)
{
	struct seen *s = arg;

	if (len > sizeof(s->out) - s->len)
		return 1;
	memcpy(s->out + s->len, bytes, len);
	s->len += len;
	return 0;
}

/* In pieces of 100 bytes, so that text is held and grown. */
static int run(struct seen *s, const struct normalise_options *o, const uint8_t *in, size_t len)
{
	struct normalise_events events = { on_verdict, on_verdict, on_write, s };
	struct normaliser *n = normaliser_new(o, &events);
	int rc = n ? NORMALISE_OK : NORMALISE_NO_MEMORY;

	s->len = 0;
	s->rule[0] = '\0';
	for (size_t at = 0; rc == NORMALISE_OK && at < len; at += 100)
		rc = normaliser_feed(n, in + at, len - at < 100 ? len - at : 100);
	if (rc == NORMALISE_OK)
		rc = normaliser_finish(n);
	normaliser_free(&n);
	CU_ASSERT_PTR_NULL(n);
	return rc;
}

#define PAD(text) text text text text text text text text text text text text text text text text text text text text
static const struct {
	const char *what;
	enum policy policy;
	const char *content_type, *body;
	size_t sniff;
	enum normalise_output output;
} bodies[] = {
	{ "a label", POLICY_RFC7303, "text/xml; charset=koi8-r", "<rss>\xf0\xd2\xc9\xd7\xc5\xd4</rss>", 0, OUTPUT_UTF_8 },
	{ "US-ASCII output", POLICY_RFC7303, "text/xml; charset=gb2312", "<?xml version='1.0' encoding='gb2312'?><rss>\xd6\xd0</rss>", 0,
	    OUTPUT_US_ASCII },
	{ "a converter's stream", POLICY_RFC7303, "text/xml; charset=iso-2022-kr", "<rss/>", 0, OUTPUT_UTF_8 },
	{ "a long prolog", POLICY_RFC7303, "text/xml", "<!--" PAD(PAD("prolog ")) "--><rss/>", 0, OUTPUT_UTF_8 },
	{ "no feed", POLICY_RFC7303, "text/html", "<html>" PAD("text ") "</html>", 0, OUTPUT_UTF_8 },
	{ "evidence", POLICY_AUTO, "text/xml", "<rss>\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0</rss>", 0, OUTPUT_UTF_8 },
	{ "two windows, revised", POLICY_AUTO, "text/xml", "<rss>" PAD("text ") "\xc3\xa9" PAD("text ") "</rss>", 64, OUTPUT_UTF_8 },
	{ "two labels", POLICY_AUTO, "text/xml; charset=big5", "<?xml version='1.0' encoding='gb2312'?><rss>" "\xd6\xd0\xce\xc4\xd6\xd0\xce\xc4</rss>", 0,
	    OUTPUT_UTF_8 },
	{ "retries", POLICY_FEEDPARSER, "text/xml", "<rss>\xcf\xf0\xe8\xe2\xe5\xf2</rss>", 0, OUTPUT_UTF_8 },
	{ "encoded twice", POLICY_RFC7303, "text/xml", "<rss><a>caf\xc3\x83\xc2\xa9</a>" PAD("text ") "<a>\xc3\x83\xc2\xa9t\xc3\x83\xc2\xa9s" PAD("text ") "</a></rss>",
	    0, OUTPUT_UTF_8 },
	{ "encoded three times", POLICY_RFC7303, "text/xml", "<rss>" PAD("caf\xc3\x83\xc6\x92\xc3\x82\xc2\xa9 ") "</rss>", 0, OUTPUT_UTF_8 },
};

static void refused_bodies(void)
{
	static struct seen good, s;

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		const uint8_t *in = (const uint8_t *)bodies[i].body;
		struct normalise_options o = { .policy = bodies[i].policy, .http = true, .content_type = bodies[i].content_type,
		    .content_type_len = strlen(bodies[i].content_type), .sniff_bytes = bodies[i].sniff, .repairs = REPAIR_ALL | REPAIR_DOUBLE,
		    .output = bodies[i].output };
		size_t len = strlen(bodies[i].body), refusals = 0;

		UNIT_ROW(run(&good, &o, in, len) == NORMALISE_OK, "%s", bodies[i].what);
		do {
			int rc;

			fault.hit = false;
			fault.until = ++refusals;
			rc = run(&s, &o, in, len);
			fault.until = 0;
			UNIT_ROW(rc == (fault.hit ? NORMALISE_NO_MEMORY : NORMALISE_OK), "trust 24: %s, request %zu: %d", bodies[i].what, refusals, rc);
			UNIT_ROW(utf8_valid_prefix(s.out, s.len) == s.len, "%s, request %zu", bodies[i].what, refusals);
			UNIT_ROW(s.len <= good.len && memcmp(s.out, good.out, s.len) == 0, "%s, request %zu", bodies[i].what, refusals);
		} while (fault.hit);
		UNIT_ROW(refusals > 2 && s.len == good.len && strcmp(s.rule, good.rule) == 0, "%s: %zu refused, %s", bodies[i].what, refusals - 1, s.rule);
	}
}

/* glibc loads a converter as a library, and where memory or descriptors are missing for that it says that there is none. */
static void converters_that_could_not_be_loaded(void)
{
	fault.no_converter = true;
	for (size_t n = 1; n == 1 || fault.hit; n++) {
		fault.hit = false;
		fault.until = n;
		errno = 0;
		CU_ASSERT_PTR_NULL(decoder_new(CS_ISO_2022_KR, 0));
		fault.until = 0;
		UNIT_ROW(errno == (fault.hit ? ENOMEM : EINVAL), "request %zu: %d", n, errno);
		UNIT_ROW(fault.hit || n > 2, "only %zu requests", n - 1);
	}
	fault.no_converter = false;
}

/* A charset this machine has no converter for is an error of the response, not of the program. */
static void undecodable_body(void)
{
	static const char in[] = "<rss/>", type[] = "text/xml; charset=iso-2022-kr";
	struct normalise_options o = { .policy = POLICY_RFC7303, .http = true, .content_type = type, .content_type_len = sizeof(type) - 1 };
	static struct seen s;

	fault.no_converter = true;
	CU_ASSERT_EQUAL(run(&s, &o, (const uint8_t *)in, strlen(in)), NORMALISE_REJECTED);
	CU_ASSERT_STRING_EQUAL(s.rule, "rfc7303:charset;was=iso-2022-kr;error=undecodable");
	o.on_error = ON_ERROR_PASS;
	CU_ASSERT_EQUAL(run(&s, &o, (const uint8_t *)in, strlen(in)), NORMALISE_OK);
	CU_ASSERT(s.len == strlen(in) && memcmp(s.out, in, s.len) == 0);
	fault.no_converter = false;
}

/* The library's call for a whole body: it gives a stream, or says that memory is missing and gives none. */
static void refused_at_once(void)
{
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		size_t n = 0, len;

		do {
			struct utfeed *u;
			int result;

			fault.hit = false;
			fault.until = ++n;
			result = utfeed_normalise(bodies[i].body, strlen(bodies[i].body), bodies[i].content_type, &u);
			fault.until = 0;
			UNIT_ROW(result == (fault.hit ? UTFEED_NO_MEMORY : UTFEED_OK) && !u == fault.hit, "%s, request %zu: %d", bodies[i].what, n, result);
			UNIT_ROW(fault.hit || (*utfeed_output(u, &len) && len), "%s: no output", bodies[i].what);
			utfeed_free(u);
		} while (fault.hit);
		UNIT_ROW(n > 2, "%s: only %zu requests", bodies[i].what, n - 1);
	}
}

/* A stream that cannot grow keeps the output that nobody has read, with the zero byte behind it. Half of the block was read, so the bytes move. */
static void refused_growth(void)
{
	static char text[9000], read[3000];
	size_t n = 0, left = 0;
	bool hit;

	memset(text, 'x', sizeof(text));
	do {
		struct utfeed *u = utfeed_new(NULL, NULL);

		CU_ASSERT_PTR_NOT_NULL_FATAL(u);
		CU_ASSERT_EQUAL(utfeed_set(u, "sniff-bytes", "1024"), UTFEED_OK);
		CU_ASSERT_EQUAL(utfeed_feed(u, "<rss><title>", 12), UTFEED_OK);
		CU_ASSERT_EQUAL(utfeed_feed(u, text, 3500), UTFEED_OK);
		CU_ASSERT_EQUAL(utfeed_read(u, read, sizeof(read)), sizeof(read));
		fault.hit = false;
		fault.until = ++n;
		UNIT_ROW(utfeed_feed(u, text, sizeof(text)) == (fault.hit ? UTFEED_NO_MEMORY : UTFEED_OK), "request %zu", n);
		fault.until = 0;
		hit = fault.hit;
		const char *output = utfeed_output(u, &left);
		UNIT_ROW(left > 0 && strlen(output) == left, "request %zu: %zu of %zu", n, strlen(output), left);
		utfeed_free(u);
	} while (hit);
	UNIT_ROW(n > 1 && left == 12 + 3500 + sizeof(text) - sizeof(read), "%zu requests, %zu left", n - 1, left);
}

/* What a process learned of its machine's converters it keeps: those that know none come first. */
UNIT_SUITE(memory, { "detector without converters", detector_without_converters }, { "without converters", without_converters },
    { "undecodable body", undecodable_body }, { "decoders", decoders },
    { "lost races", lost_races }, { "detector", detector }, { "trust 24: refused bodies", refused_bodies },
    { "refused at once", refused_at_once }, { "refused growth", refused_growth },
    { "trust 24: converters that could not be loaded", converters_that_could_not_be_loaded })
