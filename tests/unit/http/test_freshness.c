/* Owns the cases of proxy/http/freshness.c. Invariant: each row names its rule (sections of RFC 9111 where no other is named). */
#include "proxy/base/http_date.h"
#include "proxy/http/freshness.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#include <stdio.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define D0 "Date: Sun, 06 Nov 1994 08:49:37 GMT\n"
#define DAY_AGO "Sat, 05 Nov 1994 08:49:37 GMT"
#define HOUR_ON "Sun, 06 Nov 1994 09:49:37 GMT"
enum { T0 = 784111777, HOUR = 3600, DAY = 86400 };


static void storing(void)
{
	static const struct { const char *rule, *request, *response; int status; enum storable want; } cases[] = {
		{ "3: heuristically cacheable", "", "", 200, STORABLE_YES },
		{ "3: no lifetime, other status", "", "", 201, STORABLE_LIFETIME },
		{ "3: max-age", "", "Cache-Control: max-age=1\n", 201, STORABLE_YES },
		{ "3: s-maxage is for shared ones", "", "Cache-Control: s-maxage=1\n", 201, STORABLE_YES },
		{ "3: Expires", "", "Expires: " HOUR_ON "\n", 302, STORABLE_YES },
		{ "RFC 9213 2.2: Expires beside a targeted field", "", "CDN-Cache-Control: foo\nExpires: " HOUR_ON "\n", 302, STORABLE_LIFETIME },
		{ "3: public", "", "Cache-Control: public\n", 599, STORABLE_YES },
		{ "3: unknown final status, max-age", "", "Cache-Control: max-age=1\n", 299, STORABLE_YES },
		{ "3: interim", "", "Cache-Control: max-age=1\n", 103, STORABLE_STATUS },
		{ "3.3: partial", "", "Cache-Control: max-age=1\n", 206, STORABLE_STATUS },
		{ "4.3: not modified", "", "Cache-Control: max-age=1\n", 304, STORABLE_STATUS },
		{ "RFC 9110 15.5.8: between proxies", "", "Cache-Control: max-age=1\n", 407, STORABLE_STATUS },
		{ "RFC 9110 15.5.13: one request's precondition", "", "Cache-Control: max-age=1\n", 412, STORABLE_STATUS },
		{ "RFC 9110 15.5.17: one request's range", "", "Cache-Control: max-age=1\n", 416, STORABLE_STATUS },
		{ "RFC 6585 3", "", "Cache-Control: max-age=1\n", 428, STORABLE_STATUS },
		{ "RFC 6585 4", "", "Cache-Control: max-age=1\n", 429, STORABLE_STATUS },
		{ "RFC 6585 5", "", "Cache-Control: max-age=1\n", 431, STORABLE_STATUS },
		{ "RFC 6585 6", "", "Cache-Control: max-age=1\n", 511, STORABLE_STATUS },
		{ "5.2.2.5", "", "Cache-Control: no-store, max-age=1\n", 200, STORABLE_NO_STORE },
		{ "5.2.2.3: understood", "", "Cache-Control: no-store, must-understand\n", 200, STORABLE_YES },
		{ "5.2.2.3: not understood", "", "Cache-Control: max-age=1, must-understand\n", 599, STORABLE_STATUS },
		{ "5.2.1.5", "Cache-Control: no-store\n", "Cache-Control: max-age=1\n", 200, STORABLE_REQUEST_NO_STORE },
		{ "5.2.2.7", "", "Cache-Control: private, max-age=1\n", 200, STORABLE_PRIVATE },
		{ "5.2.2.7: a list", "", "Cache-Control: private=\"a\", max-age=1\n", 200, STORABLE_PRIVATE },
		{ "3.5", "Authorization: x\n", "Cache-Control: max-age=1\n", 200, STORABLE_AUTHORIZATION },
		{ "3.5: public", "Authorization: x\n", "Cache-Control: max-age=1, public\n", 200, STORABLE_YES },
		{ "3.5: must-revalidate", "Authorization: x\n", "Cache-Control: max-age=1, must-revalidate\n", 200, STORABLE_YES },
		{ "3.5: s-maxage", "Authorization: x\n", "Cache-Control: s-maxage=1\n", 200, STORABLE_YES },
		{ "3.5: proxy-revalidate is not enough", "Authorization: x\n", "Cache-Control: max-age=1, proxy-revalidate\n", 200,
			STORABLE_AUTHORIZATION },
		{ "4.1: Vary", "", "Vary: a\nCache-Control: max-age=1\n", 200, STORABLE_YES },
		{ "4.1: star", "", "Vary: a, *\nCache-Control: max-age=1\n", 200, STORABLE_VARY },
		{ "7.3: a lifetime", "", "Set-Cookie: a\nCache-Control: max-age=1\n", 200, STORABLE_YES },
		{ "7.3: by heuristics", "", "Set-Cookie: a\nLast-Modified: " DAY_AGO "\n", 200, STORABLE_SET_COOKIE },
		{ "7.3: public", "", "Set-Cookie: a\nCache-Control: public\n", 200, STORABLE_YES },
		{ "trust 02: a lifetime of nothing is none", "", "Set-Cookie: a\nCache-Control: max-age=0\n", 200, STORABLE_SET_COOKIE },
		{ "trust 02: nor beside public", "", "Set-Cookie: a\nCache-Control: public, max-age=0\n", 200, STORABLE_SET_COOKIE },
		{ "trust 02: s-maxage counts first", "", "Set-Cookie: a\nCache-Control: s-maxage=0, max-age=60\n", 200, STORABLE_SET_COOKIE },
		{ "trust 02: no number is no lifetime", "", "Set-Cookie: a\nCache-Control: max-age=x\n", 200, STORABLE_SET_COOKIE },
		{ "trust 02: what is validated each time", "", "Set-Cookie: a\nCache-Control: no-cache, max-age=60\n", 200, STORABLE_SET_COOKIE },
		{ "trust 02: no-cache with a list", "", "Set-Cookie: a\nCache-Control: no-cache=\"b\", max-age=60\n", 200, STORABLE_SET_COOKIE },
		{ "trust 02: Expires", "", "Set-Cookie: a\n" D0 "Expires: " HOUR_ON "\n", 200, STORABLE_YES },
		{ "trust 02: Expires at once", "", "Set-Cookie: a\n" D0 "Expires: " DAY_AGO "\n", 200, STORABLE_SET_COOKIE },
		{ "trust 02: Expires that is no date", "", "Set-Cookie: a\n" D0 "Expires: 0\n", 200, STORABLE_SET_COOKIE },
		{ "trust 02: Expires without a Date", "", "Set-Cookie: a\nExpires: " HOUR_ON "\n", 200, STORABLE_SET_COOKIE },
		{ "RFC 9213 2.2: targeted allows", "", "Cache-Control: no-store\nCDN-Cache-Control: max-age=1\n", 200, STORABLE_YES },
		{ "RFC 9213 2.2: targeted forbids", "", "Cache-Control: max-age=1\nCDN-Cache-Control: no-store\n", 200, STORABLE_NO_STORE },
		{ "5.4: Pragma is no response's", "", "Pragma: no-cache\nCache-Control: max-age=1\n", 200, STORABLE_YES },
	};
	static const struct freshness_settings shared;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_msg head, response;
		struct request request;

		head_read(&head, cases[i].request, 0);
		request = (struct request){ .method = METHOD_GET, .authorization = http_msg_has(&head, H_AUTHORIZATION) };
		cache_control_request(&request.says, &head);
		head_read(&response, cases[i].response, cases[i].status);
		UNIT_ROW(freshness_storable(&request, &response, &shared) == cases[i].want, "%s: %s", cases[i].rule,
			storable_word(freshness_storable(&request, &response, &shared)));
		request.method = METHOD_HEAD;
		UNIT_ROW(freshness_storable(&request, &response, &shared) == cases[i].want, "%s, HEAD", cases[i].rule);
		request.method = METHOD_OTHER;
		UNIT_ROW(freshness_storable(&request, &response, &shared) == STORABLE_METHOD, "3: method, %s", cases[i].rule);
		head_free(&head);
		head_free(&response);
	}
}

