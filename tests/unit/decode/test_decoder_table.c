/* Every decode table against iconv, with the deviations as data. */
#include "core/text/utf8.h"
#include "tests/unit/decoding.h"
#include "tests/unit/unit.h"

#include <iconv.h>
#include <pthread.h>
#include <stdlib.h>
#include <uchar.h>

static void *selftest_thread(void *missing)
{
	decoder_selftest(missing);
	return NULL;
}

/* First of all cases: the tables are built by four threads at once, or by one where coverage.sh says so. */
static void selftest(void)
{
	pthread_t threads[4];
	const char *missing[4];
	size_t n = getenv("UTFEED_ONE_THREAD") ? 1 : 4;

	for (size_t i = 0; i < n; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, selftest_thread, &missing[i]), 0);
	for (size_t i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		UNIT_ROW(missing[i] == NULL, "no converter for %s", missing[i] ? missing[i] : "");
	}
	CU_ASSERT_EQUAL(decoder_selftest(&missing[0]), 0);
}

/* One code by iconv, held-back letters flushed; 0: it refuses. */
static size_t iconv_text(iconv_t cd, const uint8_t *code, size_t len, uint8_t *out, size_t cap)
{
	char *in = (char *)(uintptr_t)code, *to = (char *)out;
	size_t room = cap, result = iconv(cd, &in, &len, &to, &room);

	iconv(cd, NULL, NULL, &to, &room);
	return result == (size_t)-1 ? 0 : cap - room;
}

/* The codes that differ from iconv on purpose; any other difference is a failure, and so is a row that says what iconv does,
 * unless another release of it says something else. */
static const struct {
	enum charset charset;
	bool pinned;
	uint16_t first;
	const char16_t *text;
} overlays[] = {
#define OVERLAY(charset, first, text) { CS_##charset, false, first, text },
#define PINNED(charset, first, text) { CS_##charset, true, first, text },
#define LITERAL(charset, first, text)
#include "core/decode/overlay.def"
#undef LITERAL
#undef PINNED
#undef OVERLAY
};

static char16_t overlay_of(enum charset cs, unsigned code, bool *pinned)
{
	for (size_t i = 0; i < sizeof overlays / sizeof overlays[0]; i++)
		for (size_t k = 0; overlays[i].charset == cs && overlays[i].text[k]; k++)
			if (overlays[i].first + k == code) {
				*pinned = overlays[i].pinned;
				return overlays[i].text[k];
			}
	return 0;
}

/* What a code should decode to, by iconv and the overlay; 0: malformed. */
static size_t expected(enum charset cs, iconv_t cd, const uint8_t *code, size_t len, uint8_t *want, size_t cap)
{
	bool pinned = false;
	char16_t over = overlay_of(cs, len == 2 ? (unsigned)code[0] << 8 | code[1] : code[0], &pinned);
	size_t want_len = iconv_text(cd, code, len, want, cap);

	if (over) {
		uint8_t text[4];
		size_t text_len = utf8_encode(over, text);

		UNIT_ROW(pinned || text_len != want_len || memcmp(text, want, text_len) != 0, "%s %02X%02X needs no overlay", charset_name(cs),
		    code[0], code[len - 1]);
		memcpy(want, text, text_len);
		return text_len;
	}
	return want_len;
}

static void check_code(enum charset cs, const uint8_t *code, size_t len, const uint8_t *want, size_t want_len)
{
	uint8_t out[256];
	uint64_t malformed;
	size_t got = decoding_whole(cs, 0, code, len, len, 1, DECODER_MIN_OUT, out, &malformed);
	bool right = want_len ? malformed == 0 && got == want_len && memcmp(out, want, got) == 0 : malformed == 1;

	if (!right)
		UNIT_ROW(false, "%s %02X%02X: %.*s", charset_name(cs), code[0], code[len - 1], (int)got, (char *)out);
}

static bool is_windows_set(enum charset cs)
{
	return strncmp(charset_name(cs), "windows-", 8) == 0;
}

