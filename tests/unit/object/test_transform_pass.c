/* Owns the cases of proxy/object/transform_pass.c: which gzip bodies go on as they came, and that all others fare as they would without.
 * Must not know: policies' rules. Invariant: what arrives is the same text, or the same failure, wherever the body is cut and however
 * little room the object has; gzip goes on only whole and only where it unpacks to that text. */
#include "proxy/coding/gzip_whole.h"
#include "tests/unit/transforms.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { GZIP_HEADER = 10 };

/* As transforms_run(), of a gzip body whose head has these fields, too. */
static struct outcome run(const char *fields, const struct transform_options *options, bool kept, const struct bytes *body, size_t cut, size_t step,
	size_t transit)
{
	char head[2 * TRANSFORMS_HEAD_MAX];

	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nDate: then\r\nContent-Encoding: gzip\r\n%s\r\n", fields);
	return transforms_run(head, options, kept, body, cut, step, transit);
}

static struct transform_options options_for(bool takes)
{
	return (struct transform_options){
		.loop = transforms_loop, .normalise = true, .respect_no_transform = true, .takes_gzip = takes,
		.encoding = { .policy = POLICY_AUTO, .http = true, .on_error = ON_ERROR_REJECT, .repairs = REPAIR_ALL, .sniff_bytes = 4096 },
		.limits = { 1000, 1000000, 0, UINT64_MAX },
		.head = { .via = "me", .date = "NOW", .etag_suffix = ";utf-00000000", .output = OUTPUT_UTF_8, .gzip = true },
	};
}

#define D(encoding) "<?xml version='1.0' encoding='" encoding "'?>"
#define FEED(title) \
	"<rss version='2.0'><channel><title>" title "</title><item><title>one</title></item><item><title>two</title></item><item><title>three</title>" \
	"</item></channel></rss>\n"
#define CAFE "caf\xc3\xa9"

/* ---- gzip of all kinds ---- */

/* How the gzip is made of the text, or spoilt. */
enum kind { PLAIN, MANY_BLOCKS, NAMED, CHECKED, TWO_MEMBERS, PADDED, WRONG_CRC, WRONG_SIZE, WRONG_DATA, CUT, EMPTY_MEMBER, KINDS };

static void insert(struct bytes *b, size_t at, const void *bytes, size_t len)
{
	struct bytes rest = bytes_of(b->at + at, b->len - at);

	b->len = at;
	bytes_add(b, bytes, len);
	bytes_add(b, rest.at, rest.len);
	free(rest.at);
}

/* A block for each two bytes. */
static struct bytes gzip_in_blocks(const char *text, size_t len)
{
	struct bytes out = bytes_of("", 0);
	z_stream z = { 0 };
	uint8_t piece[256];
	int r = Z_OK;

	CU_ASSERT_EQUAL_FATAL(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	for (size_t at = 0; r == Z_OK; at += z.avail_in ? 0 : 2) {
		z.next_in = (Bytef *)text + (at < len ? at : len);
		z.avail_in = at + 2 <= len ? 2 : at < len ? 1 : 0;
		z.next_out = piece;
		z.avail_out = sizeof(piece);
		r = deflate(&z, at < len ? Z_SYNC_FLUSH : Z_FINISH);
		bytes_add(&out, piece, sizeof(piece) - z.avail_out);
	}
	CU_ASSERT_EQUAL(r, Z_STREAM_END);
	deflateEnd(&z);
	return out;
}

static struct bytes gzip_of(const char *text, size_t len, enum kind kind)
{
	struct bytes b = kind == MANY_BLOCKS ? gzip_in_blocks(text, len) : packed("g", text, kind == TWO_MEMBERS ? len / 2 : len), more;
	uint8_t sum[2];

