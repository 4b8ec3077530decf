/* Decoding: rows per charset (bytes in hex, UTF-8 out, malformed sequences counted), each row cut at every byte and into the
 * smallest room; literal meanings, and what a trial tells. */
#include "tests/unit/decoding.h"
#include "tests/unit/unit.h"

#define FFFD "\xEF\xBF\xBD"
/* A text that may hold NUL, and its length. */
#define T(text) text, sizeof(text) - 1

static const struct {
	const char *rule;
	enum charset charset;
	const char *in, *out;
	size_t out_len;
	unsigned malformed;
} cases[] = {
	{ "a mark is a character", CS_UTF_8, "EFBBBF 61", T("\xEF\xBB\xBF" "a"), 0 },
	{ "well-formed", CS_UTF_8, "D0AF E282AC F09F9880", T("Я€😀"), 0 },
	{ "maximal subparts, table 3-8", CS_UTF_8, "61 F18080 E180 C2 62 80 63", T("a" FFFD FFFD FFFD "b" FFFD "c"), 4 },
	{ "surrogate: three subparts", CS_UTF_8, "EDA080", T(FFFD FFFD FFFD), 3 },
	{ "overlong", CS_UTF_8, "C0AF E080BF", T(FFFD FFFD FFFD FFFD FFFD), 5 },
	{ "cut at the end", CS_UTF_8, "61 E282", T("a" FFFD), 1 },

	{ "big-endian without a mark, RFC 2781 4.3", CS_UTF_16, "0061 042F", T("aЯ"), 0 },
	{ "mark FE FF", CS_UTF_16, "FEFF 0061", T("\xEF\xBB\xBF" "a"), 0 },
	{ "mark FF FE", CS_UTF_16, "FFFE 6100 2F04", T("\xEF\xBB\xBF" "aЯ"), 0 },
	{ "little-endian", CS_UTF_16LE, "6100 AC20 3DD8 00DE", T("a€😀"), 0 },
	{ "the other mark is a noncharacter", CS_UTF_16LE, "FEFF", T("\xEF\xBF\xBE"), 0 },
	{ "pair", CS_UTF_16BE, "D83D DE00", T("😀"), 0 },
	{ "lone low", CS_UTF_16BE, "DC00 0061", T(FFFD "a"), 1 },
	{ "lone high", CS_UTF_16BE, "D800 0061", T(FFFD "a"), 1 },
	{ "high, high, low", CS_UTF_16BE, "D83D D83D DE00", T(FFFD "😀"), 1 },
	{ "odd byte at the end", CS_UTF_16BE, "0061 00", T("a" FFFD), 1 },
	{ "high at the end", CS_UTF_16BE, "0061 D83D", T("a" FFFD), 1 },
	{ "high and a byte at the end", CS_UTF_16LE, "6100 3DD8 00", T("a" FFFD), 1 },
	{ "one byte", CS_UTF_16, "FE", T(FFFD), 1 },
	{ "NUL is a character", CS_UTF_16LE, "0000 6100", T("\0a"), 0 },

	{ "big-endian without a mark", CS_UTF_32, "00000061 0001F600", T("a😀"), 0 },
	{ "mark 4321", CS_UTF_32, "FFFE0000 61000000", T("\xEF\xBB\xBF" "a"), 0 },
	{ "1234", CS_UTF_32BE, "0000FEFF 00000061", T("\xEF\xBB\xBF" "a"), 0 },
	{ "4321", CS_UTF_32LE, "AC200000", T("€"), 0 },
	{ "2143, XML appendix F.1", CS_UCS_4_2143, "0000 3C00 0100 00F6", T("<😀"), 0 },
	{ "3412, XML appendix F.1", CS_UCS_4_3412, "003C 0000 F600 0001", T("<😀"), 0 },
	{ "surrogate", CS_UTF_32BE, "0000D800 00000061", T(FFFD "a"), 1 },
	{ "past the end", CS_UTF_32BE, "00110000 80000000", T(FFFD FFFD), 2 },
	{ "three bytes at the end", CS_UTF_32LE, "61000000 610000", T("a" FFFD), 1 },

	{ "letters and punctuation", CS_WINDOWS_1252, "E9 80 93 9F", T("é€“Ÿ"), 0 },
	{ "holes are C1, index-windows-1252", CS_WINDOWS_1252, "81 8D 8F 90 9D", T("\xC2\x81\xC2\x8D\xC2\x8F\xC2\x90\xC2\x9D"), 0 },
	{ "Russian", CS_WINDOWS_1251, "CFF0E8E2E5F2 20 98 A8", T("Привет \xC2\x98Ё"), 0 },
	{ "Russian", CS_KOI8_R, "F0D2C9D7C5D4 20 A3", T("Привет ё"), 0 },
	{ "short u of index-koi8-u", CS_KOI8_U, "AE BE A4", T("ўЎє"), 0 },
	{ "DOS Russian", CS_IBM866, "8FE0A8A2A5E2", T("Привет"), 0 },
	{ "DOS Cyrillic", CS_IBM855, "DD E1 B7", T("При"), 0 },
	{ "Mac Cyrillic, euro", CS_X_MAC_CYRILLIC, "8FF0E8E2E5F2 FF A2", T("Привет€Ґ"), 0 },
	{ "Mac Roman", CS_MACINTOSH, "8E C6 F0", T("é∆\uF8FF"), 0 },
	{ "Mac Turkish", CS_X_MAC_TURKISH, "DA DB DC DD DE DF", T("ĞğİıŞş"), 0 },
	{ "Mac Greek", CS_X_MAC_GREEK, "C0 DB 9C", T("άέ€"), 0 },
	{ "points are not composed", CS_WINDOWS_1255, "F9 D1 CA 81", T("ש\u05C1\u05BA\xC2\x81"), 0 },
	{ "hole above C1", CS_WINDOWS_1255, "D9 E0", T(FFFD "א"), 1 },
	{ "accents are not composed", CS_WINDOWS_1258, "61 EC", T("a\u0301"), 0 },
	{ "accents are not composed", CS_TCVN, "61 B4", T("a\u0323"), 0 },
	{ "letters among C0", CS_VISCII, "02 61 06", T("ẲaẪ"), 0 },
	{ "no-break space of TIS-620", CS_WINDOWS_874, "A0 A1 80 81", T("\u00A0ก€\xC2\x81"), 0 },
	{ "hole", CS_WINDOWS_874, "61 DB 62", T("a" FFFD "b"), 1 },
	{ "hole", CS_ISO_8859_6, "C7 A1 61", T("ا" FFFD "a"), 1 },
	{ "logical order is a matter of display", CS_ISO_8859_8_I, "F9 EC", T("של"), 0 },
	{ "Latin 9", CS_ISO_8859_15, "A4 BD", T("€œ"), 0 },
	{ "private use, Encoding Standard 14.5", CS_X_USER_DEFINED, "61 80 FF", T("a\uF780\uF7FF"), 0 },
	{ "EBCDIC", CS_IBM037, "4C6FA79493 4040 15", T("<?xml  \xC2\x85"), 0 },
	{ "EBCDIC with euro", CS_IBM01141, "9F 4C", T("€<"), 0 },
	{ "EBCDIC Latin 1", CS_IBM1047, "AD BD 15 25", T("[]\xC2\x85\n"), 0 },

	{ "ASCII backslash and tilde", CS_SHIFT_JIS, "5C 7E", T("\\~"), 0 },
	{ "kanji, kana, NEC, IBM, Microsoft's tilde", CS_SHIFT_JIS, "93FA 967B B1 8740 FA55 8160", T("日本ｱ①￤～"), 0 },
	{ "user-defined", CS_SHIFT_JIS, "F040 F9FC", T("\uE000\uE757"), 0 },
	{ "trail byte that looks ASCII", CS_SHIFT_JIS, "835C 955C", T("ソ表"), 0 },
	{ "ASCII after a bad lead survives", CS_SHIFT_JIS, "81 3C 61", T(FFFD "<a"), 1 },
	{ "bad pair of two high bytes is one", CS_SHIFT_JIS, "81 FD 61", T(FFFD "a"), 1 },
	{ "unassigned pair with an ASCII trail", CS_SHIFT_JIS, "8540 61", T(FFFD "@a"), 1 },
	{ "bytes that never lead", CS_SHIFT_JIS, "A0 FD FE FF 80", T(FFFD FFFD FFFD FFFD "\xC2\x80"), 4 },
	{ "lead at the end", CS_SHIFT_JIS, "61 93", T("a" FFFD), 1 },

	{ "kanji, kana, JIS X 0212", CS_EUC_JP, "C6FC CBDC 8EB1 8FB0A1", T("日本ｱ丂"), 0 },
	{ "NEC and IBM rows", CS_EUC_JP, "ADA1 FCF1 FCFC", T("①ⅰ￤"), 0 },
	{ "Microsoft's six of index-jis0208", CS_EUC_JP, "A1C1 A1C2 A1DD A1F1 A1F2 A2CC", T("～∥－￠￡￢"), 0 },
	{ "bad three bytes", CS_EUC_JP, "8FA1A1 61", T(FFFD "a"), 1 },
	{ "three bytes cut by ASCII", CS_EUC_JP, "8FB0 3C", T(FFFD "<"), 1 },
	{ "two bytes cut by ASCII", CS_EUC_JP, "C6 3C", T(FFFD "<"), 1 },
	{ "kana out of range", CS_EUC_JP, "8EE0 61", T(FFFD "a"), 1 },
	{ "C1 never stands alone", CS_EUC_JP, "80 8D 90 A0 FF 61", T(FFFD FFFD FFFD FFFD FFFD "a"), 5 },
	{ "cut after one, after two", CS_EUC_JP, "61 8FB0", T("a" FFFD), 1 },

	{ "GB 2312, GBK, euro of GBK", CS_GB18030, "D6D0 CEC4 E946 80", T("中文镕€"), 0 },
	{ "four bytes of the basic plane", CS_GB18030, "81308130 8139EE39 8431A439", T("\xC2\x80㐀\uFFFF"), 0 },
	{ "four bytes beyond", CS_GB18030, "9439DA33 E3329A35", T("💩\U0010FFFF"), 0 },
	{ "hole between the planes", CS_GB18030, "8431A530 61", T(FFFD "a"), 1 },
	{ "past the end", CS_GB18030, "E3329A36 61", T(FFFD "a"), 1 },
	{ "bad third byte", CS_GB18030, "8130 61", T(FFFD "0a"), 1 },
	{ "bad fourth byte", CS_GB18030, "813081 20", T(FFFD "0" FFFD " "), 2 },
	{ "bad trail, ASCII", CS_GB18030, "81 20", T(FFFD " "), 1 },
	{ "FF never leads", CS_GB18030, "FF 61", T(FFFD "a"), 1 },
	{ "FF never trails", CS_GB18030, "81FF 61", T(FFFD "a"), 1 },
	{ "cut after three", CS_GB18030, "61 813081", T("a" FFFD), 1 },
	{ "ideographic space of the index", CS_GB18030, "A3A0", T("\u3000"), 0 },
	{ "GB 18030-2022: two bytes left in private use", CS_GB18030, "FE51 FE52 FE53 FE6C FE76 FE91",
	    T("\uE816\uE817\uE818\uE831\uE83B\uE855"), 0 },
	{ "their characters", CS_GB18030, "95329031 95329033 95329730 9536B937 9630BA35 9635B630",
	    T("\U00020087\U00020089\U000200CC\U000215D7\U0002298F\U000241FE"), 0 },
	{ "GB 18030-2022: two bytes taken out of it", CS_GB18030, "A6D9 FE59 84318236 82359037", T("\uFE10\u9FB4\uFE10\u9FB4"), 0 },

	{ "Big5", CS_BIG5, "A4A4 A4E5 A145", T("中文‧"), 0 },
	{ "Hong Kong, plane 2 too", CS_BIG5, "8740 877B", T("䏰𡵓"), 0 },
	{ "two characters from one code, Encoding Standard 11.1.1", CS_BIG5, "8862 8864 88A3 88A5 8866",
	    T("\u00CA\u0304\u00CA\u030C\u00EA\u0304\u00EA\u030C\u00CA"), 0 },
	{ "withdrawn by HKSCS", CS_BIG5, "8E69", T("\u7BB8"), 0 },
	{ "unassigned", CS_BIG5, "8140 61", T(FFFD "@a"), 1 },
	{ "trail out of range", CS_BIG5, "A480 61", T(FFFD "a"), 1 },
	{ "80 and FF never lead", CS_BIG5, "80 FF 61", T(FFFD FFFD "a"), 2 },

	{ "KS X 1001, Hangul of cp949", CS_EUC_KR, "C7D1 B1DB 8141 C652", T("한글갂힣"), 0 },
	{ "C1 never stands alone", CS_EUC_KR, "80 83 20", T(FFFD FFFD " "), 2 },
	{ "unassigned, ASCII trail", CS_EUC_KR, "C653 61", T(FFFD "Sa"), 1 },

	{ "Johab, backslash for won", CS_JOHAB, "D065 8B69 5C", T("한글\\"), 0 },
	{ "four bytes, ASCII", CS_EUC_TW, "C4E3 C5C6 8EA2A1A1 61", T("中文乂a"), 0 },

	{ "escapes", CS_ISO_2022_JP, "1B2442 467C4B5C 1B2842 61", T("日本a"), 0 },
	{ "still shifted at the end", CS_ISO_2022_JP, "61 1B2442 467C", T("a日"), 0 },
	{ "cut escape: what follows the escape character is read", CS_ISO_2022_JP, "61 1B24", T("a" FFFD "$"), 1 },
	{ "cut behind the escape character", CS_ISO_2022_JP, "61 1B", T("a" FFFD), 1 },
	{ "cut escape in katakana", CS_ISO_2022_JP, "1B2849 1B28", T(FFFD "ｨ"), 1 },
	{ "cut escape between pairs", CS_ISO_2022_JP, "1B2442 467C 1B24", T("日" FFFD FFFD), 2 },
	{ "cut kanji", CS_ISO_2022_JP, "1B2442 467C 4B", T("日" FFFD), 1 },
	{ "high byte", CS_ISO_2022_JP, "61 E9 62", T("a" FFFD "b"), 1 },
	{ "circled digit of NEC", CS_ISO_2022_JP, "1B2442 2D21 1B2842 61", T("①a"), 0 },
	{ "katakana of one byte", CS_ISO_2022_JP, "1B2849 31 60 1B2842 61", T("ｱ" FFFD "a"), 1 },
	{ "no control and no blank in katakana", CS_ISO_2022_JP, "1B2849 31 0A 20 5F", T("ｱ" FFFD FFFD "ﾟ"), 2 },
	{ "neither shift", CS_ISO_2022_JP, "61 0E 0F 62 1B284A 0E 61 0F 1B2842 63", T("a" FFFD FFFD "b" FFFD "a" FFFD "c"), 4 },
	{ "shifts inside longer text", CS_ISO_2022_JP, "6162636465666768 61620E6465666768 616263646566670F 68", T("abcdefghab" FFFD "defghabcdefg" FFFD "h"), 2 },
	{ "Roman", CS_ISO_2022_JP, "1B284A 61 5C7E 1B2842 5C", T("a¥‾\\"), 0 },
	{ "no JIS X 0212", CS_ISO_2022_JP, "1B242844 3021 1B2440 467C 1B2842", T(FFFD "$(D0!日"), 1 },
	{ "JIS X 0212, RFC 2237", CS_ISO_2022_JP_2, "1B242844 3021 1B2440 467C 1B2842", T("丂日"), 0 },
	{ "no line end between pairs", CS_ISO_2022_JP, "1B2442 467C 0A 4B5C 1B2842", T("日" FFFD "本"), 1 },
	{ "nor inside one", CS_ISO_2022_JP, "1B2442 46 0A 4B5C 467F 4B5C", T(FFFD "本" FFFD "本"), 2 },
	{ "pair cut by an escape", CS_ISO_2022_JP, "1B2442 467C 4B 1B2842 61", T("日" FFFD "a"), 1 },
	{ "unassigned pair", CS_ISO_2022_JP, "1B2442 2921 467C 7F 46E9", T(FFFD "日" FFFD FFFD), 3 },
	{ "no such escape", CS_ISO_2022_JP, "61 1B7A 1B242841", T("a" FFFD "z" FFFD "$(A"), 2 },
	{ "high byte in Roman", CS_ISO_2022_JP, "1B284A E9 61", T(FFFD "a"), 1 },
	{ "escape inside an escape", CS_ISO_2022_JP, "1B1B2442 467C 1B281B2842 61", T(FFFD "日" FFFD FFFD "a"), 3 },
	{ "escapes in a row", CS_ISO_2022_JP, "1B2442 1B2842 1B2442 467C", T(FFFD FFFD "日"), 2 },
	{ "one at the end", CS_ISO_2022_JP, "1B2442 467C 1B2842", T("日"), 0 },
	{ "a fault between them", CS_ISO_2022_JP, "1B2442 FF 1B2842 80 1B2442", T(FFFD FFFD), 2 },
	{ "Chinese and Korean too", CS_ISO_2022_JP_2, "1B2441 5650 1B242843 4751 1B2842 61", T("中한a"), 0 },
	{ "high byte", CS_ISO_2022_JP_2, "61 E9 62", T("a" FFFD "b"), 1 },
	{ "shift out and in", CS_ISO_2022_KR, "1B242943 0E 4751315B 0F 61", T("한글a"), 0 },
};

enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

static void rows(void)
{
	for (size_t i = 0; i < CASE_COUNT; i++) {
		uint8_t in[128], out[1024];
		size_t len = decoding_hex(cases[i].in, in);

		for (size_t cut = 0; cut <= len + 1; cut++)
			for (size_t cap = DECODER_MIN_OUT; cap <= 4096; cap += 4096 - DECODER_MIN_OUT) {
				uint64_t malformed;
				/* The last round goes byte by byte */
				size_t got = decoding_whole(cases[i].charset, 0, in, len, cut > len ? 1 : cut, cut > len ? 1 : 4096, cap, out,
				    &malformed);

				UNIT_ROW(got == cases[i].out_len && memcmp(out, cases[i].out, got) == 0, "%s: %s, cut at %zu: %.*s",
				    charset_name(cases[i].charset), cases[i].rule, cut, (int)got, (char *)out);
				UNIT_ROW(malformed == cases[i].malformed, "%s: %s, cut at %zu: %u", charset_name(cases[i].charset),
				    cases[i].rule, cut, (unsigned)malformed);
			}
	}
}

/* Longer than any block: the row behind 0 to 33 ASCII characters. */
static void rows_inside_text(void)
{
	for (size_t i = 0; i < CASE_COUNT; i++) {
		enum charset_family family = charset_info(cases[i].charset)->family;

		if ((family != FAMILY_ASCII && cases[i].charset != CS_ISO_2022_JP) || cases[i].charset == CS_VISCII)
			continue;
		for (size_t pad = 0; pad < 34; pad++) {
			uint8_t in[256], want[512], out[1024];
			uint64_t malformed;
			size_t len = pad, want_len = pad, got;

			memset(in, '.', sizeof in);
			memset(want, '.', sizeof want);
			len += decoding_hex(cases[i].in, in + len);
			memcpy(want + want_len, cases[i].out, cases[i].out_len);
			want_len += cases[i].out_len;
			got = decoding_whole(cases[i].charset, 0, in, len, len, 1, 4096, out, &malformed);
			UNIT_ROW(got == want_len && memcmp(out, want, got) == 0, "%s: %s behind %zu", charset_name(cases[i].charset),
			    cases[i].rule, pad);
			UNIT_ROW(malformed == cases[i].malformed, "%s: %s", charset_name(cases[i].charset), cases[i].rule);
		}
	}
}

