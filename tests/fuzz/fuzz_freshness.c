/* Owns feeding arbitrary heads to all that a cache reads of them. Input: the request's lines, a NUL, the response's.
 * Invariants: ages and lifetimes lie within 0 and 2^31, fresh answers are fresh, ranges lie inside, parts make
 * no more than both, keys repeat. */
#include "proxy/http/cache_status.h"
#include "proxy/http/conditional.h"
#include "proxy/http/content_range.h"
#include "proxy/http/freshness.h"
#include "proxy/http/vary.h"
#include "tests/unit/heads.h"

enum { T0 = 784111777 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_reuse(const struct http_msg *request, const struct http_msg *response, const struct freshness_settings *settings)
{
	static const int64_t steps[] = { -10, 0, 1, 3600, (int64_t)1 << 33 };
	struct cache_control cc;
	struct freshness f;

	cache_control_request(&cc, request);
	freshness_read(&f, response, T0 - 1, T0, settings);
	check(f.lifetime_s >= 0);
	check(f.initial_age_s >= 0);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		int64_t now = T0 + steps[i], age = freshness_age(&f, now);
		bool by_request = false;
		enum freshness_reuse answer = freshness_reuse(&f, &cc, now, &by_request);

		check(age >= 0 && age <= (int64_t)CC_SECONDS_MAX);
		check((answer == REUSE_FRESH) <= (freshness_ttl(&f, now) > 0));
		check((answer == REUSE_STALE || answer == REUSE_STALE_REFRESH) <= (freshness_ttl(&f, now) <= 0));
		check(!by_request || answer == REUSE_REVALIDATE || answer == REUSE_ONLY_IF_CACHED);
		if (answer == REUSE_FRESH)
			check(freshness_if_error(&f, &cc, now));
		check(!freshness_keeps(&f, now) || (now < T0 + freshness_use_s(&f) && (settings->keep_s || f.sie_s)));
		if (f.flags & FRESHNESS_NO_CACHE)
			check(answer >= REUSE_REVALIDATE && !freshness_if_error(&f, &cc, now));
	}
	freshness_expire(&f, T0 + 5);
	check(freshness_ttl(&f, T0 + 5) <= 0);
}

/* The same head as both parts, and shifted by one byte. */
static void fuzz_parts(const struct http_msg *response)
{
	struct content_range r, next, whole;

	content_range_same(response, response, T0);
	if (!content_range_read(&r, response))
		return;
	check(r.first <= r.last && r.last < r.total && content_range_length(&r) <= r.total);
	check(content_range_join(&whole, &r, &r) && whole.first == r.first && whole.last == r.last);
	next = (struct content_range){ r.last + 1, r.last + 1, r.total };
	check(content_range_join(&whole, &r, &next) && content_range_length(&whole) == content_range_length(&r) + 1);
	next = (struct content_range){ r.last + 2, r.last + 2, r.total };
	check(!content_range_join(&whole, &r, &next) && !content_range_join(&whole, &next, &r));
}

static size_t count(struct text t, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < t.len; i++)
		n += t.bytes[i] == c;
	return n;
}

/* Each name has a line of the key, whatever its values are. */
static void fuzz_vary(struct slice sent, const struct http_msg *response)
{
	struct text names = { 0 }, key = { 0 }, again = { 0 };

	if (vary_names(&names, response) == VARY_FIELDS) {
		vary_key(&key, (struct slice){ names.bytes, names.len }, sent);
		vary_key(&again, (struct slice){ names.bytes, names.len }, sent);
		check(key.len == again.len && !memcmp(key.bytes, again.bytes, key.len));
		check(count(key, '\n') == count(names, ',') + 1);
	} else {
		check(!names.len);
	}
	free(names.bytes);
	free(key.bytes);
	free(again.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct freshness_settings settings[] = { { 0 }, { .floor_s = 300, .hint_s = 900,
		.error_max_s = 60, .stale_if_error_s = 86400, .keep_s = 86400 } };
	const char *lines = (const char *)data, *split = size ? memchr(lines, '\0', size) : NULL;
	size_t first = split ? (size_t)(split - lines) : size, second = split ? size - first - 1 : 0;
	struct http_msg request, response;
	struct byte_range range;
	struct text status = { 0 };

	head_fill(&request, lines, first, 0);
	head_fill(&response, split ? split + 1 : lines, second, size % 2 ? 200 : 404);
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		struct request value = { .method = request.method, .authorization = http_msg_has(&request, H_AUTHORIZATION) };
		cache_control_request(&value.says, &request);
		enum storable s = freshness_storable(&value, &response, &settings[i]);

		cache_status_line(&status, "utfeed", &(struct cache_status){ .fwd = FWD_URI_MISS, .detail = storable_word(s) });
		fuzz_reuse(&request, &response, &settings[i]);
	}
	free(status.bytes);
	struct conditional_stored stored = { http_msg_get(&response, H_ETAG), http_msg_get(&response, H_LAST_MODIFIED), T0, ";gz" };
	conditional_evaluate(&request, &stored, T0);
	for (uint64_t length = 0; length < 12; length++)
		if (range_evaluate(&request, &stored, length, T0, &range) == RANGE_ONE)
			check(range.first <= range.last && range.last < length);
	fuzz_parts(&response);
	fuzz_vary((struct slice){ lines, first }, &response);
	head_free(&request);
	head_free(&response);
	return 0;
}
