/* Policy auto on texts in many languages and charsets, mislabelled in many ways: the text must come out. And its path grammar. */
#include "tests/unit/collect.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "core/policy/policy.h"
#include "tests/unit/wide.h"

static const struct {
	const char *language;
	const char *charset;        /* what iconv writes */
	bool lonely;                /* told from its neighbours without any label */
	const char *text;
} texts[] = {
	{ "Russian",    "WINDOWS-1251", true,  "Вечером над рекой поднялся туман, и паром отошёл от берега почти на час позже обычного; пассажиры не жаловались." },
	{ "Russian",    "KOI8-R",       true,  "Вечером над рекой поднялся туман, и паром отошёл от берега почти на час позже обычного; пассажиры не жаловались." },
	{ "Russian",    "ISO-8859-5",   true,  "Вечером над рекой поднялся туман, и паром отошёл от берега почти на час позже обычного; пассажиры не жаловались." },
	{ "Russian",    "CP866",        true,  "Вечером над рекой поднялся туман, и паром отошёл от берега почти на час позже обычного; пассажиры не жаловались." },
	{ "Ukrainian",  "WINDOWS-1251", true,  "Увечері над річкою піднявся туман, і пором відійшов від берега майже на годину пізніше, ніж їхній розклад обіцяв." },
	{ "Ukrainian",  "KOI8-U",       true,  "Увечері над річкою піднявся туман, і пором відійшов від берега майже на годину пізніше, ніж їхній розклад обіцяв." },
	{ "Bulgarian",  "WINDOWS-1251", true,  "Вечерта над реката се вдигна мъгла и фериботът тръгна от брега почти час по-късно от обикновено." },
	{ "Greek",      "ISO-8859-7",   true,  "Το βράδυ σηκώθηκε ομίχλη πάνω από το ποτάμι και το πλοίο έφυγε σχεδόν μία ώρα αργότερα από ό,τι συνήθως." },
	{ "Hebrew",     "WINDOWS-1255", true,  "בערב ירד ערפל על הנהר והמעבורת יצאה מן החוף כמעט שעה אחרי הזמן הרגיל, אבל הנוסעים לא התלוננו." },
	{ "Arabic",     "WINDOWS-1256", true,  "في المساء ارتفع الضباب فوق النهر وغادرت العبارة الشاطئ بعد ساعة تقريبا من موعدها المعتاد ولم يشتك الركاب." },
	{ "Thai",       "CP874",        true,  "ตอนเย็นมีหมอกลงเหนือแม่น้ำ เรือข้ามฟากจึงออกจากฝั่งช้ากว่าปกติเกือบหนึ่งชั่วโมง แต่ผู้โดยสารไม่ได้บ่น" },
	{ "Turkish",    "ISO-8859-9",   false, "Akşam nehrin üstüne sis çöktü ve vapur kıyıdan her zamankinden yaklaşık bir saat geç ayrıldı; yolcular şikâyet etmedi." },
	{ "Polish",     "ISO-8859-2",   true,  "Wieczorem nad rzeką podniosła się mgła i prom odpłynął od brzegu prawie godzinę później niż zwykle; pasażerowie się nie żalili." },
	{ "Polish",     "WINDOWS-1250", true,  "Wieczorem nad rzeką podniosła się mgła i prom odpłynął od brzegu prawie godzinę później niż zwykle; pasażerowie się nie żalili." },
	{ "Czech",      "ISO-8859-2",   false, "Večer se nad řekou zvedla mlha a přívoz odrazil od břehu téměř o hodinu později než obvykle; cestující si nestěžovali." },
	{ "Hungarian",  "ISO-8859-2",   false, "Este köd szállt a folyó fölé, és a komp csaknem egy órával később indult el a partról, mint máskor; az utasok nem zúgolódtak." },
	{ "Romanian",   "ISO-8859-2",   false, "Seara s-a ridicat ceaţa deasupra râului, iar bacul a plecat de la mal cu aproape o oră mai târziu decât de obicei." },
	{ "Croatian",   "WINDOWS-1250", false, "Navečer se nad rijekom digla magla, pa je skela krenula s obale gotovo sat kasnije nego inače; putnici se nisu žalili, čak ni čekajući." },
	{ "Lithuanian", "WINDOWS-1257", false, "Vakare virš upės pakilo rūkas, ir keltas nuo kranto išplaukė beveik valanda vėliau nei įprasta; keleiviai nesiskundė." },
	{ "German",     "ISO-8859-1",   true,  "Abends stieg Nebel über dem Fluß auf, und die Fähre legte fast eine Stunde später ab als üblich; die Fahrgäste murrten nicht." },
	{ "French",     "WINDOWS-1252", true,  "Le soir, la brume s’est levée sur la rivière et le bac a quitté la rive près d’une heure plus tard qu’à l’accoutumée." },
	{ "Spanish",    "ISO-8859-1",   true,  "Al anochecer se levantó la niebla sobre el río y el transbordador zarpó casi una hora más tarde de lo habitual. ¿Y mañana?" },
	{ "Portuguese", "ISO-8859-1",   true,  "Ao anoitecer levantou-se o nevoeiro sobre o rio e a balsa partiu quase uma hora mais tarde; os passageiros não reclamaram." },
	{ "Swedish",    "ISO-8859-1",   true,  "På kvällen steg dimman över älven och färjan lade ut från stranden nästan en timme senare än vanligt." },
	{ "Danish",     "ISO-8859-1",   true,  "Om aftenen lå tågen over åen, og færgen sejlede næsten en time senere end sædvanligt; de rejsende brokkede sig ikke." },
	{ "Icelandic",  "ISO-8859-1",   true,  "Um kvöldið lagðist þoka yfir ána og ferjan fór frá bakkanum nærri klukkustund síðar en venjulega." },
	{ "Japanese",   "CP932",        true,  "夕方、川の上に霧が立ちこめ、渡し船はいつもより一時間近く遅れて岸を離れました。乗客は文句を言いませんでした。" },
	{ "Japanese",   "EUC-JP",       true,  "夕方、川の上に霧が立ちこめ、渡し船はいつもより一時間近く遅れて岸を離れました。乗客は文句を言いませんでした。" },
	{ "Japanese",   "ISO-2022-JP",  true,  "夕方、川の上に霧が立ちこめ、渡し船はいつもより一時間近く遅れて岸を離れました。乗客は文句を言いませんでした。" },
	{ "Chinese",    "GBK",          true,  "傍晚时分，河面上起了大雾，渡船比平常晚了将近一个小时才离开岸边，可是乘客们并没有抱怨。" },
	{ "Chinese",    "BIG5",         true,  "傍晚時分，河面上起了大霧，渡船比平常晚了將近一個小時才離開岸邊，可是乘客們並沒有抱怨。" },
	{ "Korean",     "CP949",        true,  "저녁이 되자 강 위에 안개가 피어올라 나룻배는 평소보다 거의 한 시간 늦게 강가를 떠났지만 승객들은 불평하지 않았다." },
	{ "Russian",    "UTF-8",        true,  "Вечером над рекой поднялся туман, и паром отошёл от берега почти на час позже обычного." },
	{ "French",     "UTF-8",        true,  "Le soir, la brume s’est levée sur la rivière et le bac a quitté la rive près d’une heure plus tard." },
	{ "Japanese",   "UTF-8",        true,  "夕方、川の上に霧が立ちこめ、渡し船はいつもより遅れて岸を離れました。" },
	{ "Greek",      "UTF-16LE",     true,  "Το βράδυ σηκώθηκε ομίχλη πάνω από το ποτάμι." },
	{ "Greek",      "UTF-16BE",     true,  "Το βράδυ σηκώθηκε ομίχλη πάνω από το ποτάμι." },
	{ "Greek",      "UTF-32LE",     true,  "Το βράδυ σηκώθηκε ομίχλη πάνω από το ποτάμι." },
	{ "Greek",      "UTF-32BE",     true,  "Το βράδυ σηκώθηκε ομίχλη πάνω από το ποτάμι." },
	{ "German",     "IBM1047",      true,  "Abends stieg Nebel über dem Fluß auf." },
};