/* One code again and again, far beyond any room: what fills the room never passes for the end of what can be read. */
static const struct {
	const char *rule;
	enum charset charset;
	unsigned flags;
	const char *before, *code, *out;
	unsigned malformed;         /* each */
} runs[] = {
	{ "one byte", CS_UTF_8, 0, "", "61", "a", 0 },
	{ "two bytes", CS_UTF_8, 0, "", "D0AF", "Я", 0 },
	{ "four bytes", CS_UTF_8, 0, "", "F09F9880", "😀", 0 },
	{ "stray bytes", CS_UTF_8, DECODER_STRAYS, "", "E9 20", "é ", 1 },
	{ "surrogates in three bytes each", CS_UTF_8, DECODER_STRAYS, "", "EDA0BD EDB880", "😀", 0 },
	{ "three of UTF-8", CS_UTF_16BE, 0, "", "65E5", "日", 0 },
	{ "two of UTF-8", CS_UTF_16LE, 0, "", "2F04", "Я", 0 },
	{ "surrogates", CS_UTF_16LE, 0, "", "3DD8 00DE", "😀", 0 },
	{ "four of UTF-8", CS_UTF_32BE, 0, "", "0001F600", "😀", 0 },
	{ "three of UTF-8", CS_UCS_4_2143, 0, "", "0000 E565", "日", 0 },
	{ "two of UTF-8", CS_WINDOWS_1251, 0, "", "CF", "П", 0 },
	{ "three of UTF-8", CS_WINDOWS_874, 0, "", "A1", "ก", 0 },
	{ "EBCDIC", CS_IBM037, 0, "", "A7", "x", 0 },
	{ "pairs", CS_SHIFT_JIS, 0, "", "93FA", "日", 0 },
	{ "single bytes", CS_SHIFT_JIS, 0, "", "B1", "ｱ", 0 },
	{ "pairs and blanks", CS_SHIFT_JIS, 0, "", "93FA 20", "日 ", 0 },
	{ "pairs", CS_EUC_JP, 0, "", "C6FC", "日", 0 },
	{ "three bytes", CS_EUC_JP, 0, "", "8FB0A1", "丂", 0 },
	{ "pairs", CS_GB18030, 0, "", "D6D0", "中", 0 },
	{ "four bytes", CS_GB18030, 0, "", "9439DA33", "💩", 0 },
	{ "pairs", CS_BIG5, 0, "", "A4A4", "中", 0 },
	{ "two characters each", CS_BIG5, 0, "", "8862", "\u00CA\u0304", 0 },
	{ "pairs", CS_EUC_KR, 0, "", "C7D1", "한", 0 },
	{ "ASCII", CS_ISO_2022_JP, 0, "", "61", "a", 0 },
	{ "pairs", CS_ISO_2022_JP, 0, "1B2442", "467C", "日", 0 },
	{ "pairs of two of UTF-8", CS_ISO_2022_JP, 0, "1B2442", "2721", "А", 0 },
	{ "katakana", CS_ISO_2022_JP, 0, "1B2849", "31", "ｱ", 0 },
	{ "Roman", CS_ISO_2022_JP, 0, "1B284A", "5C", "¥", 0 },
	{ "escapes", CS_ISO_2022_JP, 0, "", "1B2442 467C 1B2842 61", "日a", 0 },
	{ "Johab", CS_JOHAB, 0, "", "D065", "한", 0 },
	{ "four bytes", CS_EUC_TW, 0, "", "8EA2A1A1", "乂", 0 },
	{ "pairs", CS_ISO_2022_JP_2, 0, "1B2442", "467C", "日", 0 },
	{ "pairs", CS_ISO_2022_KR, 0, "1B242943 0E", "4751", "한", 0 },
};

