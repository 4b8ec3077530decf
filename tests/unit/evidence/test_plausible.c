/* Does it read like text? Right readings well below the limit, wrong ones above it; and each flaw by itself. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/evidence/plausible.h"
#include "tests/unit/wide.h"

static const struct {
	const char *flaw;
	const char *text, *written;     /* iconv's name of what the bytes are */
	enum charset read;
	bool reads;
} cases[] = {
	{ "none: ASCII",             "plain", "US-ASCII", CS_KOI8_R, true },
	{ "none: Russian",           "Над рекой поднялся туман", "KOI8-R", CS_KOI8_R, true },
	{ "long in capitals",        "НАД РЕКОЙ ПОДНЯЛСЯ ТУМАН", "UTF-8", CS_UTF_8, false },
	{ "none: short capitals",    "НАД РЕКОЙ", "WINDOWS-1251", CS_WINDOWS_1251, true },
	{ "none: quotes, dashes",    "„Fähre“ – ‘später’ «déjà» ¿qué? 20 € Ärzte® l’été", "WINDOWS-1252", CS_WINDOWS_1252, true },
	{ "none: Thai marks",        "ตอนเย็นมีหมอกลงเหนือแม่น้ำ", "CP874", CS_WINDOWS_874, true },
	{ "none: Vietnamese marks",  "ta\xCC\x81 e\xCC\xA3", "UTF-8", CS_UTF_8, true },
	{ "none: Latin in Japanese", "Windows版の渡し船、Linux版の渡し船", "EUC-JP", CS_EUC_JP, true },
	{ "none: few rare kanji",    "槗駪", "EUC-JP", CS_EUC_JP, true },
	{ "two alphabets",           "Fährüberfahrt früher möglich", "WINDOWS-1252", CS_WINDOWS_1251, false },
	{ "accents in a row",        "Над рекой поднялся туман", "WINDOWS-1251", CS_WINDOWS_1252, false },
	{ "case turned over",        "Над рекой поднялся туман, и паром отошёл", "KOI8-R", CS_WINDOWS_1251, false },
	{ "symbols in words",        "później się żalił, śnieżyło, wyjaśnił, gorąco", "ISO-8859-2", CS_WINDOWS_1252, false },
	{ "controls",                "“”„–—", "WINDOWS-1252", CS_ISO_8859_2, false },
	{ "marks on nothing",        "aÑ bÔ cÕ", "WINDOWS-1252", CS_WINDOWS_874, false },
	{ "Latin glued to Han",      "Fährt für Grüße", "WINDOWS-1252", CS_GB18030, false },
	{ "half-width kana",         "дом река туман", "KOI8-R", CS_SHIFT_JIS, false },
	{ "Chinese without kana",    "傍晚时分河面上起了大雾渡船比平常晚了将近一个小时才离开岸边", "GBK", CS_EUC_JP, false },
	{ "kana in Chinese",         "川の上に霧が立ちこめ、渡し船はいつもより", "EUC-JP", CS_GB18030, false },
	{ "half the rows",           "저녁이 되자 강 위에 안개가 피어올라 나룻배는 평소보다", "CP949", CS_GB18030, false },
	{ "beyond level 1",          "傍晚时分河面上起了大雾渡船", "GBK", CS_BIG5, false },
};

static void table(void)
{
	size_t i, len = 0;
	int flaws;
	uint8_t *bytes;

	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		bytes = wide_iconv("UTF-8", cases[i].written, cases[i].text, strlen(cases[i].text), &len);
		if (!UNIT_ROW(bytes != NULL, "%s in %s", cases[i].text, cases[i].written))
			continue;
		flaws = plausible_flaws(cases[i].read, bytes, len);
		UNIT_ROW((flaws < PLAUSIBLE_LIMIT) == cases[i].reads && flaws >= 0 && flaws <= PLAUSIBLE_WORST, "%s: %d of 1000", cases[i].flaw, flaws);
		free(bytes);
	}
}

/* What only a wrong charset does, and what some writers do too. */
static void faultless(void)
{
	static const struct {
		const char *rule, *text, *written;
		enum charset read;
		bool faultless;
	} rows[] = {
		{ "trust 10: accents in a row, a sign", "éàùç€@ïî", "ISO-8859-15", CS_ISO_8859_15, true },
		{ "trust 10: signs beside letters", "20 km² 10µm Foo©Bar", "WINDOWS-1252", CS_WINDOWS_1252, true },
		{ "two alphabets", "für", "WINDOWS-1252", CS_WINDOWS_1251, false },
		{ "a control", "“a”", "WINDOWS-1252", CS_ISO_8859_2, false },
		{ "case turned over", "Над", "KOI8-R", CS_WINDOWS_1251, false },
		{ "a mark on nothing", "aÑ", "WINDOWS-1252", CS_WINDOWS_874, false },
	};
	size_t i, len = 0;
	uint8_t *bytes;

	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		bytes = wide_iconv("UTF-8", rows[i].written, rows[i].text, strlen(rows[i].text), &len);
		if (UNIT_ROW(bytes != NULL, "%s in %s", rows[i].text, rows[i].written))
			UNIT_ROW(plausible_is_faultless(rows[i].read, bytes, len) == rows[i].faultless, "%s", rows[i].rule);
		free(bytes);
	}
}

/* Only so much is looked at, wherever it starts. */
static void far_away(void)
{
	static uint8_t bytes[200000];

	memset(bytes, 'a', sizeof bytes);
	memset(bytes + 150000, 0x81, 50000);
	CU_ASSERT_EQUAL(plausible_flaws(CS_WINDOWS_1252, bytes, sizeof bytes), PLAUSIBLE_WORST);
}

UNIT_SUITE(plausible, { "table", table }, { "faultless", faultless }, { "far away", far_away })