	switch (kind) {
	case NAMED:
		insert(&b, GZIP_HEADER, "feed.xml", 9);
		b.at[3] = 8;
		break;
	case CHECKED:
		b.at[3] = 2;
		sum[0] = (uint8_t)crc32(0, b.at, GZIP_HEADER);
		sum[1] = (uint8_t)(crc32(0, b.at, GZIP_HEADER) >> 8);
		insert(&b, GZIP_HEADER, sum, 2);
		break;
	case TWO_MEMBERS:
		more = packed("g", text + len / 2, len - len / 2);
		bytes_add(&b, more.at, more.len);
		free(more.at);
		break;
	case EMPTY_MEMBER:
		more = packed("g", "", 0);
		bytes_add(&b, more.at, more.len);
		free(more.at);
		break;
	case PADDED:
		bytes_add(&b, "\0\0\0", 3);
		break;
	case WRONG_CRC:
		b.at[b.len - 5] ^= 0x40;
		break;
	case WRONG_SIZE:
		b.at[b.len - 4] ^= 1;
		break;
	case WRONG_DATA:
		b.at[b.len / 2] ^= 0x55;
		break;
	case CUT:
		b.len -= 9;
		break;
	default:
		break;
	}
	return b;
}

static struct bytes unpacked(const struct bytes *gzip)
{
	struct bytes out = bytes_of("", 0);
	z_stream z = { .next_in = gzip->at, .avail_in = (uInt)gzip->len };
	uint8_t piece[4096];
	int r = Z_OK;