enum { RUN_CODES = 2800, RUN_ROOM = 4096, RUN_CODE = 9, RUN_BYTES = RUN_CODE * RUN_CODES };

static size_t repeat(uint8_t *out, const uint8_t *piece, size_t len, size_t times)
{
	for (size_t i = 0; i < times; i++)
		memcpy(out + i * len, piece, len);
	return times * len;
}

static void long_runs(void)
{
	static uint8_t in[RUN_BYTES + 8], want[RUN_BYTES], out[RUN_BYTES];

	for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
		uint8_t code[RUN_CODE];
		size_t len = decoding_hex(runs[i].before, in), code_len = decoding_hex(runs[i].code, code);
		size_t want_len = repeat(want, (const uint8_t *)runs[i].out, strlen(runs[i].out), RUN_CODES);

		len += repeat(in + len, code, code_len, RUN_CODES);
		/* Every room up to some blocks, then fewer; pieces of all sizes with it */
		for (size_t room = DECODER_MIN_OUT; room <= RUN_ROOM; room += room < 400 ? 1 : 231) {
			size_t step = room % 2 ? len : 1 + room * 7;
			uint64_t malformed;
			size_t got = decoding_whole(runs[i].charset, runs[i].flags, in, len, room % 5, step, room, out, &malformed);

			UNIT_ROW(got == want_len && memcmp(out, want, got) == 0, "%s: %s, room %zu", charset_name(runs[i].charset),
			    runs[i].rule, room);
			UNIT_ROW(malformed == runs[i].malformed * RUN_CODES, "%s: %s, room %zu: %u",
			    charset_name(runs[i].charset), runs[i].rule, room, (unsigned)malformed);
		}
	}
}

