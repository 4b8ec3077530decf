/* Owns the cases of proxy/store/entry.c and entry_pack.c: what an entry costs, and that bytes give the same entry back or none. */
#include "tests/unit/entries.h"
#include "tests/unit/unit.h"

#include "proxy/base/hash.h"

#include <malloc.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_verdict(const struct verdict *a, const struct verdict *b)
{
	return a->kind == b->kind && a->policy == b->policy && !strcmp(a->path, b->path) && a->charset == b->charset &&
	    a->literal == b->literal && same_text(a->named, b->named) && !strcmp(a->unknown, b->unknown) && same_text(a->was, b->was) &&
	    a->feed == b->feed && a->extended == b->extended && a->error == b->error && a->reason == b->reason && a->outcome == b->outcome;
}

static void same_entry(const struct entry *a, const struct entry *b, const char *name)
{
	const struct object_report *ra, *rb;

	UNIT_ROW(a->key_len == b->key_len && !memcmp(a->key, b->key, a->key_len), "%s: key", name);
	UNIT_ROW(same_text(a->vary, b->vary), "%s: names", name);
	UNIT_ROW(!a->object == !b->object && a->part.first == b->part.first && a->part.last == b->part.last && a->part.total == b->part.total,
	    "%s: kind", name);
	UNIT_ROW(a->freshness.response_time == b->freshness.response_time && a->freshness.lifetime_s == b->freshness.lifetime_s &&
	    a->freshness.initial_age_s == b->freshness.initial_age_s && a->freshness.swr_s == b->freshness.swr_s &&
	    a->freshness.sie_s == b->freshness.sie_s && a->freshness.keep_s == b->freshness.keep_s && a->freshness.flags == b->freshness.flags, "%s: freshness", name);
	if (!a->object || !b->object)
		return;
	ra = object_reported(a->object);
	rb = object_reported(b->object);
	UNIT_ROW(a->head->status == b->head->status && a->head->content_length == b->head->content_length &&
	    a->head->no_body == b->head->no_body && a->head->gzip == b->head->gzip && a->head->etag_end == b->head->etag_end &&
	    a->head->len == b->head->len && !memcmp(a->head->bytes, b->head->bytes, a->head->len),
	    "%s: head", name);
	UNIT_ROW(a->upstream_len == b->upstream_len && !memcmp(a->upstream, b->upstream, a->upstream_len), "%s: upstream", name);
	UNIT_ROW(ra->decided == rb->decided && ra->revised == rb->revised && ra->normalised == rb->normalised &&
	    ra->decoded == rb->decoded && ra->repairs == rb->repairs &&
	    ra->malformed == rb->malformed && (!ra->decided || same_verdict(&ra->verdict, &rb->verdict)), "%s: report", name);
}

static const struct { const char *name; size_t len; } sizes[] = {
	{ "empty", 0 }, { "one byte", 1 }, { "first segment less one", 4031 }, { "first segment", 4032 }, { "and one", 4033 },
	{ "40 KB", 40000 }, { "1 MB", 1 << 20 },
};

static const struct verdict verdicts[] = {
	{ .kind = VERDICT_CHARSET, .policy = POLICY_AUTO, .path = "2.1/decl", .charset = CS_UTF_8, .named = "utf-8", .was = "us-ascii", .feed = true },
	{ .kind = VERDICT_CHARSET, .policy = POLICY_ROME_LENIENT, .path = "2.0/1.2", .charset = CS_WINDOWS_1252, .literal = true,
		.named = "iso-8859-1", .outcome = OUTCOME_OVERRIDE },
	{ .kind = VERDICT_CHARSET, .policy = POLICY_FEEDPARSER, .path = "x", .charset = CS_KOI8_R, .named = "koi8-r", .extended = true },
	{ .kind = VERDICT_ERROR, .policy = POLICY_ROME_STRICT, .path = "2.4", .error = VERR_UNKNOWN_CHARSET, .unknown = "x-\xff\"odd" },
	{ .kind = VERDICT_ERROR, .policy = POLICY_ROME_STRICT, .path = "", .error = VERR_UNDECODABLE, .named = "" },
	{ .kind = VERDICT_NONE, .policy = POLICY_AUTO, .reason = VREASON_DISABLED, .outcome = OUTCOME_NONXML },
};

