/* Owns the cases of proxy/base/base64.c. Source: RFC 4648 sections 4, 5 and 10. */
#include "proxy/base/base64.h"
#include "tests/unit/unit.h"

#include <string.h>

static const struct { const char *bytes; size_t len; const char *text, *url; } cases[] = {
	{ "", 0, "", "" },
	{ "f", 1, "Zg==", "Zg" },
	{ "fo", 2, "Zm8=", "Zm8" },
	{ "foo", 3, "Zm9v", "Zm9v" },
	{ "foob", 4, "Zm9vYg==", "Zm9vYg" },
	{ "fooba", 5, "Zm9vYmE=", "Zm9vYmE" },
	{ "foobar", 6, "Zm9vYmFy", "Zm9vYmFy" },
	{ "\xfb\xff\xbf\0", 4, "+/+/AA==", "-_-_AA" },
};

static bool writes(void (*write)(struct text *, struct slice), size_t i, const char *want)
{
	struct text t = { 0 };

	write(&t, (struct slice){ cases[i].bytes, cases[i].len });
	bool same = !t.failed && t.len == strlen(want) && !memcmp(t.len ? t.bytes : "", want, t.len);
	text_free(&t);
	return same;
}

static void both_ways(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char out[8];

		UNIT_ROW(writes(base64_write, i, cases[i].text), "%s", cases[i].text);
		UNIT_ROW(writes(base64_write_url, i, cases[i].url), "%s", cases[i].url);
		size_t n = base64_read((struct slice){ cases[i].text, strlen(cases[i].text) }, out, sizeof out);
		UNIT_ROW(n == cases[i].len && !memcmp(out, cases[i].bytes, n), "%s: %zu bytes", cases[i].text, n);
	}
}

UNIT_SUITE(base64, { "both_ways", both_ways })