	CU_ASSERT_EQUAL_FATAL(inflateInit2(&z, 31), Z_OK);
	while (r == Z_OK) {
		z.next_out = piece;
		z.avail_out = sizeof(piece);
		r = inflate(&z, Z_NO_FLUSH);
		bytes_add(&out, piece, sizeof(piece) - z.avail_out);
	}
	CU_ASSERT(r == Z_STREAM_END && z.avail_in == 0);
	inflateEnd(&z);
	return out;
}

static void fields_for(char fields[TRANSFORMS_HEAD_MAX], const char *type, size_t length)
{
	snprintf(fields, TRANSFORMS_HEAD_MAX, "Content-Type: %s\r\nETag: \"1\"\r\nContent-Length: %zu\r\n", type, length);
}

/* Whether both are the same to a client but for the coding. */
static bool alike(const struct outcome *held, const struct outcome *ordinary)
{
	struct bytes text = held->coded ? unpacked(&held->body) : bytes_of(held->body.at, held->body.len);
	bool same = held->result == ordinary->result && strcmp(held->head, ordinary->head) == 0;

	if (held->result == TRANSFORM_FAILED)
		same = ordinary->result == TRANSFORM_FAILED && held->failure.error == ordinary->failure.error;
	else
		same &= text.len == ordinary->body.len && memcmp(text.at, ordinary->body.at, text.len) == 0 &&
			held->report.repairs == ordinary->report.repairs && held->report.malformed == ordinary->report.malformed;
	free(text.at);
	return same;
}

/* What became of it: text, gzip made anew, the origin's own gzip. */
enum came { AS_TEXT, OTHER_GZIP /* never */, PASSED };

/* Runs a gzip body with and without a client that takes gzip. */
static enum came expect_alike(const char *name, const char *type, const struct bytes *gzip, const struct transform_options *takes, size_t cut, size_t step,
	size_t transit)
{
	struct transform_options plain = *takes;
	char fields[TRANSFORMS_HEAD_MAX];
	struct outcome held, ordinary;
	enum came came;

	fields_for(fields, type, gzip->len);
	plain.takes_gzip = false;
	held = run(fields, takes, false, gzip, cut, step, transit);
	ordinary = run(fields, &plain, false, gzip, 0, gzip->len + 1, 1 << 20);
	UNIT_ROW(alike(&held, &ordinary), "%s, cut at %zu, room %zu: %d %s, not %d %s: %s, not %s", name, cut, transit, (int)held.result,
		held.failure.details, (int)ordinary.result, ordinary.failure.details, held.head, ordinary.head);
	UNIT_ROW(!ordinary.coded, "%s", name);
	UNIT_ROW(!held.coded || held.length == (int64_t)held.body.len, "%s: %zu bytes, said to be %lld", name, held.body.len, (long long)held.length);
	came = !held.coded ? AS_TEXT : held.body.len == gzip->len && memcmp(held.body.at, gzip->at, gzip->len) == 0 ? PASSED : OTHER_GZIP;
	free(held.body.at);
	free(ordinary.body.at);
	return came;
}

#define LONG_FEED FEED(CAFE " and more, and more, and more, and more")

static void which(void)
{
	static const struct {
		const char *name, *type, *text;
		enum came came;
		enum kind kind;
		unsigned output, off;
		size_t gzip_min;
		bool kept, refuses;
	} cases[] = {
		{ "nothing to change", "application/rss+xml", D("UTF-8") LONG_FEED, PASSED, PLAIN, 0, 0, 0, false, false },
		{ "undeclared", "text/xml", FEED(CAFE), PASSED, PLAIN, 0, 0, 0, false, false },
		{ "any type of feeds", "text/x-opml+xml", FEED(CAFE), PASSED, PLAIN, 0, 0, 0, false, false },
		{ "a feed under a drawing's type", "image/svg+xml", FEED(CAFE), AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "ASCII", "application/xml", FEED("cafe"), PASSED, PLAIN, 0, 0, 0, false, false },
		{ "windows-1252", "application/xml", D("windows-1252") FEED("caf\xe9"), AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "a declaration that lies", "application/xml", D("koi8-r") FEED(CAFE), AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "a mark", "application/xml", "\xef\xbb\xbf" FEED(CAFE), AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "white space before the declaration", "application/xml", "\n" D("UTF-8") FEED(CAFE), AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "a control", "application/xml", FEED(CAFE "\x01"), AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "a bare ampersand", "application/xml", FEED(CAFE " & co"), AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "a tag too many", "application/xml", FEED(CAFE "</b>"), AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "an end that is missing", "application/xml", "<rss version='2.0'><channel><title>" CAFE " and another " CAFE " and another " CAFE " and another", AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "more behind the end", "application/xml", FEED(CAFE) "more", AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "a stray byte", "application/xml", FEED(CAFE CAFE CAFE CAFE CAFE "\xe9"), AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "a byte that is missing at the end", "application/xml", FEED(CAFE) "<!-- \xc3", AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "any text under an XML type", "application/xml", "words, words, words", PASSED, PLAIN, 0, 0, 0, false, false },
		{ "a page", "text/html", "<!DOCTYPE html><html><body>" CAFE "</body></html>", AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "a feed under another type", "text/plain", D("UTF-8") FEED(CAFE), AS_TEXT, PLAIN, 0, 0, 0, false, false },
		{ "shorter than gzip-min", "application/xml", FEED(CAFE), AS_TEXT, PLAIN, 0, 0, 1024, false, false },
		{ "in US-ASCII", "application/xml", FEED(CAFE), AS_TEXT, PLAIN, 1, 0, 0, false, false },
		{ "switched off", "application/xml", FEED(CAFE), AS_TEXT, PLAIN, 0, 1, 0, false, false },
		{ "that is stored", "application/xml", FEED(CAFE), AS_TEXT, PLAIN, 0, 0, 0, true, false },
		{ "in very many blocks", "application/xml", LONG_FEED LONG_FEED, AS_TEXT, MANY_BLOCKS, 0, 0, 0, false, false },
		{ "in many blocks", "application/xml", FEED(CAFE), PASSED, MANY_BLOCKS, 0, 0, 0, false, false },
		{ "with a name", "application/xml", FEED(CAFE), AS_TEXT, NAMED, 0, 0, 0, false, false },
		{ "with a checked header", "application/xml", FEED(CAFE), AS_TEXT, CHECKED, 0, 0, 0, false, false },
		{ "in two members", "application/xml", FEED(CAFE), AS_TEXT, TWO_MEMBERS, 0, 0, 0, false, false },
		{ "an empty member behind it", "application/xml", FEED(CAFE), AS_TEXT, EMPTY_MEMBER, 0, 0, 0, false, false },
		{ "padded", "application/xml", FEED(CAFE), AS_TEXT, PADDED, 0, 0, 0, false, false },
		{ "a wrong sum", "application/xml", FEED(CAFE), AS_TEXT, WRONG_CRC, 0, 0, 0, false, true },
		{ "a wrong length", "application/xml", FEED(CAFE), AS_TEXT, WRONG_SIZE, 0, 0, 0, false, true },
		{ "damaged", "application/xml", LONG_FEED, AS_TEXT, WRONG_DATA, 0, 0, 0, false, true },
		{ "cut", "application/xml", FEED(CAFE), AS_TEXT, CUT, 0, 0, 0, false, true },
	};
	static const size_t transits[] = { 1, 1 << 20 };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bytes gzip = gzip_of(cases[i].text, strlen(cases[i].text), cases[i].kind);
		struct transform_options takes = options_for(true);
		char fields[TRANSFORMS_HEAD_MAX];
		struct outcome o;

		takes.encoding.output = takes.head.output = cases[i].output ? OUTPUT_US_ASCII : OUTPUT_UTF_8;
		takes.normalise = !cases[i].off;
		takes.gzip_min = cases[i].gzip_min;
		for (size_t n = 0; n < (gzip.len + 1) * COUNT(transits) && !cases[i].kept; n++) {
			size_t cut = n / COUNT(transits);

			if (!UNIT_ROW(expect_alike(cases[i].name, cases[i].type, &gzip, &takes, cut, cut == gzip.len ? 1 : cut ? gzip.len + 1 : 0,
				transits[n % COUNT(transits)]) == cases[i].came, "%s, cut at %zu", cases[i].name, cut))
				break;
		}
		fields_for(fields, cases[i].type, gzip.len);
		o = run(fields, &takes, cases[i].kept, &gzip, 0, gzip.len, 1 << 20);
		UNIT_ROW(o.coded == (cases[i].came != AS_TEXT) && (o.result == TRANSFORM_FAILED) == cases[i].refuses, "%s: %s", cases[i].name, o.head);
		free(o.body.at);
		free(gzip.at);
	}
}