static struct entry *with_verdict(const struct verdict *v)
{
	const struct object_report report = { .decided = true, .verdict = *v, .revised = true, .repairs = 3, .malformed = 1u << 31, .normalised = true };

	return entries_reported("http://a/\nk", 1, 100, &report);
}

/* Takes the head over. */
static struct entry *with_head(struct object_head *head, const char *bytes, size_t len)
{
	struct entry_parts parts = { .head = head, .upstream = strdup("HTTP/1.1 200 OK\r\n"), .upstream_len = 17 };

	free(head->bytes);
	head->bytes = strdup(bytes);
	head->len = strlen(bytes);
	parts.object = entries_object(1, len, object_head_ref(head), NULL);
	return entry_new("http://a/\nk", 11, &parts);
}

static struct entry *again(const struct entry *e)
{
	size_t len = 0;
	char *bytes = entry_pack(e, &len);
	struct entry *u = bytes ? entry_unpack(bytes, len) : NULL;

	free(bytes);
	return u;
}

static void round_trip(struct entry *e, const char *name)
{
	struct entry *u = again(e);

	if (UNIT_ROW(u != NULL, "%s: unpacked", name))
		same_entry(e, u, name);
	entry_unref(&u);
	entry_unref(&e);
}

static void bodies(void)
{
	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct entry *e = entries_new("http://a/\nk", (unsigned)i, sizes[i].len), *u = again(e);

		UNIT_ROW(u && entries_body_is(u, (unsigned)i, sizes[i].len), "%s", sizes[i].name);
		UNIT_ROW(u && object_get_head(u->object) == u->head && object_is_retained(u->object), "%s: kept", sizes[i].name);
		entry_unref(&u);
		entry_unref(&e);
	}
}

static void parts(void)
{
	struct entry_parts binary = { .vary = strdup("accept-encoding"), .generation = UINT64_MAX };
	struct entry *variant = entries_new("http://a/\nk\naccept=x", 1, 300);

	for (size_t i = 0; i < COUNT(verdicts); i++)
		round_trip(with_verdict(&verdicts[i]), verdicts[i].path);
	round_trip(entries_vary("http://a/\nk", "accept-encoding, accept-language"), "record of variants");
	round_trip(entries_mark("http://a/\nk" ENTRY_PARTS), "mark");
	round_trip(entries_part("http://a/\nk" ENTRY_PARTS, 1, 5, 3, 8), "part to the end");
	round_trip(entries_part("http://a/\nk" ENTRY_PARTS, 1, 5000, 0, UINT64_MAX), "part of more than any disk holds");
	round_trip(entries_part("http://a/\nk" ENTRY_PARTS, 1, 8, 0, 8), "part that is all");
	variant->generation = 1;
	round_trip(variant, "variant");
	round_trip(entry_new("a\0b\nc", 5, &binary), "key with NUL");
	round_trip(entries_new("", 0, 10), "empty key");
}