/* The second half of a character comes with more text than a carry holds. */
static void carry_before_a_long_piece(void)
{
	uint8_t in[100], out[256];
	uint64_t malformed;

	memset(in, '.', sizeof in);
	memcpy(in, "\x93\xFA", 2);
	CU_ASSERT_EQUAL(decoding_whole(CS_SHIFT_JIS, 0, in, sizeof in, 1, 99, 4096, out, &malformed), sizeof in + 1);
	CU_ASSERT_EQUAL(malformed, 0);
	CU_ASSERT_EQUAL(memcmp(out, "日........", 11), 0);
	CU_ASSERT_EQUAL(out[sizeof in], '.');
}

static const struct {
	const char *rule, *in, *out;
	unsigned malformed;
} strays[] = {
	{ "quotes", "93 C3A9 94", "“é”", 2 },
	{ "a letter before ASCII", "636166E9 20", "café ", 1 },
	{ "a character that was cut", "E282 61", FFFD "a", 1 },
	{ "and one of four bytes", "F09F98 61", FFFD "a", 1 },
	{ "a hole of windows-1252", "81 61", "\xC2\x81" "a", 1 },
	{ "a pair of surrogates (CESU-8)", "61 EDA0BDEDB880 62", "a😀b", 0 },
	{ "two pairs", "EDA0BCEDB7A9EDA0BCEDB7AA", "🇩🇪", 0 },
	{ "a high surrogate alone", "EDA0BD 61", FFFD "a", 1 },
	{ "a high surrogate before another", "EDA0BDEDA0BDEDB880", FFFD "😀", 1 },
	{ "a low surrogate alone", "EDB880 61", FFFD "a", 1 },
	{ "a high surrogate cut by the end", "EDA0BDEDB8", FFFD, 1 },
	{ "C0 80 is nothing", "61 C080 62", "ab", 1 },
	{ "an overlong form is one fault", "C0AF E080AF 61", FFFD FFFD "a", 2 },
	{ "above U+10FFFF", "F4908080 F5808080 61", FFFD FFFD "a", 2 },
	{ "a letter of windows-1252 from F5 on, with a trail", "FCBB 61", "ü»a", 2 },
	{ "a character cut by the end is one U+FFFD", "61 E282", "a" FFFD, 1 },
	{ "a lead at the end", "61 C3", "a" FFFD, 1 },
	{ "a lead at the end, behind a stray byte", "61 F6 E9", "aöé", 2 },
};