/* A body of which no length is told is not held, nor one that is longer than the window. */
static void lengths(void)
{
	struct transform_options takes = options_for(true);
	struct bytes gzip = gzip_of(FEED(CAFE), sizeof(FEED(CAFE)) - 1, PLAIN);
	static const size_t windows[] = { 1, 16, 64, 90, 200 };
	char fields[TRANSFORMS_HEAD_MAX];
	struct outcome o;

	o = run("Content-Type: text/xml\r\nTransfer-Encoding: chunked\r\n", &takes, false, &gzip, 0, gzip.len, 1 << 20);
	CU_ASSERT_FALSE(o.coded);
	free(o.body.at);
	fields_for(fields, "text/xml", gzip.len);
	for (size_t i = 0; i < COUNT(windows); i++) {
		takes.encoding.sniff_bytes = windows[i];
		UNIT_ROW(expect_alike("window", "text/xml", &gzip, &takes, 0, 7, 100) == (gzip.len <= windows[i] ? PASSED : AS_TEXT), "window %zu, body %zu", windows[i],
			gzip.len);
	}
	free(gzip.at);
}

/* Longer feeds: to the end of what is unpacked at once and beyond, with a fault in each part of them. */
static void long_bodies(void)
{
	enum { WINDOW = 4096, MOST = 4 * WINDOW };
	static const size_t sizes[] = { WINDOW - 1, WINDOW, WINDOW + 1, MOST - 1, MOST, MOST + 1, 3 * MOST };
	static const char fault[] = "&\x01", head[] = D("UTF-8") "<rss version='2.0'><title>", tail[] = "</title></rss>";

	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t part = 0; part <= 4; part++)
			for (size_t transit = 1; transit <= 1 << 20; transit <<= 10) {
				struct transform_options takes = options_for(true);
				struct bytes text = bytes_of(head, strlen(head)), gzip;
				size_t at = sizes[i] * part / 4;

				while (text.len < sizes[i] - strlen(tail))
					bytes_add(&text, text.len % 97 ? "caf\xc3\xa9 & " : "a ", text.len % 97 ? 5 : 1);
				text.len = sizes[i] - strlen(tail);
				while ((text.at[text.len - 1] & 0xc0) == 0xc0)
					text.at[text.len - 1] = ' ';
				bytes_add(&text, tail, strlen(tail));
				if (part > 0 && at > 200 && at + 200 < text.len)
					memcpy(text.at + at, fault, 2);
				gzip = gzip_of((char *)text.at, text.len, PLAIN);
				expect_alike("long", "application/xml", &gzip, &takes, 0, 100, transit);
				if (part == 0)
					UNIT_ROW(expect_alike("long", "application/xml", &gzip, &takes, 0, gzip.len, transit) ==
						(sizes[i] <= MOST && gzip.len <= WINDOW ? PASSED : AS_TEXT), "%zu bytes, %zu as gzip", sizes[i], gzip.len);
				free(gzip.at);
				free(text.at);
			}
}