/* decl: "" none, "=" the right one. type: "=" the right charset parameter. */
static const struct {
	const char *trouble, *decl, *type;
	bool bare;                  /* no label tells: only for charsets that are told without */
} troubles[] = {
	{ "right everywhere",                  "=",            "application/xml; charset==", false },
	{ "declared only",                     "=",            "application/xml", false },
	{ "text/xml, declared",                "=",            "text/xml", false },
	{ "server's default us-ascii",         "=",            "text/xml; charset=us-ascii", false },
	{ "server's default iso-8859-1",       "=",            "text/xml; charset=iso-8859-1", false },
	{ "server's default utf-8",            "=",            "application/rss+xml; charset=utf-8", false },
	{ "as a page",                         "=",            "text/html; charset=ISO-8859-1", false },
	{ "as text",                           "=",            "text/plain", false },
	{ "unknown label",                     "=",            "application/xml; charset=x-unknown-8bit", false },
	{ "16 bits claimed",                   "=",            "application/xml; charset=utf-16le", false },
	{ "32 bits claimed",                   "=",            "application/xml; charset=utf-32", false },
	{ "header right, template's label",    "iso-8859-1",   "application/xml; charset==", false },
	{ "header right, template's utf-8",    "utf-8",        "application/xml; charset==", false },
	{ "header right, nothing declared",    "",             "application/rss+xml; charset==", false },
	{ "header's Cyrillic over the right",  "=",            "application/xml; charset=windows-1251", true },
	{ "header's Chinese over the right",   "=",            "application/xml; charset=gb2312", true },
	{ "header's Japanese over the right",  "=",            "application/xml; charset=shift_jis", true },
	{ "nothing anywhere",                  "",             "application/xml", true },
	{ "declared utf-8 wrongly",            "utf-8",        "application/rss+xml", true },
	{ "header's Cyrillic, nothing else",   "",             "application/xml; charset=koi8-r", true },
	{ "header's Chinese, nothing else",    "",             "application/xml; charset=gb2312", true },
};