static void single_byte_sets(void)
{
	for (enum charset cs = CS_NONE + 1; cs < CS_COUNT; cs++) {
		const struct charset_info *info = charset_info(cs);
		iconv_t cd;

		if (info->kind != KIND_SINGLE_BYTE || !info->iconv_name)
			continue;
		cd = iconv_open("UTF-8", info->iconv_name);
		CU_ASSERT_NOT_EQUAL_FATAL(cd, (iconv_t)-1);
		for (unsigned byte = 0; byte < 256; byte++) {
			uint8_t code = (uint8_t)byte, want[16];
			size_t want_len = expected(cs, cd, &code, 1, want, sizeof want);

			/* The other deviation: where Microsoft left a hole among C1, WHATWG has the control */
			if (want_len == 0 && is_windows_set(cs) && byte >= 0x80 && byte < 0xA0)
				want_len = utf8_encode(byte, want);
			check_code(cs, &code, 1, want, want_len);
		}
		iconv_close(cd);
	}
}

static const struct {
	enum charset charset;
	uint8_t lead_min, lead_max, not_min, not_max;
	unsigned more;              /* codes iconv lacks: rows 13 and 89 to 92 of JIS X 0208, taken from CP932 */
} double_byte[] = {
	{ CS_SHIFT_JIS, 0x81, 0xFC, 0xA0, 0xDF, 0 },
	{ CS_EUC_JP, 0xA1, 0xFE, 0, 0, 83 + 374 },
	{ CS_GB18030, 0x81, 0xFE, 0, 0, 0 },
	{ CS_BIG5, 0x81, 0xFE, 0, 0, 0 },
	{ CS_EUC_KR, 0x81, 0xFE, 0, 0, 0 },
	{ CS_JOHAB, 0x84, 0xF9, 0, 0, 0 },
};

static bool is_vendor_row(enum charset cs, unsigned lead)
{
	return cs == CS_EUC_JP && (lead == 0xAD || (lead >= 0xF9 && lead <= 0xFC));
}

static void double_byte_sets(void)
{
	for (size_t i = 0; i < sizeof double_byte / sizeof double_byte[0]; i++) {
		enum charset cs = double_byte[i].charset;
		iconv_t cd = iconv_open("UTF-8", charset_info(cs)->iconv_name);
		unsigned more = 0;

		CU_ASSERT_NOT_EQUAL_FATAL(cd, (iconv_t)-1);
		for (unsigned lead = double_byte[i].lead_min; lead <= double_byte[i].lead_max; lead++)
			for (unsigned trail = 0x3A; trail < 0x100; trail++) {
				const uint8_t code[2] = { (uint8_t)lead, (uint8_t)trail };
				uint8_t want[16];
				size_t want_len;

				if (lead >= double_byte[i].not_min && lead <= double_byte[i].not_max)
					continue;
				want_len = expected(cs, cd, code, 2, want, sizeof want);
				if (want_len == 0 && is_vendor_row(cs, lead)) {
					struct decoder_trial trial;

					CU_ASSERT_EQUAL(decoder_try(cs, code, 2, true, &trial), 0);
					more += trial.accepts;
					continue;
				}
				check_code(cs, code, 2, want, want_len);
			}
		UNIT_ROW(more == double_byte[i].more, "%s: %u", charset_name(cs), more);
		iconv_close(cd);
	}
}

static void three_bytes_of_euc_jp(void)
{
	iconv_t cd = iconv_open("UTF-8", "EUC-JP");

	CU_ASSERT_NOT_EQUAL_FATAL(cd, (iconv_t)-1);
	for (unsigned lead = 0xA1; lead < 0xFF; lead++)
		for (unsigned trail = 0xA1; trail < 0xFF; trail++) {
			const uint8_t code[3] = { 0x8F, (uint8_t)lead, (uint8_t)trail };
			uint8_t want[16];

			check_code(CS_EUC_JP, code, 3, want, iconv_text(cd, code, 3, want, sizeof want));
		}
	iconv_close(cd);
}

/* Eighteen characters that glibc knows by two bytes only (index-gb18030-ranges.txt has both). */
static const struct {
	unsigned pointer, count, cp;
} four_byte_overlay[] = { { 19057, 8, 0x9FB4 }, { 39076, 10, 0xFE10 } };