/* RFC 9110 section 15.1 less 206, RFC 7725 section 3; RFC 5861 section 4. */
static void statuses(void)
{
	static const int heuristic[] = { 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 451, 501 }, errors[] = { 500, 502, 503, 504 };
	size_t h = 0, e = 0;

	for (int status = 0; status < 1000; status++) {
		bool is_heuristic = h < COUNT(heuristic) && heuristic[h] == status, is_error = e < COUNT(errors) && errors[e] == status;

		UNIT_ROW(freshness_heuristic_status(status) == is_heuristic, "%d", status);
		UNIT_ROW(freshness_error_status(status) == is_error, "%d", status);
		h += is_heuristic;
		e += is_error;
	}
}

static void lifetimes(void)
{
	static const struct freshness_settings plain,
		feeds = { .floor_s = 300, .hint_s = 900, .error_max_s = 60 }, floored = { .floor_s = 300 },
		hinted = { .hint_s = 10 * DAY }, errors = { .error_floor_s = 60, .error_max_s = 30 }, capped = { .max_s = 600, .floor_s = 900 },
		adaptive = { .adaptive = true, .floor_s = 300, .newest = T0 - 2 * HOUR, .same_since = T0 },
		seen = { .adaptive = true, .same_since = T0 - 2 * HOUR }, new = { .adaptive = true, .same_since = T0 },
		bare = { .adaptive = true, .newest = T0 - 2 * HOUR, .hint_s = 10, .same_since = T0 };
	static const struct { const char *rule, *lines; const struct freshness_settings *settings; int status; int64_t want; } cases[] = {
		{ "4.2.1: max-age", "Cache-Control: max-age=60\n", &plain, 200, 60 },
		{ "4.2.1: s-maxage first", "Cache-Control: max-age=60, s-maxage=5\n", &plain, 200, 5 },
		{ "4.2.1: a broken s-maxage is stale", "Cache-Control: max-age=60, s-maxage=x\n", &plain, 200, 0 },
		{ "4.2.1: a broken max-age is stale", "Cache-Control: max-age=-1\nExpires: " HOUR_ON "\n" D0, &plain, 200, 0 },
		{ "4.2.1: max-age over Expires", "Cache-Control: max-age=60\nExpires: " DAY_AGO "\n" D0, &plain, 200, 60 },
		{ "5.3: over a broken Expires", "Cache-Control: max-age=60\nExpires: 0\n" D0, &plain, 200, 60 },
		{ "4.2.1: max-age=0 over Expires", "Cache-Control: max-age=0\nExpires: " HOUR_ON "\n" D0, &plain, 200, 0 },
		{ "4.2.1: Expires less Date", "Expires: " HOUR_ON "\n" D0, &plain, 200, HOUR },
		{ "4.2.1: Expires less Date, fast clock", "Expires: " HOUR_ON "\nDate: Sun, 06 Nov 1994 09:49:27 GMT\n", &plain, 200, 10 },
		{ "4.2.1: without Date", "Expires: " HOUR_ON "\n", &plain, 200, HOUR },
		{ "4.2.1: with a broken Date", "Expires: " HOUR_ON "\nDate: x\n", &plain, 200, HOUR },
		{ "5.3: past", "Expires: " DAY_AGO "\n" D0, &plain, 200, 0 },
		{ "5.3: 0 is past", "Expires: 0\n" D0, &plain, 200, 0 },
		{ "5.3: so is what is no date", "Expires: Sun, 06 Nov 1994 9:49:37 GMT\n" D0, &plain, 200, 0 },
		{ "5.3: present", "Expires: Sun, 06 Nov 1994 08:49:37 GMT\n" D0, &plain, 200, 0 },
		{ "4.2.2: a tenth", "Last-Modified: " DAY_AGO "\n" D0, &plain, 200, DAY / 10 },
		{ "4.2.2: without Date", "Last-Modified: " DAY_AGO "\n", &plain, 404, DAY / 10 },
		{ "4.2.2: at most a day", "Last-Modified: Sun, 06 Nov 1983 08:49:37 GMT\n" D0, &plain, 200, DAY },
		{ "4.2.2: not for any status", "Last-Modified: " DAY_AGO "\n" D0, &plain, 403, 0 },
		{ "4.2.2: unless public", "Cache-Control: public\nLast-Modified: " DAY_AGO "\n" D0, &plain, 599, DAY / 10 },
		{ "4.2.2: of the future", "Last-Modified: " HOUR_ON "\n" D0, &plain, 200, 0 },
		{ "4.2.2: nothing to go by", D0, &plain, 200, 0 },
		{ "RFC 9213 2.2: targeted", "Cache-Control: max-age=1\nCDN-Cache-Control: max-age=60\nExpires: 0\n", &plain, 200, 60 },
		{ "RFC 9213 2.2: Expires does not count", "CDN-Cache-Control: public\nExpires: " HOUR_ON "\n" D0, &plain, 200, 0 },
		{ "floor where none is named", D0, &floored, 200, 300 },
		{ "floor under a tenth", "Last-Modified: " DAY_AGO "\n" D0, &floored, 200, DAY / 10 },
		{ "floor not against max-age", "Cache-Control: max-age=1\n" D0, &floored, 200, 1 },
		{ "floor not against Expires", "Expires: 0\n" D0, &floored, 200, 0 },
		{ "floor of good responses only", D0, &floored, 404, 0 },
		{ "what the feed says over a tenth", "Last-Modified: " DAY_AGO "\n" D0, &feeds, 200, 900 },
		{ "what the feed says, capped by whoever read it", D0, &hinted, 200, 10 * DAY },
		{ "what the feed says, of good responses only", D0, &hinted, 404, 0 },
		{ "not against max-age", "Cache-Control: max-age=1\n" D0, &hinted, 200, 1 },
		{ "errors are capped", "Cache-Control: max-age=3600\n", &feeds, 404, 60 },
		{ "shorter ones are not", "Cache-Control: max-age=6\n", &feeds, 503, 6 },
		{ "nor redirects", "Cache-Control: max-age=3600\n", &feeds, 301, HOUR },
		{ "adaptive: a tenth since Last-Modified", "Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT\n" D0, &adaptive, 200, HOUR / 10 },
		{ "adaptive: an hour at most", "Last-Modified: " DAY_AGO "\n" D0, &adaptive, 200, HOUR },
		{ "adaptive: the floor at least", "Last-Modified: Sun, 06 Nov 1994 08:48:37 GMT\n" D0, &adaptive, 200, 300 },
		{ "adaptive: else the newest item", D0, &adaptive, 200, 2 * HOUR / 10 },
		{ "adaptive: Last-Modified to come counts for nothing", "Last-Modified: " HOUR_ON "\n" D0, &adaptive, 200, 2 * HOUR / 10 },
		{ "adaptive: else as observed", D0, &seen, 200, 2 * HOUR / 10 },
		{ "adaptive: what was seen counts before what is said", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\n" D0, &seen, 200, 2 * HOUR / 10 },
		{ "adaptive: seen for the first time", D0, &new, 200, 0 },
		{ "adaptive: counted from Date", "Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT\nDate: Sun, 06 Nov 1994 08:09:37 GMT\n", &adaptive, 200, 300 },
		{ "adaptive: Last-Modified of RFC 3339", "Last-Modified: 1994-11-06T07:49:37Z\n" D0, &adaptive, 200, HOUR / 10 },
		{ "adaptive: Last-Modified as mails have it", "Last-Modified: Sun, 06 Nov 1994 09:49:37 +0200\n" D0, &adaptive, 200, HOUR / 10 },
		{ "adaptive: Last-Modified that is no date", "Last-Modified: yesterday\n" D0, &adaptive, 200, 2 * HOUR / 10 },
		{ "4.2.2: no HTTP date", "Last-Modified: 1994-11-05T08:49:37Z\n" D0, &plain, 200, 0 },
		{ "adaptive: what the feed says first", D0, &bare, 200, 10 },
		{ "adaptive: not against max-age", "Cache-Control: max-age=1\n" D0, &adaptive, 200, 1 },
		{ "error-floor: 404", D0, &errors, 404, 60 },
		{ "error-floor: 410", D0, &errors, 410, 60 },
		{ "error-floor: 405", D0, &errors, 405, 60 },
		{ "error-floor: 414", D0, &errors, 414, 60 },
		{ "error-floor: 451", D0, &errors, 451, 60 },
		{ "error-floor: 501", D0, &errors, 501, 60 },
		{ "error-floor: no other error", D0, &errors, 403, 0 },
		{ "error-floor: no server error", D0, &errors, 503, 0 },
		{ "error-floor: no good response", D0, &errors, 200, 0 },
		{ "error-floor: no redirect", D0, &errors, 301, 0 },
		{ "error-floor: above what Last-Modified gives", "Last-Modified: " DAY_AGO "\n" D0, &errors, 404, 60 },
		{ "error-floor: not against a lifetime", "Cache-Control: max-age=5\n", &errors, 404, 5 },
		{ "error-floor: not against a lifetime of 0", "Cache-Control: max-age=0\n", &errors, 404, 0 },
		{ "error-floor: not against one that is broken", "Cache-Control: max-age=x\n", &errors, 404, 0 },
		{ "error-max: beside error-floor", "Cache-Control: max-age=99\n", &errors, 404, 30 },
		{ "freshness-max: max-age", "Cache-Control: max-age=2592000\n", &capped, 200, 600 },
		{ "freshness-max: s-maxage", "Cache-Control: s-maxage=2592000\n", &capped, 200, 600 },
		{ "freshness-max: Expires", "Expires: " HOUR_ON "\n" D0, &capped, 200, 600 },
		{ "freshness-max: a tenth", "Last-Modified: " DAY_AGO "\n" D0, &capped, 200, 600 },
		{ "freshness-max: the floor", D0, &capped, 200, 600 },
		{ "freshness-max: redirects", "Cache-Control: max-age=3600\n", &capped, 301, 600 },
		{ "freshness-max: shorter ones stay", "Cache-Control: max-age=60\n", &capped, 200, 60 },
		{ "freshness-max: from its arrival", "Cache-Control: max-age=3600\nAge: 1000\n", &capped, 200, 1600 },
		{ "freshness-max: never longer than it says", "Cache-Control: max-age=1200\nAge: 1000\n", &capped, 200, 1200 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct freshness f;
		struct http_msg m;

		head_read(&m, cases[i].lines, cases[i].status);
		freshness_read(&f, &m, T0, T0, cases[i].settings);
		UNIT_ROW(f.lifetime_s == cases[i].want, "%s: %lld", cases[i].rule, (long long)f.lifetime_s);
		head_free(&m);
	}
}

/* What holds for any of the responses that led to one holds for it. */
static void limits(void)
{
	static const struct freshness_settings plain, floored = { .floor_s = 300 };
	static const struct {
		const char *rule, *final, *hop;
		const struct freshness_settings *settings;
		int64_t lifetime;
		uint32_t flags;
	} cases[] = {
		{ "trust 05: a hop that says nothing has none", "Cache-Control: max-age=600\n" D0, D0, &plain, 0, FRESHNESS_HEURISTIC },
		{ "trust 05: but for the floor", "Cache-Control: max-age=600\n" D0, D0, &floored, 300, FRESHNESS_HEURISTIC },
		{ "trust 05: the shorter one", "Cache-Control: max-age=600\n" D0, "Cache-Control: max-age=60\n" D0, &plain, 60, 0 },
		{ "trust 05: the longer one", "Cache-Control: max-age=60\n" D0, "Cache-Control: max-age=600\n" D0, &plain, 60, 0 },
		{ "trust 05: a hop's age counts", "Cache-Control: max-age=600\n" D0, "Cache-Control: max-age=600\nAge: 500\n" D0, &plain, 100, 0 },
		{ "trust 05: a hop that was stale when it came", "Cache-Control: max-age=600\n" D0, "Age: 30\n" D0, &plain, -30, FRESHNESS_HEURISTIC },
		{ "trust 05: no-cache of a hop", "Cache-Control: max-age=600\n" D0, "Cache-Control: no-cache, max-age=60\n" D0, &plain, 60, FRESHNESS_NO_CACHE },
		{ "trust 05: must-revalidate of a hop", "Cache-Control: max-age=600\n" D0, "Cache-Control: must-revalidate, max-age=600\n" D0, &plain, 600,
			FRESHNESS_NO_STALE },
		{ "trust 05: immutable only where all are", "Cache-Control: immutable, max-age=600\n" D0, "Cache-Control: max-age=600\n" D0, &plain, 600, 0 },
		{ "trust 05: all are", "Cache-Control: immutable, max-age=600\n" D0, "Cache-Control: immutable, max-age=600\n" D0, &plain, 600,
			FRESHNESS_IMMUTABLE },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_msg final, hop;
		struct freshness f, limit;

		head_read(&final, cases[i].final, 200);
		head_read(&hop, cases[i].hop, 302);
		freshness_read(&f, &final, T0, T0, cases[i].settings);
		freshness_read_hop(&limit, &hop, T0, T0, cases[i].settings);
		freshness_limit(&f, &limit);
		UNIT_ROW(f.lifetime_s == cases[i].lifetime && f.flags == cases[i].flags && !f.swr_s && !f.sie_s, "%s: %lld, flags %x", cases[i].rule,
			(long long)f.lifetime_s, f.flags);
		head_free(&final);
		head_free(&hop);
	}
}

static void cuts(void)
{
	static const struct { const char *rule, *lines; int64_t lifetime; } cases[] = {
		{ "9112 8: a minute", "Cache-Control: max-age=600, immutable, stale-while-revalidate=60\n" D0, 60 },
		{ "9112 8: counted from its coming", "Cache-Control: max-age=600\nAge: 300\n" D0, 360 },
		{ "9112 8: shorter ones stay", "Cache-Control: max-age=5\n" D0, 5 },
	};
	static const struct freshness_settings keeps = { .keep_s = DAY };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_msg m;
		struct freshness f;

		head_read(&m, cases[i].lines, 200);
		freshness_read(&f, &m, T0, T0, &keeps);
		freshness_cut(&f);
		UNIT_ROW(f.lifetime_s == cases[i].lifetime && f.flags == FRESHNESS_CUT && !f.swr_s && !f.keep_s, "%s: %lld, flags %x",
			cases[i].rule, (long long)f.lifetime_s, f.flags);
		head_free(&m);
	}
}

static void ages(void)
{
	static const struct { const char *rule, *lines; int64_t delay, want; } cases[] = {
		{ "4.2.3: new", D0, 0, 0 },
		{ "4.2.3: apparent_age", "Date: " DAY_AGO "\n", 0, DAY },
		{ "4.2.3: Date of the future", "Date: " HOUR_ON "\n", 0, 0 },
		{ "4.2.3: no Date", "", 0, 0 },
		{ "4.2.3: broken Date", "Date: yesterday\n", 0, 0 },
		{ "4.2.3: age_value", D0 "Age: 30\n", 0, 30 },
		{ "4.2.3: corrected by the delay", D0 "Age: 30\n", 5, 35 },
		{ "4.2.3: the delay alone", D0, 5, 5 },
		{ "4.2.3: the greater of both", "Date: Sun, 06 Nov 1994 08:49:27 GMT\nAge: 25\n", 0, 25 },
		{ "5.1: no number", D0 "Age: abc\n", 0, 0 },
		{ "5.1: negative", D0 "Age: -7200\n", 0, 0 },
		{ "5.1: fraction", D0 "Age: 7200.0\n", 0, 0 },
		{ "5.1: parameter", D0 "Age: 7200;a=1\n", 0, 0 },
		{ "5.1: empty", D0 "Age:\n", 0, 0 },
		{ "1.2.2: largest", D0 "Age: 2147483648\n", 0, CC_SECONDS_MAX },
		{ "1.2.2: larger", D0 "Age: 99999999999999999999\n", 0, CC_SECONDS_MAX },
		{ "5.1: first of a list", D0 "Age: 7200, 0\n", 0, 7200 },
		{ "5.1: first of a list, young", D0 "Age: 0, 7200\n", 0, 0 },
		{ "5.1: first line", D0 "Age: 7200\nAge: 0\n", 0, 7200 },
		{ "5.1: first line, young", D0 "Age: 0\nAge: 7200\n", 0, 0 },
	};
	static const struct freshness_settings plain;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct freshness f;
		struct http_msg m;

		head_read(&m, cases[i].lines, 200);
		freshness_read(&f, &m, T0 - cases[i].delay, T0, &plain);
		UNIT_ROW(freshness_age(&f, T0) == cases[i].want, "%s: %lld", cases[i].rule, (long long)f.initial_age_s);
		UNIT_ROW(cases[i].want == CC_SECONDS_MAX || freshness_age(&f, T0 + 7) == cases[i].want + 7, "4.2.3: resident time, %s",
			cases[i].rule);
		UNIT_ROW(freshness_age(&f, T0 - 100) == cases[i].want, "a clock set back makes nothing younger, %s", cases[i].rule);
		UNIT_ROW(freshness_age(&f, (int64_t)1 << 40) == CC_SECONDS_MAX, "1.2.2: never more, %s", cases[i].rule);
		head_free(&m);
	}
}