/* ---- at random ---- */

static uint32_t state = 1;

static uint32_t random_below(uint32_t n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % n;
}

/* Text of pieces that make good and bad feeds. */
static struct bytes random_text(void)
{
	static const char *const pieces[] = { "<rss>", "</rss>", "<title>", "</title>", "<item>", "</item>", CAFE, "\xe9", "\x01", "&", "&amp;", "&#1;",
		"<![CDATA[", "]]>", "<!--", "-->", "words ", "\xc3", "\xf0\x9f\x98\x80", "<a b='c'>", "</a>", "\n", "\xef\xbf\xbe", "<?x y?>" };
	struct bytes b = bytes_of("", 0);
	uint32_t n = random_below(200), sound = random_below(3);

	bytes_add(&b, "<rss><title>", 12);
	for (uint32_t i = 0; i < n; i++) {
		const char *piece = sound ? (random_below(2) ? CAFE : "words ") : pieces[random_below(COUNT(pieces))];

		bytes_add(&b, piece, strlen(piece));
	}
	if (sound)
		bytes_add(&b, "</title></rss>", 14);
	return b;
}

static void at_random(void)
{
	unsigned came[3] = { 0 };

	for (int i = 0; i < 3000; i++) {
		struct transform_options takes = options_for(true);
		struct bytes text = random_text(), gzip = gzip_of((char *)text.at, text.len, (enum kind)(random_below(2) ? PLAIN : random_below(KINDS)));

		if (random_below(4) == 0)
			gzip.at[random_below((uint32_t)gzip.len)] ^= (uint8_t)(1u << random_below(8));
		takes.encoding.sniff_bytes = 1u << (4 + random_below(9));
		came[expect_alike("at random", "text/xml", &gzip, &takes, 0, 1 + random_below(200), 1 + random_below(1000))]++;
		free(gzip.at);
		free(text.at);
	}
	UNIT_ROW(came[PASSED] > 400 && came[AS_TEXT] > 100 && !came[OTHER_GZIP], "%u passed, %u as text", came[PASSED], came[AS_TEXT]);
}

static void run_which(void) { transforms_with_loop(which); }
static void run_lengths(void) { transforms_with_loop(lengths); }
static void run_long(void) { transforms_with_loop(long_bodies); }
static void run_random(void) { transforms_with_loop(at_random); }

UNIT_SUITE(pass, { "which", run_which }, { "lengths", run_lengths }, { "long bodies", run_long }, { "at random", run_random })