static void four_bytes_of_gb18030(void)
{
	iconv_t cd = iconv_open("UTF-8", "GB18030");

	CU_ASSERT_NOT_EQUAL_FATAL(cd, (iconv_t)-1);
	for (unsigned pointer = 0; pointer <= 1237577; pointer += pointer < 40000 ? 1 : 97) {
		const uint8_t code[] = { (uint8_t)(0x81 + pointer / 12600), (uint8_t)(0x30 + pointer / 1260 % 10),
		    (uint8_t)(0x81 + pointer / 10 % 126), (uint8_t)(0x30 + pointer % 10) };
		uint8_t want[16];
		size_t want_len = iconv_text(cd, code, 4, want, sizeof want);

		for (size_t i = 0; i < sizeof four_byte_overlay / sizeof four_byte_overlay[0]; i++) {
			unsigned k = pointer - four_byte_overlay[i].pointer;

			if (pointer >= four_byte_overlay[i].pointer && k < four_byte_overlay[i].count)
				want_len = utf8_encode(four_byte_overlay[i].cp + k, want);
		}
		check_code(CS_GB18030, code, 4, want, want_len);
	}
	iconv_close(cd);
}

/* Each set whose superset stands in for it, by iconv's own name for it. */
static const struct {
	enum charset charset;
	const char *own;
} own_sets[] = {
	{ CS_WINDOWS_1252, "ISO-8859-1" }, { CS_WINDOWS_1254, "ISO-8859-9" }, { CS_WINDOWS_874, "ISO-8859-11" },
	{ CS_SHIFT_JIS, "SHIFT_JIS" }, { CS_EUC_JP, "EUC-JP" }, { CS_GB18030, "EUC-CN" },
};

/* Literally, a code beyond ASCII is what its own set says; where that says nothing, or the code is malformed in the superset, what it is
 * otherwise. */
static void check_literal(enum charset cs, iconv_t own, const uint8_t *code, size_t len)
{
	uint8_t want[64], out[64];
	uint64_t malformed, plain_malformed;
	size_t want_len = decoding_whole(cs, 0, code, len, len, 1, DECODER_MIN_OUT, want, &plain_malformed), own_len, got;
	uint8_t own_text[16];

	own_len = iconv_text(own, code, len, own_text, sizeof own_text);
	if (own_len > 0 && plain_malformed == 0) {
		memcpy(want, own_text, own_len);
		want_len = own_len;
	}
	got = decoding_whole(cs, DECODER_LITERAL, code, len, len, 1, DECODER_MIN_OUT, out, &malformed);
	if (got != want_len || memcmp(out, want, got) != 0 || malformed != plain_malformed)
		UNIT_ROW(false, "%s %02X%02X: %.*s", charset_name(cs), code[0], code[len - 1], (int)got, (char *)out);
}

static void literal_is_the_set_of_the_label(void)
{
	for (size_t i = 0; i < sizeof own_sets / sizeof own_sets[0]; i++) {
		enum charset cs = own_sets[i].charset;
		iconv_t own = iconv_open("UTF-8", own_sets[i].own);

		CU_ASSERT_NOT_EQUAL_FATAL(own, (iconv_t)-1);
		for (unsigned lead = 0x80; lead < 0x100; lead++) {
			const uint8_t byte = (uint8_t)lead;
			uint8_t text[16];
			bool leads = charset_info(cs)->kind == KIND_DOUBLE_BYTE && iconv_text(own, &byte, 1, text, sizeof text) == 0;

			check_literal(cs, own, &byte, 1);
			for (unsigned trail = 0x40; leads && trail < 0x100; trail++) {
				const uint8_t code[2] = { byte, (uint8_t)trail };

				check_literal(cs, own, code, 2);
			}
		}
		iconv_close(own);
	}
}

UNIT_SUITE(decoder_table, { "selftest", selftest }, { "single-byte sets", single_byte_sets }, { "double-byte sets", double_byte_sets },
    { "three bytes of euc-jp", three_bytes_of_euc_jp }, { "four bytes of gb18030", four_bytes_of_gb18030 },
    { "literal is the set of the label", literal_is_the_set_of_the_label })