static void strays_of_windows_1252(void)
{
	for (size_t i = 0; i < sizeof strays / sizeof strays[0]; i++) {
		uint8_t in[64], out[256];
		size_t len = decoding_hex(strays[i].in, in);

		for (size_t cut = 0; cut <= len; cut++) {
			uint64_t malformed;
			size_t got = decoding_whole(CS_UTF_8, DECODER_STRAYS, in, len, cut, 64, DECODER_MIN_OUT, out, &malformed);

			UNIT_ROW(got == strlen(strays[i].out) && memcmp(out, strays[i].out, got) == 0, "%s, cut at %zu: %.*s",
			    strays[i].rule, cut, (int)got, (char *)out);
			UNIT_ROW(malformed == strays[i].malformed, "%s: %u", strays[i].rule, (unsigned)malformed);
		}
	}
}

/* Of which set strays are can be said; in one that is not single-byte they are U+FFFD. */
static void strays_of_other_sets(void)
{
	static const struct {
		enum charset charset;
		const char *out;
	} sets[] = { { CS_WINDOWS_1251, "приZ" }, { CS_KOI8_R, "ОПХZ" }, { CS_SHIFT_JIS, FFFD FFFD FFFD "Z" } };

	for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
		struct decoder *d = decoder_new(CS_UTF_8, DECODER_STRAYS);
		uint8_t out[256];
		size_t used, len;

		CU_ASSERT_EQUAL_FATAL(decoder_set_strays(d, sets[i].charset), 0);
		len = decoder_feed(d, (const uint8_t *)"\xEF\xF0\xE8Z", 4, &used, out, sizeof out);
		UNIT_ROW(len == strlen(sets[i].out) && memcmp(out, sets[i].out, len) == 0, "%s: %.*s", charset_name(sets[i].charset), (int)len, (char *)out);
		CU_ASSERT_EQUAL(decoder_malformed(d), 3);
		decoder_free(&d);
	}
}

