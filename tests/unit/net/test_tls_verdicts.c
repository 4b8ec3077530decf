/* Verdicts on what was verified: believed for an hour, not past their end, not before they were made; bounded. */
#include "tests/unit/unit.h"

#include <string.h>

#include "proxy/net/tls_verdicts.h"

enum { NOW = 100000, END = NOW + 86400, MANY = 5000, KEPT_MAX = 512 };

static const uint8_t digest[TLS_VERDICT_DIGEST_BYTES] = "one";

static const struct {
	const char *row;
	time_t made, until, asked;
	time_t want;
} cases[] = {
	{ "at once", NOW, END, NOW, END },
	{ "the last second of the hour", NOW, END, NOW + TLS_VERDICT_SECONDS - 1, END },
	{ "an hour later", NOW, END, NOW + TLS_VERDICT_SECONDS, 0 },
	{ "a certificate's last second", NOW, NOW + 60, NOW + 59, NOW + 60 },
	{ "a certificate ends within the hour", NOW, NOW + 60, NOW + 60, 0 },
	{ "a clock that went back", NOW, END, NOW - 1, 0 },
	{ "far in the future", NOW, END, END + 1, 0 },
};

static void test_time(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tls_verdicts *v = tls_verdicts_new();

		CU_ASSERT_PTR_NOT_NULL_FATAL(v);
		UNIT_ROW(!tls_verdicts_find(v, digest, cases[i].asked), "%s: nothing was added", cases[i].row);
		tls_verdicts_add(v, digest, cases[i].made, cases[i].until);
		UNIT_ROW(tls_verdicts_find(v, digest, cases[i].asked) == cases[i].want, "%s", cases[i].row);
		tls_verdicts_free(&v);
	}
}

static void test_digests(void)
{
	struct tls_verdicts *v = tls_verdicts_new();

	CU_ASSERT_PTR_NOT_NULL_FATAL(v);
	tls_verdicts_add(v, digest, NOW, END);
	for (size_t i = 0; i < sizeof digest; i++) {
		uint8_t other[sizeof digest];

		memcpy(other, digest, sizeof other);
		other[i] ^= 1;
		UNIT_ROW(!tls_verdicts_find(v, other, NOW), "another at byte %zu", i);
	}
	tls_verdicts_add(v, digest, NOW + 10, END + 10);
	CU_ASSERT_EQUAL(tls_verdicts_find(v, digest, NOW + 10), END + 10);
	CU_ASSERT_EQUAL(tls_verdicts_find(v, digest, NOW), 0);         /* it was found good anew, and that is the verdict now */
	tls_verdicts_free(&v);
}

/* What is added last is there; of the others no more than its tables have room for. */
static void test_bounded(void)
{
	struct tls_verdicts *v = tls_verdicts_new();
	uint8_t each[TLS_VERDICT_DIGEST_BYTES] = { 0 };
	size_t kept = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(v);
	for (size_t i = 0; i < MANY; i++) {
		memcpy(each, &i, sizeof i);
		tls_verdicts_add(v, each, NOW + (time_t)i / 100, END);
		UNIT_ROW(tls_verdicts_find(v, each, NOW + (time_t)i / 100), "%zu is there", i);
	}
	for (size_t i = 0; i < MANY; i++) {
		memcpy(each, &i, sizeof i);
		kept += tls_verdicts_find(v, each, NOW + MANY / 100) != 0;
	}
	UNIT_ROW(kept > KEPT_MAX / 2 && kept <= KEPT_MAX, "%zu are kept", kept);
	tls_verdicts_free(&v);
}

UNIT_SUITE(tls_verdicts, { "time", test_time }, { "digests", test_digests }, { "bounded", test_bounded })