/* What the gzip form's head is made from comes back too. */
static void gzip_heads(void)
{
	static const struct { const char *bytes; bool gzip; uint32_t etag_end; } rows[] = {
		{ "HTTP/1.1 200 OK\r\nVary: Accept-Encoding\r\nETag: \"a\"\r\nDate: x\r\n", true, 48 },
		{ "HTTP/1.1 200 OK\r\nETag: W/\"a\"\r\n", true, 27 }, { "HTTP/1.1 200 OK\r\nETag: \"a\"\r\n", false, 25 },
		{ "HTTP/1.1 200 OK\r\nVary: Accept-Encoding\r\n", true, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct object_head *head = entries_head(100);
		struct entry *e;

		head->gzip = rows[i].gzip;
		head->etag_end = rows[i].etag_end;
		e = with_head(head, rows[i].bytes, 100);
		UNIT_ROW(!rows[i].etag_end || rows[i].bytes[rows[i].etag_end] == '"', "row %zu", i);
		round_trip(e, rows[i].bytes);
	}
}

/* Strings of a verdict are the tables' own: comparing pointers is allowed. */
static void names_are_static(void)
{
	struct entry *e = with_verdict(&verdicts[1]), *u = again(e);

	CU_ASSERT_PTR_EQUAL_FATAL(object_reported(u->object)->verdict.named, charset_lookup("iso-8859-1", 10)->text);
	entry_unref(&u);
	entry_unref(&e);
}

static void every_flip_is_refused(void)
{
	struct entry *entries[] = { entries_new("http://a/\nk", 1, 300), with_verdict(&verdicts[3]), entries_vary("http://a/\nk", "accept"),
		entries_mark("http://a/\nk" ENTRY_PARTS), entries_part("http://a/\nk" ENTRY_PARTS, 1, 5, 3, 10) };

	for (size_t i = 0; i < COUNT(entries); i++) {
		size_t len;
		char *bytes = entry_pack(entries[i], &len);

		for (size_t at = 0; at < len; at++)
			for (int bit = 0; bit < 8; bit++) {
				struct entry *u;

				bytes[at] = (char)(bytes[at] ^ 1 << bit);
				u = entry_unpack(bytes, len);
				UNIT_ROW(!u, "entry %zu, byte %zu, bit %d", i, at, bit);
				entry_unref(&u);
				bytes[at] = (char)(bytes[at] ^ 1 << bit);
			}
		free(bytes);
		entry_unref(&entries[i]);
	}
}

/* In memory of the exact length, so that a sanitizer sees a read past it. */
static struct entry *unpack_exact(const char *bytes, size_t len)
{
	char *exact = malloc(len ? len : 1);
	struct entry *e;

	memcpy(exact, bytes, len);
	e = entry_unpack(exact, len);
	free(exact);
	return e;
}

static void every_cut_is_refused(void)
{
	struct entry *e = with_verdict(&verdicts[0]), *u;
	size_t len;
	char *bytes = entry_pack(e, &len), *longer = calloc(1, len + 1);

	for (size_t cut = 0; cut < len; cut++) {
		u = unpack_exact(bytes, cut);
		UNIT_ROW(!u, "cut to %zu", cut);
		entry_unref(&u);
	}
	memcpy(longer, bytes, len);
	u = unpack_exact(longer, len + 1);
	CU_ASSERT_PTR_NULL(u);
	free(longer);
	free(bytes);
	entry_unref(&e);
}

/* A right checksum does not make odd contents right. */
static void odd_contents_are_refused(void)
{
	struct entry *e = entries_new("http://a/\nk", 1, 300);
	size_t len, refused = 0;
	char *bytes = entry_pack(e, &len);

	for (size_t at = 0; at + 8 < len; at++)
		for (int value = 0; value < 256; value += 51) {
			char before = bytes[at];
			uint64_t sum;
			struct entry *u;

			bytes[at] = (char)value;
			sum = hash_xx64(bytes, len - 8);
			memcpy(bytes + len - 8, &sum, 8);
			if ((u = unpack_exact(bytes, len)) != NULL)
				UNIT_ROW(object_length(u->object) == 300, "byte %zu", at);
			refused += !u;
			entry_unref(&u);
			bytes[at] = before;
		}
	CU_ASSERT(refused > 100);
	free(bytes);
	entry_unref(&e);
}

/* What is not whole never answers for the whole: it is read under a key of parts only, and only what lies in its whole. */
static void parts_stay_apart(void)
{
	static const struct { const char *name, *key; enum { WHOLE, VARY, MARK, PART } kind; uint64_t first, total; bool want; } cases[] = {
		{ "whole", "http://a/\nk", WHOLE, 0, 0, true }, { "whole under a key of parts", "http://a/\nk" ENTRY_PARTS, WHOLE, 0, 0, false },
		{ "names under a key of parts", "http://a/\nk" ENTRY_PARTS, VARY, 0, 0, false },
		{ "mark", "http://a/\nk" ENTRY_PARTS, MARK, 0, 0, true }, { "mark under a key of wholes", "http://a/\nk", MARK, 0, 0, false },
		{ "part", "http://a/\nk" ENTRY_PARTS, PART, 0, 10, true }, { "part under a key of wholes", "http://a/\nk", PART, 0, 10, false },
		{ "part under a key that is longer", "http://a/\nk" ENTRY_PARTS "x", PART, 0, 10, false },
		{ "part longer than its whole", "http://a/\nk" ENTRY_PARTS, PART, 0, 4, false },
		{ "part over the end", "http://a/\nk" ENTRY_PARTS, PART, 6, 10, false },
		{ "part behind the end", "http://a/\nk" ENTRY_PARTS, PART, 10, 10, false },
		{ "part at the end of numbers", "http://a/\nk" ENTRY_PARTS, PART, UINT64_MAX - 2, UINT64_MAX, false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct entry *e = cases[i].kind == WHOLE ? entries_new(cases[i].key, 1, 5) : cases[i].kind == VARY ? entries_vary(cases[i].key, "accept") :
		    cases[i].kind == MARK ? entries_mark(cases[i].key) : entries_part(cases[i].key, 1, 5, cases[i].first, cases[i].total);
		struct entry *u = again(e);

		UNIT_ROW(!u == !cases[i].want, "%s", cases[i].name);
		entry_unref(&u);
		entry_unref(&e);
	}
}

/* A head is written to clients as it stands: what a store brings back must be one. */
static void heads_are_heads(void)
{
	static const struct { const char *name, *bytes; int status; bool no_body, want; } cases[] = {
		{ "ours", "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nX-Empty: \r\n", 200, false, true },
		{ "no reason, no fields", "HTTP/1.1 200 \r\n", 200, false, true },
		{ "no body", "HTTP/1.1 204 No Content\r\n", 204, true, true },
		{ "nothing", "", 200, false, false },
		{ "another status", "HTTP/1.1 404 Not Found\r\n", 200, false, false },
		{ "interim", "HTTP/1.1 103 Early Hints\r\n", 103, true, false },
		{ "a body where none can be", "HTTP/1.1 204 No Content\r\n", 204, false, false },
		{ "an end of its own", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n", 200, false, false },
		{ "another response behind it", "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n", 200, false, false },
		{ "a length", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n", 200, false, false },
		{ "chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", 200, false, false },
		{ "a length with a blank before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n", 200, false, false },
		{ "a connection", "HTTP/1.1 200 OK\r\nConnection: close\r\n", 200, false, false },
		{ "a line that is cut", "HTTP/1.1 200 OK\r\nA: b", 200, false, false },
		{ "a bare line feed", "HTTP/1.1 200 OK\r\nA: b\n", 200, false, false },
		{ "a bare line feed at once", "HTTP/1.1 200 OK\nA: b\r\n", 200, false, false },
		{ "a bare carriage return", "HTTP/1.1 200 OK\r\nA: b\rB: c\r\n", 200, false, false },
		{ "a folded line", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n", 200, false, false },
		{ "no colon", "HTTP/1.1 200 OK\r\nA\r\n", 200, false, false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct object_head *head = entries_head(cases[i].no_body ? 0 : 5);
		struct entry *e, *u;

		head->status = cases[i].status;
		head->no_body = cases[i].no_body;
		e = with_head(head, cases[i].bytes, cases[i].no_body ? 0 : 5);
		u = again(e);
		UNIT_ROW(!u == !cases[i].want, "trust 15: %s", cases[i].name);
		entry_unref(&u);
		entry_unref(&e);
	}
}

/* Sums with them must not overflow. */
static void times_are_times(void)
{
	static const struct { const char *name; struct freshness freshness; bool want; } cases[] = {
		{ "the past", { .response_time = -1, .lifetime_s = -INT64_C(1) << 47 }, true },
		{ "beyond all years", { .response_time = INT64_MAX }, false }, { "before all", { .response_time = INT64_MIN }, false },
		{ "a lifetime", { .lifetime_s = INT64_MAX }, false }, { "an age", { .initial_age_s = INT64_MAX }, false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct entry *e = entries_new("http://a/\nk", 1, 5), *u;

		e->freshness = cases[i].freshness;
		u = again(e);
		UNIT_ROW(!u == !cases[i].want, "trust 15: %s", cases[i].name);
		entry_unref(&u);
		entry_unref(&e);
	}
}

/* What 64 entries count is what the heap grew by. */
static void bytes_are_the_heaps(void)
{
	static const size_t lens[] = { 0, 1000, 4000, 5000, 40000, 100000 };

	for (size_t i = 0; i < COUNT(lens); i++) {
		struct entry *entries[64], *drain[16];
		size_t before, after, counted = 0;

		/* malloc keeps chunks that were freed for its thread, and tells them as used: more entries than it keeps of a size */
		for (size_t k = 0; k < COUNT(drain); k++)
			drain[k] = entries_new("http://a.example/a/longer/path\nk", (unsigned)k, lens[i]);
		before = entries_memory();
		for (size_t k = 0; k < COUNT(entries); k++) {
			entries[k] = entries_new("http://a.example/a/longer/path\nk", (unsigned)k, lens[i]);
			counted += entries[k]->bytes;
		}
		after = entries_memory();
		if (before)                            /* a sanitizer's malloc tells nothing */
			UNIT_ROW(after - before <= counted + counted / 50 && after - before >= counted - counted / 50,
			    "%zu bytes: heap %zu, counted %zu", lens[i], after - before, counted);
		UNIT_ROW(counted / COUNT(entries) <= lens[i] + lens[i] / 16 + 2048, "%zu bytes: %zu each", lens[i], counted / COUNT(entries));
		for (size_t k = 0; k < COUNT(entries); k++)
			entry_unref(&entries[k]);
		for (size_t k = 0; k < COUNT(drain); k++)
			entry_unref(&drain[k]);
	}
}

static void expired(void)
{
	struct entry *e = entries_new("http://a/\nk", 1, 5000), *stale = entry_expired(e, 2000);
	struct entry *names = entries_vary("http://a/\nk", "accept"), *same = entry_expired(names, 2000);

	CU_ASSERT(freshness_ttl(&e->freshness, 2000) > 0);
	CU_ASSERT(freshness_ttl(&stale->freshness, 2000) <= 0);
	CU_ASSERT_PTR_EQUAL(stale->object, e->object);
	CU_ASSERT_PTR_EQUAL(same, names);
	CU_ASSERT_EQUAL(stale->upstream_len, e->upstream_len);
	entry_unref(&stale);
	entry_unref(&e);
	e = entries_part("http://a/\nk" ENTRY_PARTS, 1, 5, 3, 10);
	stale = entry_expired(e, 2000);
	CU_ASSERT(freshness_ttl(&stale->freshness, 2000) <= 0 && stale->part.first == 3 && stale->part.last == 7 && stale->part.total == 10);
	entry_unref(&same);
	entry_unref(&names);
	entry_unref(&stale);
	entry_unref(&e);
}

UNIT_SUITE(entry, { "bodies", bodies }, { "parts", parts }, { "gzip-heads", gzip_heads },
	{ "names-are-static", names_are_static }, { "every-flip-is-refused", every_flip_is_refused }, { "every-cut-is-refused", every_cut_is_refused },
	{ "odd-contents-are-refused", odd_contents_are_refused }, { "parts-stay-apart", parts_stay_apart },
	{ "heads-are-heads", heads_are_heads }, { "times-are-times", times_are_times }, { "bytes-are-the-heaps", bytes_are_the_heaps }, { "expired", expired })