enum { TEXTS = sizeof texts / sizeof texts[0], TROUBLES = sizeof troubles / sizeof troubles[0], BODY_MAX = 4096 };

static void with_label(char *out, size_t cap, const char *pattern, const char *charset)
{
	size_t n = strlen(pattern);

	if (n > 0 && pattern[n - 1] == '=')
		snprintf(out, cap, "%.*s%s", (int)(n - 1), pattern, charset);
	else
		snprintf(out, cap, "%s", pattern);
}

static size_t decode(enum charset cs, const uint8_t *bytes, size_t len, char *out, size_t cap)
{
	struct decoder *d = decoder_new(cs, 0);
	size_t used, n = 0;

	while (d != NULL && len > 0 && cap - n > 2 * DECODER_MIN_OUT) {
		n += decoder_feed(d, bytes, len, &used, (uint8_t *)out + n, cap - n - DECODER_MIN_OUT);
		bytes += used, len -= used;
	}
	if (d != NULL)
		n += decoder_finish(d, (uint8_t *)out + n, cap - n);
	decoder_free(&d);
	return n;
}

static void check_text(size_t i, size_t k)
{
	char label[64], type[128], decl[128] = "", body[BODY_MAX], out[4 * BODY_MAX], rule[VERDICT_FORMAT_MAX];
	const char *head = "<rss version=\"2.0\"><channel><title>", *tail = "</title><link>http://example.org/</link></channel></rss>\n";
	struct evidence e;
	struct verdict v;
	uint8_t *bytes;
	size_t len = 0, n;

	with_label(label, sizeof label, troubles[k].decl[0] == '=' ? "=" : troubles[k].decl, texts[i].charset);
	if (label[0] != '\0')
		snprintf(decl, sizeof decl, "<?xml version=\"1.0\" encoding=\"%s\"?>\n", label);
	with_label(type, sizeof type, troubles[k].type, texts[i].charset);
	n = (size_t)snprintf(body, sizeof body, "%s%s%s %s%s", decl, head, texts[i].text, texts[i].text, tail);
	bytes = wide_iconv("UTF-8", texts[i].charset, body, n, &len);
	if (!UNIT_ROW(bytes != NULL, "%s in %s", texts[i].language, texts[i].charset))
		return;
	evidence_collect(&e, true, type, strlen(type), CS_NONE, bytes, len, true);
	CU_ASSERT_EQUAL(policy_decide(POLICY_AUTO, &e, &v), 0);
	verdict_format(&v, rule, sizeof rule);
	UNIT_ROW(v.kind == VERDICT_CHARSET && decode(v.charset, bytes, len, out, sizeof out) == n && memcmp(out, body, n) == 0,
	    "%s in %s, %s: %s", texts[i].language, texts[i].charset, troubles[k].trouble, rule);
	free(bytes);
}

static void every_trouble(void)
{
	size_t i, k;

	for (i = 0; i < TEXTS; i++)
		for (k = 0; k < TROUBLES; k++)
			if (texts[i].lonely || !troubles[k].bare)
				check_text(i, k);
}

#define BYTES(s) (s), sizeof(s) - 1