static void reuse(void)
{
	static const struct freshness_settings plain = { 0 },
		windows = { .stale_if_error_s = 100 }, no_reload = { .no_reload = true }, seldom = { .reload_floor_s = 10 };
	static const struct { const char *rule, *response, *request; const struct freshness_settings *settings; int64_t after;
		enum freshness_reuse want; bool by_request, if_error; } cases[] = {
		{ "4: fresh", "max-age=60", "", &plain, 59, REUSE_FRESH, false, true },
		{ "4.2: stale at its end", "max-age=60", "", &plain, 60, REUSE_REVALIDATE, false, false },
		{ "5.2.2.4: no-cache", "max-age=60, no-cache", "", &plain, 0, REUSE_REVALIDATE, false, false },
		{ "5.2.2.4: a list", "max-age=60, no-cache=\"a\"", "", &plain, 0, REUSE_REVALIDATE, false, false },
		{ "5.2.1.4: no-cache", "max-age=60", "Cache-Control: no-cache\n", &plain, 1, REUSE_REVALIDATE, true, false },
		{ "5.4: Pragma", "max-age=60", "Pragma: no-cache\n", &plain, 1, REUSE_REVALIDATE, true, false },
		{ "5.2.1.5: no-store takes what is stored", "max-age=60", "Cache-Control: no-store\n", &plain, 1, REUSE_FRESH, false, true },
		{ "5.2.1.1: max-age=0", "max-age=60", "Cache-Control: max-age=0\n", &plain, 1, REUSE_REVALIDATE, true, true },
		{ "5.2.1.1: young enough", "max-age=60", "Cache-Control: max-age=5\n", &plain, 5, REUSE_FRESH, false, true },
		{ "5.2.1.1: too old", "max-age=60", "Cache-Control: max-age=5\n", &plain, 6, REUSE_REVALIDATE, true, true },
		{ "5.2.1: a broken one says nothing", "max-age=60", "Cache-Control: max-age=x\n", &plain, 6, REUSE_FRESH, false, true },
		{ "5.2.1.3: fresh for long enough", "max-age=60", "Cache-Control: min-fresh=30\n", &plain, 30, REUSE_FRESH, false, true },
		{ "5.2.1.3: not for long enough", "max-age=60", "Cache-Control: min-fresh=30\n", &plain, 31, REUSE_REVALIDATE, true, true },
		{ "5.2.1.2: stale enough", "max-age=60", "Cache-Control: max-stale=10\n", &plain, 70, REUSE_STALE, false, false },
		{ "5.2.1.2: too stale", "max-age=60", "Cache-Control: max-stale=10\n", &plain, 71, REUSE_REVALIDATE, false, false },
		{ "5.2.1.2: however stale", "max-age=60", "Cache-Control: max-stale\n", &plain, DAY, REUSE_STALE, false, false },
		{ "5.2.1.1: max-age beside max-stale", "max-age=60", "Cache-Control: max-stale, max-age=65\n", &plain, 70, REUSE_REVALIDATE, false,
			false },
		{ "4.2.4: must-revalidate", "max-age=60, must-revalidate", "Cache-Control: max-stale\n", &windows, 60, REUSE_REVALIDATE, false,
			false },
		{ "4.2.4: must-revalidate while fresh", "max-age=60, must-revalidate", "", &windows, 59, REUSE_FRESH, false, true },
		{ "4.2.4: proxy-revalidate", "max-age=60, proxy-revalidate", "Cache-Control: max-stale\n", &windows, 60, REUSE_REVALIDATE, false,
			false },
		{ "5.2.2.10: s-maxage", "s-maxage=60", "Cache-Control: max-stale, stale-if-error=9\n", &windows, 60, REUSE_REVALIDATE, false, false },
		{ "5.2.2.10: beside windows of its own", "s-maxage=60, stale-while-revalidate=5, stale-if-error=9", "", &windows, 64,
			REUSE_STALE_REFRESH, false, true },
		{ "5.2.1.7: nothing fresh", "max-age=60", "Cache-Control: only-if-cached\n", &plain, 60, REUSE_ONLY_IF_CACHED, false, false },
		{ "5.2.1.7: fresh", "max-age=60", "Cache-Control: only-if-cached\n", &plain, 59, REUSE_FRESH, false, true },
		{ "5.2.1.7: stale, but taken", "max-age=60", "Cache-Control: only-if-cached, max-stale\n", &plain, 61, REUSE_STALE, false, false },
		{ "RFC 5861 3: inside", "max-age=60, stale-while-revalidate=5", "", &plain, 64, REUSE_STALE_REFRESH, false, false },
		{ "RFC 5861 3: at its end", "max-age=60, stale-while-revalidate=5", "", &plain, 65, REUSE_REVALIDATE, false, false },
		{ "RFC 5861 3: not against the request", "max-age=60, stale-while-revalidate=5", "Cache-Control: max-age=60\n", &plain, 64,
			REUSE_REVALIDATE, false, false },
		{ "RFC 5861 4: ours", "max-age=60", "", &windows, 69, REUSE_REVALIDATE, false, true },
		{ "RFC 5861 3: its own 0 over ours", "max-age=60, stale-while-revalidate=0, stale-if-error=0", "", &windows, 60, REUSE_REVALIDATE,
			false, false },
		{ "RFC 5861 3: a broken one is none", "max-age=60, stale-while-revalidate=x, stale-if-error=x", "", &windows, 60,
			REUSE_REVALIDATE, false, false },
		{ "RFC 5861 3: not beside must-revalidate", "max-age=60, stale-while-revalidate=9, stale-if-error=9, must-revalidate", "", &plain,
			60, REUSE_REVALIDATE, false, false },
		{ "RFC 5861 4: inside", "max-age=60, stale-if-error=5", "", &plain, 64, REUSE_REVALIDATE, false, true },
		{ "RFC 5861 4: at its end", "max-age=60, stale-if-error=5", "", &plain, 65, REUSE_REVALIDATE, false, false },
		{ "RFC 5861 4: the request's", "max-age=60", "Cache-Control: stale-if-error=5\n", &plain, 64, REUSE_REVALIDATE, false, true },
		{ "RFC 5861 4: the longer of both", "max-age=60, stale-if-error=9", "Cache-Control: stale-if-error=5\n", &plain, 68,
			REUSE_REVALIDATE, false, true },
		{ "RFC 8246 2: a reload", "max-age=60, immutable", "Cache-Control: max-age=0\n", &plain, 1, REUSE_FRESH, false, true },
		{ "RFC 8246 2: a forced reload", "max-age=60, immutable", "Cache-Control: no-cache\n", &plain, 1, REUSE_REVALIDATE, true, false },
		{ "no reloads: no-cache", "max-age=60", "Cache-Control: no-cache\n", &no_reload, 1, REUSE_FRESH, false, true },
		{ "no reloads: Pragma", "max-age=60", "Pragma: no-cache\n", &no_reload, 1, REUSE_FRESH, false, true },
		{ "no reloads: max-age, min-fresh", "max-age=60", "Cache-Control: max-age=0, min-fresh=99\n", &no_reload, 1, REUSE_FRESH, false, true },
		{ "no reloads: once stale", "max-age=60", "Cache-Control: no-cache\n", &no_reload, 60, REUSE_REVALIDATE, false, false },
		{ "no reloads: the response's own word", "max-age=60, no-cache", "", &no_reload, 1, REUSE_REVALIDATE, false, false },
		{ "no reloads: max-stale, stale-if-error stay", "max-age=60", "Cache-Control: no-cache, max-stale=9, stale-if-error=9\n", &no_reload, 64,
			REUSE_STALE, false, true },
		{ "reload-floor: no-cache", "max-age=60", "Cache-Control: no-cache\n", &seldom, 9, REUSE_FRESH, false, true },
		{ "reload-floor: at its end", "max-age=60", "Cache-Control: no-cache\n", &seldom, 10, REUSE_REVALIDATE, true, false },
		{ "reload-floor: Pragma", "max-age=60", "Pragma: no-cache\n", &seldom, 9, REUSE_FRESH, false, true },
		{ "reload-floor: max-age", "max-age=60", "Cache-Control: max-age=5\n", &seldom, 9, REUSE_FRESH, false, true },
		{ "reload-floor: max-age behind it", "max-age=60", "Cache-Control: max-age=5\n", &seldom, 10, REUSE_REVALIDATE, true, true },
		{ "reload-floor: min-fresh", "max-age=60", "Cache-Control: min-fresh=99\n", &seldom, 0, REUSE_FRESH, false, true },
		{ "reload-floor: the response's own word", "max-age=60, no-cache", "Cache-Control: no-cache\n", &seldom, 1, REUSE_REVALIDATE, false, false },
		{ "reload-floor: only-if-cached stays", "max-age=60, no-cache", "Cache-Control: no-cache, only-if-cached\n", &seldom, 1, REUSE_ONLY_IF_CACHED,
			false, false },
		{ "RFC 8246 2: not once stale", "max-age=60, immutable", "", &plain, 60, REUSE_REVALIDATE, false, false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_msg request, response;
		struct cache_control says, own;
		const struct cache_control *cc;
		struct freshness f;
		enum freshness_reuse got;
		bool by_request = true;
		char lines[160];

		snprintf(lines, sizeof lines, D0 "Cache-Control: %s\n", cases[i].response);
		head_read(&request, cases[i].request, 0);
		head_read(&response, lines, 200);
		cache_control_request(&says, &request);
		freshness_read(&f, &response, T0, T0, cases[i].settings);
		cc = freshness_request_for(&own, &says, cases[i].settings, &f, T0 + cases[i].after);
		got = freshness_reuse(&f, cc, T0 + cases[i].after, &by_request);
		UNIT_ROW(got == cases[i].want && by_request == cases[i].by_request, "%s: %d %d", cases[i].rule, got, by_request);
		UNIT_ROW(freshness_if_error(&f, cc, T0 + cases[i].after) == cases[i].if_error, "on an error, %s", cases[i].rule);
		UNIT_ROW(freshness_reuse(&f, cc, T0 + cases[i].after, NULL) == got, "%s", cases[i].rule);
		UNIT_ROW(freshness_ttl(&f, T0 + cases[i].after) == 60 - cases[i].after, "%s", cases[i].rule);
		head_free(&request);
		head_free(&response);
	}
}

/* A soft purge: stale from then on, and its windows begin then; what is stale already stays as stale as it is. */
static void expiring(void)
{
	static const struct cache_control any;
	struct freshness f = { .response_time = T0, .lifetime_s = 60, .swr_s = 5 };

	freshness_expire(&f, T0 + 10);
	CU_ASSERT_EQUAL(freshness_ttl(&f, T0 + 10), 0);
	CU_ASSERT_EQUAL(freshness_reuse(&f, &any, T0 + 14, NULL), REUSE_STALE_REFRESH);
	CU_ASSERT_EQUAL(freshness_reuse(&f, &any, T0 + 15, NULL), REUSE_REVALIDATE);
	freshness_expire(&f, T0 + 20);
	CU_ASSERT_EQUAL(freshness_ttl(&f, T0 + 20), -10);
}

static void ending(void)
{
	static const struct { const char *rule; int64_t lifetime, age; uint32_t spread; bool soon; } cases[] = {
		{ "not before the last tenth", 100, 89, 0, false }, { "the last tenth", 100, 90, 0, true }, { "its end", 100, 99, 0, true },
		{ "not once stale", 100, 100, 0, false }, { "long stale", 100, 500, 0, false },
		{ "at most a minute", DAY, DAY - 61, 0, false }, { "the last minute", DAY, DAY - 60, 0, true },
		{ "half of it off", DAY, DAY - 31, 30, false }, { "the other half", DAY, DAY - 30, 30, true },
		{ "never more than half", DAY, DAY - 30, 31 * 31 + 30, true }, { "any number", DAY, DAY - 30, UINT32_MAX, true },
		{ "too short", 9, 8, 0, false }, { "just long enough", 10, 9, UINT32_MAX, true }, { "none", 0, 0, 0, false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct freshness f = { .response_time = T0, .lifetime_s = cases[i].lifetime };

		UNIT_ROW(freshness_ends_soon(&f, T0 + cases[i].age, cases[i].spread) == cases[i].soon, "%s", cases[i].rule);
	}
}

static void the_end(void)
{
	static const struct { const char *rule; struct freshness f; int64_t want; } cases[] = {
		{ "its lifetime", { .lifetime_s = 60 }, 60 }, { "less the age it came with", { .lifetime_s = 60, .initial_age_s = 20 }, 40 },
		{ "at once without a lifetime", { .lifetime_s = 0 }, 0 },
		{ "not before it came", { .lifetime_s = 60, .initial_age_s = CC_SECONDS_MAX }, 0 },
		{ "no-cache", { .lifetime_s = 60, .flags = FRESHNESS_NO_CACHE }, 0 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct freshness f = cases[i].f;

		f.response_time = T0;
		UNIT_ROW(freshness_end(&f) == T0 + cases[i].want, "%s", cases[i].rule);
	}
}

static void using(void)
{
	static const struct { const char *rule; struct freshness f; int64_t want; } cases[] = {
		{ "its lifetime", { .lifetime_s = 60 }, 60 }, { "less its age on arrival", { .lifetime_s = 60, .initial_age_s = 50 }, 10 },
		{ "then the longer of its windows", { .lifetime_s = 60, .swr_s = 5, .sie_s = 7 }, 67 }, { "whichever it is", { .lifetime_s = 60, .swr_s = 9, .sie_s = 7 }, 69 },
		{ "a window is shorter by what it was stale on arrival", { .lifetime_s = 60, .initial_age_s = 70, .swr_s = 30 }, 20 },
		{ "never nothing", { .lifetime_s = 60, .initial_age_s = 70 }, 1 }, { "after a stale redirect", { .lifetime_s = -1 }, 1 },
		{ "or as long as it is kept", { .lifetime_s = 60, .sie_s = 7, .keep_s = 9 }, 69 },
		{ "kept from when it came", { .lifetime_s = 60, .initial_age_s = 90, .keep_s = 9 }, 9 },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		UNIT_ROW(freshness_use_s(&cases[i].f) == cases[i].want, "%s: %lld", cases[i].rule, (long long)freshness_use_s(&cases[i].f));
}

/* Issue 32, part 1: the last good feed. */
static void keeping(void)
{
	static const struct freshness_settings keep = { .keep_s = 100, .floor_s = 10 }, off = { .floor_s = 10 };
	static const struct { const char *rule, *response; const struct freshness_settings *settings; int64_t last; } cases[] = {
		{ "from the end of its lifetime on", "max-age=60", &keep, 160 },
		{ "from when it came where that was later", "max-age=0", &keep, 100 },
		{ "a lifetime of the operator's", "public", &keep, 110 },
		{ "no window that is named is shorter", "max-age=60, stale-if-error=5", &keep, 160 },
		{ "4.2.4: must-revalidate", "max-age=60, must-revalidate", &keep, 0 },
		{ "4.2.4: proxy-revalidate", "max-age=60, proxy-revalidate", &keep, 0 },
		{ "5.2.2.10: s-maxage", "s-maxage=60", &keep, 0 },
		{ "5.2.2.4: no-cache", "max-age=60, no-cache", &keep, 0 },
		{ "5.2.2.4: no-cache of fields", "max-age=60, no-cache=\"a\"", &keep, 0 },
		{ "RFC 5861 4: the exception that it makes itself", "max-age=60, must-revalidate, stale-if-error=9", &keep, 69 },
		{ "RFC 5861 4: beside s-maxage", "s-maxage=60, stale-if-error=9", &keep, 69 },
		{ "RFC 5861 4: beside no-cache it counts from when it came", "max-age=60, no-cache, stale-if-error=9", &keep, 9 },
		{ "RFC 5861 4: no window that cannot be read", "max-age=60, must-revalidate, stale-if-error=x", &keep, 0 },
		{ "off", "max-age=60", &off, 0 },
		{ "off, whatever the response allows", "max-age=60, must-revalidate, stale-if-error=9", &off, 0 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_msg m;
		struct freshness f;
		char lines[160];

		snprintf(lines, sizeof lines, D0 "Cache-Control: %s\n", cases[i].response);
		head_read(&m, lines, 200);
		freshness_read(&f, &m, T0, T0, cases[i].settings);
		UNIT_ROW(freshness_keeps(&f, T0 + cases[i].last - 1) == (cases[i].last > 0), "until then: %s", cases[i].rule);
		UNIT_ROW(!freshness_keeps(&f, T0 + cases[i].last), "not longer: %s", cases[i].rule);
		UNIT_ROW(!freshness_keeps(&f, T0 - 1000), "not with a clock set back: %s", cases[i].rule);
		UNIT_ROW(freshness_use_s(&f) >= cases[i].last, "stores keep it for so long: %s", cases[i].rule);
		head_free(&m);
	}
}

/* Issue 32, part 1. */
static void failures(void)
{
	static const short failing[] = { 204, 401, 402, 403, 404, 406, 408, 410, 421, 425, 429, 451 };

	for (int status = 100; status < 700; status++) {
		bool want = status >= 500 && status < 600;

		for (size_t i = 0; i < COUNT(failing); i++)
			want = want || failing[i] == status;
		UNIT_ROW(freshness_failure_status(status) == want, "%d", status);
	}
}

UNIT_SUITE(freshness, { "storing", storing }, { "statuses", statuses }, { "lifetimes", lifetimes }, { "limits", limits }, { "cuts", cuts }, { "ages", ages }, { "reuse", reuse },
	{ "expiring", expiring }, { "ending", ending }, { "the end", the_end }, { "using", using },
	{ "keeping", keeping }, { "failures", failures })