static const struct {
	const char *rule;
	enum charset charset;
	const char *in, *plain, *literal;
	unsigned malformed;
} literals[] = {
	{ "JIS X 0208 punctuation", CS_SHIFT_JIS, "8160 8161 817C 8191 8192 81CA", "～∥－￠￡￢", "〜‖−¢£¬", 0 },
	{ "ASCII stays ASCII", CS_SHIFT_JIS, "5C 7E 815F", "\\~＼", "\\~＼", 0 },
	{ "NEC, IBM, user-defined: codes JIS X 0208 has not", CS_SHIFT_JIS, "93FA 8740 FA55 F040 80", "日①￤\uE000\xC2\x80",
	    "日①￤\uE000\xC2\x80", 0 },
	{ "malformed as ever", CS_SHIFT_JIS, "8160 81 3C A0", "～" FFFD "<" FFFD, "〜" FFFD "<" FFFD, 2 },
	{ "JIS X 0208 punctuation", CS_EUC_JP, "A1C1 A1C2 A1DD A1F1 A1F2 A2CC", "～∥－￠￡￢", "〜‖−¢£¬", 0 },
	{ "kana, NEC, IBM, JIS X 0212: codes JIS X 0208 has not", CS_EUC_JP, "8EB1 ADA1 FCF1 8FB0A1 80", "ｱ①ⅰ丂" FFFD, "ｱ①ⅰ丂" FFFD, 1 },
	{ "JIS X 0208 punctuation", CS_ISO_2022_JP, "1B2442 2141 2142 215D 2171 2172 224C", "～∥－￠￡￢", "〜‖−¢£¬", 0 },
	{ "GB 2312 punctuation", CS_GB18030, "A1A4 A1AA A1AA", "·——", "・――", 0 },
	{ "GBK and four bytes: codes GB 2312 has not", CS_GB18030, "E946 80 9439DA33", "镕€💩", "镕€💩", 0 },
	{ "C1 of ISO 8859-1", CS_WINDOWS_1252, "93E994 81", "“é”\xC2\x81", "\xC2\x93é\xC2\x94\xC2\x81", 0 },
	{ "C1 of ISO 8859-9", CS_WINDOWS_1254, "80 FD", "€ı", "\xC2\x80ı", 0 },
	{ "C1 of ISO 8859-11", CS_WINDOWS_874, "A0 A1 80 DB", "\u00A0ก€" FFFD, "\u00A0ก\xC2\x80" FFFD, 1 },
	{ "nothing to differ in", CS_EUC_KR, "C7D1 8141", "한갂", "한갂", 0 },
	{ "no table at all", CS_UTF_8, "C3A9", "é", "é", 0 },
};

static void literal_meaning(void)
{
	for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++)
		for (unsigned literal = 0; literal < 2; literal++) {
			const char *want = literal ? literals[i].literal : literals[i].plain;
			uint8_t in[64], out[256];
			size_t len = decoding_hex(literals[i].in, in);

			for (size_t cut = 0; cut <= len; cut++) {
				uint64_t malformed;
				size_t got = decoding_whole(literals[i].charset, literal ? DECODER_LITERAL : 0, in, len, cut, 64, DECODER_MIN_OUT, out,
				    &malformed);

				UNIT_ROW(got == strlen(want) && memcmp(out, want, got) == 0, "%s, literal %u, cut at %zu: %.*s", literals[i].rule,
				    literal, cut, (int)got, (char *)out);
				UNIT_ROW(malformed == literals[i].malformed, "%s, literal %u: %u", literals[i].rule, literal, (unsigned)malformed);
			}
		}
}