/* The header's value, whole. NULL type: a file. */
static const struct {
	const char *step, *type;
	enum charset forced;
	const char *bytes;
	size_t len;
	const char *value;
} steps[] = {
	{ "external", "text/xml", CS_EUC_JP, BYTES("<r/>"), "auto:external;charset=euc-jp" },
	{ "published alone", "application/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='koi8-r'?><r>\xC1\xC2</r>"),
	    "auto:2.0/1.2;charset=koi8-r" },
	{ "published alone, superset", "application/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='iso-8859-1'?><r>caf\xE9</r>"),
	    "auto:2.0/1.2;charset=windows-1252" },
	{ "published, a file", NULL, CS_NONE, BYTES("<?xml version='1.0' encoding='koi8-r'?><r>\xC1\xC2</r>"), "auto:1.2;charset=koi8-r" },
	{ "only ASCII: published", "text/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='koi8-r'?><r/>"), "auto:2.1;charset=us-ascii" },
	{ "only ASCII, by another name of it", "application/xml; charset=iso-ir-6", CS_NONE, BYTES("<r/>"), "auto:2.5;charset=us-ascii" },
	{ "only ASCII, declared", "application/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='ASCII'?><r/>"), "auto:2.0/1.2;charset=us-ascii" },
	{ "only ASCII, a larger set", "text/plain", CS_NONE, BYTES("<?xml version='1.0' encoding='latin1'?><r/>"),
	    "auto:2.6/lenient-decl;charset=windows-1252" },
	{ "more than ASCII", "text/xml", CS_NONE, BYTES("<r>l'\xE9t\xE9 \x93vu\x94</r>"), "auto:2.1;charset=windows-1252;next=windows-1250;margin=4" },
	{ "only ASCII, 16 bits claimed", "text/xml; charset=utf-16le", CS_NONE, BYTES("<?xml version='1.0' encoding='koi8-r'?><r/>"),
	    "auto:2.5/decl;charset=koi8-r;was=utf-16le" },
	{ "bom", "application/xml; charset=koi8-r", CS_NONE, BYTES("\xEF\xBB\xBF<r>\xD0\xBF</r>"), "auto:2.5/bom;charset=utf-8;was=koi8-r" },
	{ "bom, 16 bits", "text/xml", CS_NONE, BYTES("\xFE\xFF\0<\0r\0/\0>"), "auto:2.1/bom;charset=utf-16be;was=us-ascii" },
	{ "bom, 32 bits", "application/xml", CS_NONE, BYTES("\xFF\xFE\0\0<\0\0\0r\0\0\0/\0\0\0>\0\0\0"), "auto:2.0/1.7+;charset=utf-32le" },
	{ "bom, but a stray byte", "text/xml; charset=koi8-r", CS_NONE, BYTES("\xEF\xBB\xBF<r>\xD0\xBF\xD0\xB0\xD0\xBF\xD0\xB0\xFF</r>"),
	    "auto:2.5/bom;charset=utf-8;was=koi8-r" },
	{ "bom contradicted", "text/xml; charset=koi8-r", CS_NONE, BYTES("\xFF\xFE<?xml version='1.0'?><r>\xC1\xC2</r>"),
	    "auto:2.5;charset=koi8-r" },
	{ "family", "text/xml; charset=utf-8", CS_NONE, BYTES("<\0r\0/\0>\0"), "auto:2.5/family;charset=utf-16le;was=utf-8" },
	{ "family, EBCDIC declared", "text/xml", CS_NONE, BYTES("\x4C\x6F\xA7\x94\x93\x40\x85\x95\x83\x96\x84\x89\x95\x87\x7E\x7F\x83\x97\xF5"
	    "\xF0\xF0\x7F\x6F\x6E\x4C\x99\x61\x6E"), "auto:2.1/family;charset=ibm500;was=us-ascii" },
	{ "extension, EBCDIC declared", "application/xml", CS_NONE, BYTES("\x4C\x6F\xA7\x94\x93\x40\x85\x95\x83\x96\x84\x89\x95\x87\x7E\x7F"
	    "\x83\x97\xF5\xF0\xF0\x7F\x6F\x6E\x4C\x99\x61\x6E"), "auto:2.0/1.2+;charset=ibm500" },
	{ "extension, EBCDIC bare", "application/xml", CS_NONE, BYTES("\x4C\x6F\xA7\x94\x93\x6F\x6E\x4C\x99\x61\x6E"),
	    "auto:2.0/1.2+;charset=ibm037" },
	{ "utf8", "text/xml; charset=windows-1251", CS_NONE, BYTES("<?xml version='1.0' encoding='koi8-r'?><r>\xD0\xBF</r>"),
	    "auto:2.5/utf8;charset=utf-8;was=windows-1251" },
	{ "a sign behind a capital, as the labels say", "text/xml; charset=windows-1252", CS_NONE, BYTES("<?xml version='1.0' encoding='windows-1252'?><r>ANDR\xC9\x92S CAF\xC9</r>"),
	    "auto:2.5;charset=windows-1252" },
	{ "and nothing else beyond ASCII", "text/xml; charset=windows-1252", CS_NONE, BYTES("<?xml version='1.0' encoding='windows-1252'?><r>ANDR\xC9\x92S</r>"),
	    "auto:2.5;charset=windows-1252" },
	{ "a letter that is UTF-8 under the same labels", "text/xml; charset=windows-1252", CS_NONE, BYTES("<?xml version='1.0' encoding='windows-1252'?><r>Caf\xC3\xA9</r>"),
	    "auto:2.5/utf8;charset=utf-8;was=windows-1252" },
	{ "characters that look like UTF-8", "text/xml; charset=gb18030", CS_NONE, BYTES("<?xml version='1.0' encoding='gb18030'?><r>\xCE\xAA\xCA\xB2\xC3\xB4</r>"),
	    "auto:2.5;charset=gb18030" },
	{ "utf8 but for a byte", "text/xml; charset=windows-1251", CS_NONE, BYTES("<r>\xD0\xBF\xD0\xB0\xD0\xBF\xD0\xB0 \xC0</r>"),
	    "auto:2.5/utf8;charset=utf-8;was=windows-1251" },
	{ "mixed", "text/xml", CS_NONE, BYTES("<r><a>\xCF\xF0\xE8\xE2\xE5\xF2, \xCC\xEE\xF1\xEA\xE2\xE0</a><b>Москва</b></r>"),
	    "auto:2.1/mixed;charset=utf-8;was=us-ascii;also=windows-1251;mixed=1" },
	{ "mixed, as published", "text/xml; charset=utf-8", CS_NONE, BYTES("<r><a>\xCF\xF0\xE8\xE2\xE5\xF2, \xCC\xEE\xF1\xEA\xE2\xE0</a><b>Москва</b></r>"),
	    "auto:2.5;charset=utf-8;also=windows-1251;mixed=1" },
	{ "mixed, a label of some of it", "text/xml; charset=koi8-u", CS_NONE, BYTES("<r><a>\xF0\xD2\xC9</a><b>Москва, Санкт-Петербург</b></r>"),
	    "auto:2.5/mixed;charset=utf-8;was=koi8-u;also=koi8-u;mixed=1" },
	{ "mixed, a label of most", "text/xml; charset=koi8-r", CS_NONE, BYTES("<r><a>\xF0\xD2\xC9\xD7\xC5\xD4 \xC9\xDA \xED\xCF\xD3\xCB\xD7\xD9</a><b>Москва</b></r>"),
	    "auto:2.5/mixed;charset=utf-8;was=koi8-r;also=koi8-r;mixed=1" },
	{ "a label of all, with an accident", "text/xml; charset=windows-1251", CS_NONE, BYTES("<r><a>\xCA\xF3\xF0\xF1 \xC5\xC2\xD0\xCE\xBB</a><b>\xCF\xF0\xE8\xE2\xE5\xF2</b></r>"),
	    "auto:2.5;charset=windows-1251" },
	{ "utf8, one character and three stray bytes", "application/xml; charset=utf-8", CS_NONE, BYTES("<?xml version='1.0' encoding='utf-8'?><r>It\x92s a caf\xC3\xA9 in S\xE3""o Paulo, Gr\xFCner</r>"),
	    "auto:2.5;charset=utf-8" },
	{ "a pair of surrogates", "application/xml", CS_NONE, BYTES("<r>so \xED\xA0\xBD\xED\xB8\x80</r>"), "auto:2.0/1.0;charset=utf-8" },
	{ "decl over the server's default, though there are but signs", "text/xml; charset=iso-8859-1", CS_NONE, BYTES("<?xml version='1.0' encoding='iso-8859-2'?><r>\xAFubr</r>"),
	    "auto:2.5/decl;charset=iso-8859-2;was=iso-8859-1" },
	{ "a thoughtless label, right", "text/xml; charset=iso-8859-1", CS_NONE, BYTES("<?xml version='1.0' encoding='iso-8859-1'?><r>News about \xD8 today</r>"), "auto:2.5;charset=windows-1252" },
	{ "and of a language without a model", "text/xml; charset=iso-8859-1", CS_NONE, BYTES("<?xml version='1.0' encoding='iso-8859-1'?><r>Nit \xF1""epp danuy juddu yam ci teraanga</r>"), "auto:2.5;charset=windows-1252" },
	{ "katakana of half width, of which some pairs are UTF-8", "application/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='shift_jis'?><r>\xC6\xAD\xB0\xBD/\xD2\xB0\xD9/\xD7\xB2\xCC\xDE/\xBB\xB2\xC4/\xCE\xC3\xD9/"
	    "\xD5\xB0\xBB\xDE\xB0/\xB9\xDE\xB0\xD1/\xD7\xB0\xD2\xDD/\xC1\xB9\xAF\xC4/\xD2\xB0\xB6\xB0/\xD9\xB0\xD9/\xDB\xB0\xDD</r>"), "auto:2.0/1.2;charset=shift_jis" },
	{ "bom contradicted by the order of the bytes", "text/xml", CS_NONE, BYTES("\xFE\xFF<\0r\0/\0>\0"), "auto:2.1/family;charset=utf-16le;was=us-ascii" },
	{ "decl, but the quotes are those of a sister", "application/xml", CS_NONE,
	    BYTES("<?xml version='1.0' encoding='iso-8859-15'?><r>d\xE9j\xE0 l'\xE9t\xE9 \xE0 la mer, \x93vu\x94 d\x92\xE9t\xE9, \x93oui\x94 et \x93non\x94</r>"),
	    "auto:2.0/1.2/guess;charset=windows-1252;was=iso-8859-15" },
	{ "decl, and quotes pasted from Windows", "application/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='iso-8859-2'?><r>Vl\xE1""da dnes schv\xE1lila \x84n\xE1vrh\x93 z\xE1kona o p\xF8\xED\xB9t\xEDm rozpo\xE8tu. \xAE\xE1""ci se vr\xE1t\xED \x84v \xFAter\xFD\x93</r>"),
	    "auto:2.0/1.2;charset=iso-8859-2" },
	{ "decl, and quotes of the sister that the letters are of", "application/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='iso-8859-2'?><r>Vl\xE1""da dnes schv\xE1lila \x84n\xE1vrh\x93 z\xE1kona o p\xF8\xED\x9At\xEDm rozpo\xE8tu. \x8E\xE1""ci se vr\xE1t\xED \x84v \xFAter\xFD\x93</r>"),
	    "auto:2.0/1.2/guess;charset=windows-1250;was=iso-8859-2" },
	{ "decl, but some letters are those of a sister", "text/xml", CS_NONE,
	    BYTES("<?xml version='1.0' encoding='windows-1250'?><r>P\xF8\xEDli\xB9 \xBElu\xBBou\xE8k\xFD k\xF9\xF2 \xFAp\xECl \xEF\xE1""belsk\xE9 \xF3""dy, \xB9""est \xBE""en a v\xB9ichni ti lid\xE9 "
	    "je\xB9t\xEC nep\xF8i\xB9li, proto\xBE""e \xBEili v Pra\xBEsk\xE9 ulici</r>"), "auto:2.1/guess;charset=iso-8859-2;was=us-ascii" },
	{ "decl", "text/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='koi8-r'?><r>\xC1\xC2</r>"), "auto:2.1/decl;charset=koi8-r;was=us-ascii" },
	{ "decl, hidden", "application/xml", CS_NONE, BYTES("\n<?xml version='1.0' encoding='koi8-r'?><r>\xC1\xC2</r>"),
	    "auto:2.0/1.0/decl;charset=koi8-r;was=utf-8" },
	{ "decl, malformed", "application/xml", CS_NONE, BYTES("<?xml encoding=koi8-r?><r>\xC1\xC2</r>"), "auto:2.0/1.0/decl;charset=koi8-r;was=utf-8" },
	{ "decl, malformed and not closed", "application/xml", CS_NONE, BYTES("<?XML version=1.0 charset=koi8-r\n<r>\xC1\xC2</r>"),
	    "auto:2.0/1.0/decl;charset=koi8-r;was=utf-8" },
	{ "decl, the second of two", "application/xml", CS_NONE,
	    BYTES("<?xml version='1.0' encoding='utf-8'?>\n<?xml version='1.0' encoding='koi8-r'?><r>\xC1\xC2</r>"), "auto:2.0/1.2/decl;charset=koi8-r;was=utf-8" },
	{ "decl, the first of two", "application/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='koi8-r'?><?xml version='1.0' encoding='koi8-u'?><r>\xC1\xC2</r>"),
	    "auto:2.0/1.2;charset=koi8-r" },
	{ "http", "text/html; charset=koi8-r", CS_NONE, BYTES("<?xml version='1.0' encoding='utf-8'?><r>\xC1\xC2</r>"),
	    "auto:2.6/lenient-html/2.5;charset=koi8-r" },
	{ "http, over a declaration", "text/plain; charset=koi8-r", CS_NONE, BYTES("<?xml version='1.0' encoding='utf-8'?><r>\xC1\xC2</r>"),
	    "auto:2.6/lenient-decl/http;charset=koi8-r;was=utf-8" },
	{ "guess", "application/xml", CS_NONE, BYTES("<r>caf\xE9</r>"), "auto:2.0/1.0/guess;charset=windows-1252;was=utf-8;next=iso-8859-15;margin=2" },
	{ "fallback", "application/xml", CS_NONE, BYTES("<r>\x81\x8D\x8F\x90\x9D</r>"), "auto:2.0/1.0/fallback;charset=windows-1252;was=utf-8" },
	{ "fallback, label unknown", "text/xml; charset=x-bogus", CS_NONE, BYTES("<r>\x81\x8D\x8F\x90\x9D</r>"), "auto:2.5/fallback;charset=windows-1252" },
	{ "no text under the label", "text/xml; charset=windows-1251", CS_NONE,
	    BYTES("<?xml version='1.0' encoding='iso-8859-1'?><r>caf\xE9 d\xE9j\xE0 vu</r>"), "auto:2.5/decl;charset=windows-1252;was=windows-1251" },
	{ "a label's text, said often", "text/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='windows-1251'?><r><t>S7 \xFF</t><t>S8 \xFF</t>"
	    "<t>S1 \xFF</t><t>S2 \xFF</t><t>S3 \xFF</t><t>S4 \xFF</t><t>S5 \xFF</t><t>S6 \xFF</t><t>S0 \xFF</t><t>T1 \xFF</t><t>T2 \xFF</t></r>"),
	    "auto:2.1/decl;charset=windows-1251;was=us-ascii" },
	{ "a stray byte under labels that agree", "text/xml; charset=windows-1255", CS_NONE, BYTES("<?xml version='1.0' encoding='windows-1255'?><r>\xE1\xF2\xF8\xE1 \xE9\xF8\xE3 \xF2\xF8\xF4\xEC \xF2\xEC \xE4\xF0\xE4\xF8\xD9</r>"),
	    "auto:2.5;charset=windows-1255" },
	{ "a stray byte under a declaration", "application/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='iso-8859-7'?><r>\xD4\xEF \xE2\xF1\xDC\xE4\xF5 \xF3\xE7\xEA\xFE\xE8\xE7\xEA\xE5 \xEF\xEC\xFF\xDF\xF7\xEB\xE7 \xF0\xDC\xED\xF9 \xE1\xF0\xFC \xF4\xEF \xF0\xEF\xF4\xDC\xEC\xE9</r>"),
	    "auto:2.0/1.2;charset=iso-8859-7" },
	{ "a stray byte under a header", "text/xml; charset=iso-8859-6", CS_NONE, BYTES("<r>\xE1\xEA \xC7\xE4\xE5\xD3\xC7\xC1 \xC7\xD1\xCA\xE1\xD9 \xC7\xE4\xD6\xC8\xC7\xC8 \xE1\xE8\xE2 \xC7\xE4\xE6\xE7\xD1\xFF</r>"),
	    "auto:2.5;charset=iso-8859-6" },
	{ "a stray byte and no label", "application/xml", CS_NONE, BYTES("<r>\xE1\xF2\xF8\xE1 \xE9\xF8\xE3 \xF2\xF8\xF4\xEC \xF2\xEC \xE4\xF0\xE4\xF8\xFF</r>"),
	    "auto:2.0/1.0/guess;charset=windows-1255;was=utf-8;next=iso-8859-8;margin=0" },
	{ "half a character", "text/xml; charset=euc-kr", CS_NONE, BYTES("<?xml version='1.0' encoding='euc-kr'?><r>\xC0\xFA\xB3\xE1\xC0\xCC \xB5\xC7\xC0\xDA \xB0\xAD \xC0\xA7\xBF\xA1 \xBE\xC8\xB0\xB3\xB0\xA1 \xC7\xC7\xBE\xEE\xBF\xC3\xB6</r>"),
	    "auto:2.5;charset=euc-kr" },
	{ "half a character and no label", "application/xml", CS_NONE, BYTES("<r>\xC0\xFA\xB3\xE1\xC0\xCC \xB5\xC7\xC0\xDA \xB0\xAD \xC0\xA7\xBF\xA1 \xBE\xC8\xB0\xB3\xB0\xA1 \xC7\xC7\xBE\xEE\xBF\xC3\xB6</r>"),
	    "auto:2.0/1.0/guess;charset=euc-kr;was=utf-8" },
	{ "a stray byte beside escapes", "text/xml; charset=iso-2022-jp", CS_NONE, BYTES("<?xml version='1.0' encoding='iso-2022-jp'?><r>\x1B$BM<J}!\"@n$N>e$KL8$,N)$A$3$a\x1B(B\xA0</r>"),
	    "auto:2.5;charset=iso-2022-jp" },
	{ "a character of UTF-8 beside escapes under their label", "text/xml; charset=iso-2022-jp", CS_NONE, BYTES("<?xml version='1.0' encoding='iso-2022-jp'?><r>\x1B$BM<J}!\"@n$N>e$KL8$,N)$A$3$a\x1B(B\xE2\x80\x99</r>"),
	    "auto:2.5;charset=iso-2022-jp" },
	{ "UTF-8 beside escapes under no label of them", "text/xml; charset=utf-8", CS_NONE, BYTES("<?xml version='1.0' encoding='utf-8'?><r>\xE5\xA4\x95\xE6\x96\xB9\xE2\x80\x99\x1B$BM<J}!\"@n$N>e$KL8$,N)$A$3$a\x1B(B</r>"),
	    "auto:2.5;charset=utf-8" },
	{ "a sign that the label has not, but a sister of it", "text/xml; charset=iso-8859-7", CS_NONE, BYTES("<?xml version='1.0' encoding='iso-8859-7'?><r>\xD4\xEF \xE2\xF1\xDC\xE4\xF5 \xF3\xE7\xEA\xFE\xE8\xE7\xEA\xE5 \xEF\xEC\xDF\xF7\xEB\xE7 \xF0\xDC\xED\xF9 \xE1\xF0\xFC \xF4\xEF \xF0\xEF\xF4\xDC\xEC\xE9 \xAE</r>"),
	    "auto:2.5/guess;charset=windows-1253;was=iso-8859-7;next=iso-8859-7;margin=2" },
	{ "a few letters of an alphabet that the feed's language has", "text/xml; charset=iso-8859-1", CS_NONE, BYTES("<?xml version='1.0' encoding='iso-8859-1'?><r><t>\xED\xE0\xE4</t><language>ru</language></r>"),
	    "auto:2.5/guess+lang;charset=windows-1251;was=iso-8859-1;next=windows-1252;margin=1" },
	{ "a rare label weighs no more than another one", "application/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='macintosh'?><r>Die B\xE4""der \xF6""ffnen fr\xFCher</r>"),
	    "auto:2.0/1.2/guess;charset=windows-1252;was=macintosh;next=windows-1250;margin=1" },
	{ "one byte in three is a stray one", "text/xml; charset=iso-8859-8", CS_NONE, BYTES("<?xml version='1.0' encoding='iso-8859-8'?><r>\xE0\xE1 \xCF</r>"),
	    "auto:2.5/guess;charset=windows-1251;was=iso-8859-8;next=iso-8859-5;margin=3" },
	{ "another text under a label that has not some of its letters", "text/xml; charset=iso-8859-8", CS_NONE, BYTES("<?xml version='1.0' encoding='iso-8859-8'?><r>Ve\xE8""er se nad \xF8""ekou zvedla mlha a p\xF8\xEDvoz odrazil od b\xF8""ehu t\xE9m\xEC\xF8 o hodinu pozd\xECji</r>"),
	    "auto:2.5/guess;charset=windows-1250;was=iso-8859-8;next=iso-8859-2;margin=0" },
	{ "Cyrillic letters under a label that has not some of them", "text/xml; charset=windows-1253", CS_NONE, BYTES("<?xml version='1.0' encoding='windows-1253'?><r>\xC2\xE5\xF7\xE5\xF0\xEE\xEC \xED\xE0\xE4 \xF0\xE5\xEA\xEE\xE9 \xEF\xEE\xE4\xED\xFF\xEB\xF1\xFF \xF2\xF3\xEC\xE0\xED, \xE8 \xD2\xE0\xEC\xE0\xF0\xE0</r>"),
	    "auto:2.5/guess;charset=windows-1251;was=windows-1253" },
	{ "French under a Hebrew label", "text/xml; charset=windows-1255", CS_NONE, BYTES("<?xml version='1.0' encoding='windows-1255'?><r>Le soir, la brume s\x92""est lev\xE9""e; o\xF9 \xE7\xE0, plus t\xF4t, No\xEBl, f\xFBt-il d\xFB</r>"),
	    "auto:2.5/guess;charset=windows-1252;was=windows-1255" },
	{ "mixed, half a character in the others", "text/xml; charset=utf-8", CS_NONE, BYTES("<?xml version='1.0' encoding='utf-8'?><r><a>\xC0\xFA\xB3\xE1\xC0\xCC \xB5\xC7\xC0\xDA \xB0\xAD \xC0\xA7\xBF\xA1 \xBE\xC8\xB0\xB3\xB0\xA1 \xC7\xC7\xBE\xEE\xBF\xC3\xB6</a><b>\xEC\xA0\x80\xEB\x85\x81\xEC\x9D\xB4 \xEB\x90\x98\xEC\x9E\x90 \xEA\xB0\x95 \xEC\x9C\x84\xEC\x97\x90</b></r>"),
	    "auto:2.5;charset=utf-8;also=euc-kr;mixed=1" },
	{ "escapes, undeclared", "text/xml; charset=utf-8", CS_NONE, BYTES("<r>\x1B$B$3\x1B(B</r>"), "auto:2.5/escapes;charset=iso-2022-jp;was=utf-8" },
	{ "escapes, false declaration", "application/xml", CS_NONE, BYTES("<?xml version='1.0' encoding='euc-jp'?><r>\x1B$@$3\x1B(J</r>"),
	    "auto:2.0/1.2/escapes;charset=iso-2022-jp;was=euc-jp" },
	{ "escapes, JIS X 0212", "application/xml; charset=iso-2022-jp", CS_NONE, BYTES("<r>\x1B$(D0!\x1B(B</r>"),
	    "auto:2.5/escapes;charset=iso-2022-jp-2;was=iso-2022-jp" },
	{ "escapes, the label's wider set", "application/xml; charset=iso-2022-jp-2", CS_NONE, BYTES("<r>\x1B$B$3\x1B(B</r>"),
	    "auto:2.5;charset=iso-2022-jp-2" },
	{ "escapes, Korean", "text/xml", CS_NONE, BYTES("<r>\x1B$)C\x0EGQ1[\x0F</r>"), "auto:2.1/escapes;charset=iso-2022-kr;was=us-ascii" },
	{ "escapes among those of a terminal", "text/xml", CS_NONE, BYTES("<r>\x1B[1m\x1B$B$3$K\x1B(B</r>"),
	    "auto:2.1/escapes;charset=iso-2022-jp;was=us-ascii" },
	{ "escapes in a row", "application/xml", CS_NONE, BYTES("<r>\x1B$B$3\x1B(B\x1B$B$3\x1B(B</r>"), "auto:2.0/1.0/escapes;charset=iso-2022-jp;was=utf-8" },
	{ "escapes of a terminal", "text/xml", CS_NONE, BYTES("<r>\x1B[1m\x1B(B\x1B[m</r>"), "auto:2.1;charset=us-ascii" },
	{ "escapes", "text/xml; charset=utf-8", CS_NONE,
	    BYTES("<?xml version='1.0' encoding='iso-2022-jp'?><r>\x1B$B$3$s$K$A$O\x1B(B</r>"), "auto:2.5/decl;charset=iso-2022-jp;was=utf-8" },
};

static void every_step(void)
{
	char value[VERDICT_FORMAT_MAX];
	struct evidence e;
	struct verdict v;
	size_t i;

	for (i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		evidence_collect(&e, steps[i].type != NULL, steps[i].type, steps[i].type == NULL ? 0 : strlen(steps[i].type),
		    steps[i].forced, (const uint8_t *)steps[i].bytes, steps[i].len, true);
		CU_ASSERT_EQUAL(policy_decide(POLICY_AUTO, &e, &v), 0);
		verdict_format(&v, value, sizeof value);
		UNIT_ROW(strcmp(value, steps[i].value) == 0, "%s: %s", steps[i].step, value);
	}
}

UNIT_SUITE(policy_auto, { "every trouble", every_trouble }, { "every step", every_step })