static const struct {
	const char *rule;
	enum charset charset;
	const char *in;
	bool complete, accepts;
	size_t malformed, multibyte;
} trials[] = {
	{ "nothing", CS_UTF_8, "", true, true, 0, 0 },
	{ "ASCII", CS_UTF_8, "6162 0A", true, true, 0, 0 },
	{ "two characters", CS_UTF_8, "C3A9 E282AC", true, true, 0, 2 },
	{ "cut, more to come", CS_UTF_8, "C3A9 E282", false, true, 0, 1 },
	{ "cut at the end", CS_UTF_8, "C3A9 E282", true, false, 1, 1 },
	{ "stray bytes", CS_UTF_8, "C3A9 E9 20 93", true, false, 2, 1 },
	{ "controls are characters", CS_UTF_8, "C285 01 09", true, true, 0, 1 },
	{ "single bytes are no multibyte characters", CS_WINDOWS_1251, "CFF0 98", true, true, 0, 0 },
	{ "hole", CS_WINDOWS_1253, "C1 D2", true, false, 1, 0 },
	{ "kana are single bytes", CS_SHIFT_JIS, "93FA B1 B2", true, true, 0, 1 },
	{ "bad trail", CS_SHIFT_JIS, "93FA 81FD 81", true, false, 2, 1 },
	{ "lead, more to come", CS_SHIFT_JIS, "93FA 81", false, true, 0, 1 },
	{ "ASCII in two bytes", CS_UTF_16LE, "6100 2F04", true, true, 0, 1 },
	{ "lone surrogate", CS_UTF_16LE, "6100 00DC", true, false, 1, 0 },
	{ "escapes", CS_ISO_2022_JP, "1B2442 467C4B5C 1B2842", true, true, 0, 2 },
	{ "escapes in a row and a line end between pairs are careless", CS_ISO_2022_JP, "1B2442 467C 1B2842 1B2442 4B5C 0A", true, true, 0, 2 },
	{ "a high byte and a shift are not", CS_ISO_2022_JP, "1B2442 467C FF 4B5C 0E", true, false, 2, 2 },
	{ "cut escape, more to come", CS_ISO_2022_JP, "1B2442 467C 1B", false, true, 0, 1 },
	{ "cut escape", CS_ISO_2022_JP, "1B2442 467C 1B", true, false, 1, 1 },
};

static void trial(void)
{
	for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
		uint8_t in[64];
		struct decoder_trial seen;

		CU_ASSERT_EQUAL(decoder_try(trials[i].charset, in, decoding_hex(trials[i].in, in), trials[i].complete, &seen), 0);
		UNIT_ROW(seen.accepts == trials[i].accepts, "%s", trials[i].rule);
		UNIT_ROW(seen.malformed == trials[i].malformed, "%s: %zu", trials[i].rule, seen.malformed);
		UNIT_ROW(seen.multibyte == trials[i].multibyte, "%s: %zu", trials[i].rule, seen.multibyte);
	}
}

/* What still is a charset's text: one fault for DECODER_TEXT_PER_FAULT bytes beyond ASCII, or characters of ISO-2022. */
static const struct {
	const char *rule;
	enum charset charset;
	const char *in;
	bool reads;
} few_strays[] = {
	{ "no fault", CS_WINDOWS_1253, "C1 C2", true },
	{ "a hole among four bytes", CS_WINDOWS_1253, "C1C2C3 D2", true },
	{ "a hole among three", CS_WINDOWS_1253, "C1C2 D2", false },
	{ "ASCII does not count", CS_WINDOWS_1253, "61626364 C1C2 D2", false },
	{ "two holes among eight bytes", CS_WINDOWS_1253, "C1C2C3C4C5C6 D2 FF", true },
	{ "half a character", CS_SHIFT_JIS, "93FA 967B 81", true },
	{ "a hole alone", CS_WINDOWS_1255, "D9", false },
	{ "a byte beside characters of ISO-2022", CS_ISO_2022_JP, "1B2442 467C4B5C467C4B5C 1B2842 FF", true },
	{ "a byte beside few of them", CS_ISO_2022_JP, "1B2442 467C4B5C467C 1B2842 FF", false },
};

static void trial_with_strays(void)
{
	for (size_t i = 0; i < sizeof few_strays / sizeof few_strays[0]; i++) {
		uint8_t in[64];
		struct decoder_trial seen;

		CU_ASSERT_EQUAL(decoder_try(few_strays[i].charset, in, decoding_hex(few_strays[i].in, in), true, &seen), 0);
		UNIT_ROW(seen.reads == few_strays[i].reads, "%s: %zu", few_strays[i].rule, seen.malformed);
	}
}

static void freeing_nothing(void)
{
	struct decoder *none = NULL;

	decoder_free(&none);
	CU_ASSERT_PTR_NULL(none);
}

UNIT_SUITE(decoder, { "rows", rows }, { "rows inside text", rows_inside_text }, { "long runs", long_runs },
    { "carry before a long piece", carry_before_a_long_piece },
    { "strays of windows-1252", strays_of_windows_1252 }, { "strays of other sets", strays_of_other_sets }, { "literal meaning", literal_meaning }, { "trial", trial },
    { "trial with strays", trial_with_strays },
    { "freeing nothing", freeing_nothing })
