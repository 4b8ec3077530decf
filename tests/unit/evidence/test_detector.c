/* The statistics of letters: models that are whole, samples, hints, and what the detector makes of texts. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "core/evidence/detector.h"
#include "core/evidence/sample.h"
#include "tests/unit/wide.h"

/* A row for each character and the token that it is. */
static const struct {
	const char *rule;
	uint32_t character;
	unsigned token, flag;
} tokens[] = {
	{ "space", ' ', TOKEN_BREAK, 0 },
	{ "digit", '7', TOKEN_BREAK, 0 },
	{ "small ASCII letter", 'c', TOKEN_A + 2, TOKEN_SMALL },
	{ "capital ASCII letter", 'C', TOKEN_A + 2, TOKEN_CAPITAL },
	{ "C1 control", 0x85, TOKEN_CONTROL, 0 },
	{ "no-break space", 0xA0, TOKEN_NO_BREAK, 0 },
	{ "opening quote", 0x201C, TOKEN_OPEN, 0 },
	{ "apostrophe", 0x2019, TOKEN_CLOSE, 0 },
	{ "square", 0xB2, TOKEN_SIGN, 0 },
	{ "multiplication sign among letters", 0xD7, TOKEN_SIGN_FEW, 0 },
	{ "box drawing", 0x2550, TOKEN_SIGN_RARE, 0 },
	{ "Latin-1 capital", 0xC9, TOKEN_LETTER_0x00E9, TOKEN_CAPITAL },
	{ "sharp s", 0xDF, TOKEN_LETTER_0x00DF, TOKEN_SMALL },
	{ "even capital", 0x104, TOKEN_LETTER_0x0105, TOKEN_CAPITAL },
	{ "odd capital", 0x141, TOKEN_LETTER_0x0142, TOKEN_CAPITAL },
	{ "its small letter", 0x142, TOKEN_LETTER_0x0142, TOKEN_SMALL },
	{ "Y with diaeresis", 0x178, TOKEN_LETTER_0x00FF, TOKEN_CAPITAL },
	{ "Welsh capital", 0x1E80, TOKEN_LETTER_0x1E81, TOKEN_CAPITAL },
	{ "dotless i", 0x131, TOKEN_LETTER_0x0131, TOKEN_SMALL },
	{ "Greek capital with tonos", 0x38C, TOKEN_LETTER_0x03CC, TOKEN_CAPITAL },
	{ "Greek capital", 0x3A9, TOKEN_LETTER_0x03C9, TOKEN_CAPITAL },
	{ "Cyrillic capital", 0x416, TOKEN_LETTER_0x0436, TOKEN_CAPITAL },
	{ "Ukrainian capital", 0x404, TOKEN_LETTER_0x0454, TOKEN_CAPITAL },
	{ "Hebrew letter", 0x5D0, TOKEN_LETTER_0x05D0, 0 },
	{ "Georgian letter", 0x10D0, TOKEN_STRANGER, 0 },
	{ "ideograph", 0x4E2D, TOKEN_HAN, 0 },
	{ "replacement character", 0xFFFD, TOKEN_BAD, 0 },
};

static void token_rows(void)
{
	for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
		UNIT_ROW(letters_token(tokens[i].character) == (tokens[i].token | tokens[i].flag), "%s: %#x", tokens[i].rule,
		    letters_token(tokens[i].character));
}

/* Every model reads every pair of tokens, and every language has its tag, which names it unless it is a background's. */
static void models(void)
{
	uint16_t pair[2];

	for (int l = 0; l < LANGUAGE_COUNT; l++) {
		const char *tag = language_tag((enum language)l);
		bool is_background = strncmp(tag, "mul-", 4) == 0;

		UNIT_ROW(language_of_tag(tag, strlen(tag)) == (is_background ? LANGUAGE_NONE : (enum language)l), "%s", tag);
		for (unsigned a = 0; a < TOKEN_COUNT && l < LANGUAGE_HAN; a++)
			for (unsigned b = 0; b < TOKEN_COUNT; b++) {
				pair[0] = (uint16_t)a, pair[1] = (uint16_t)b;
				if (language_cost((enum language)l, pair, 2).all > 1000)
					UNIT_ROW(false, "%s: %u %u", tag, a, b);
			}
	}
}

static const struct {
	const char *tag;
	enum language language;
} tags[] = {
	{ "pl", LANGUAGE_PL }, { "PL-pl", LANGUAGE_PL }, { "pt-BR", LANGUAGE_PT }, { "zh", LANGUAGE_ZH }, { "zh_TW", LANGUAGE_ZH_TW },
	{ "zh-Hant-HK", LANGUAGE_ZH_TW }, { "zh-CN", LANGUAGE_ZH }, { "nn-NO", LANGUAGE_NN }, { "no", LANGUAGE_NB }, { "iw", LANGUAGE_HE },
	{ "ji", LANGUAGE_YI }, { "plx", LANGUAGE_NONE }, { "mul", LANGUAGE_NONE }, { "mul-Latn", LANGUAGE_NONE }, { "p", LANGUAGE_NONE }, { "", LANGUAGE_NONE },
};

static void tag_rows(void)
{
	for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
		UNIT_ROW(language_of_tag(tags[i].tag, strlen(tags[i].tag)) == tags[i].language, "%s", tags[i].tag);
}

/* What is said of a feed's language: the languages that get weight, in the order of their tags here. */
static const struct {
	const char *rule, *feed, *url, *content_language, *languages;
} hints[] = {
	{ "nothing", "<rss>", NULL, NULL, "" },
	{ "language", "<rss><language>pl-PL</language>", NULL, NULL, "pl" },
	{ "dc:language", "<dc:language>cs</dc:language>", NULL, NULL, "cs" },
	{ "xml:lang", "<feed xml:lang='hu'>", NULL, NULL, "hu" },
	{ "English says nothing", "<language>en-us</language>", NULL, NULL, "" },
	{ "link's country", "<link>http://www.example.gr/a</link>", NULL, NULL, "el" },
	{ "a country of two", "<link>https://example.ua</link>", NULL, NULL, "ru uk" },
	{ "a language's domain", "<link>https://example.cymru</link>", NULL, NULL, "cy" },
	{ "a tag of a rare language", "<language>yi</language>", NULL, NULL, "yi" },
	{ "host with a port", "<link>https://example.ro:8080/</link>", NULL, NULL, "ro" },
	{ "no country", "<link>http://www.example.com/pl/</link>", NULL, NULL, "" },
	{ "a path that looks like one", "<link>http://localhost/a.pl</link>", NULL, NULL, "" },
	{ "the URL", "<rss>", "http://feeds.example.tr/rss", NULL, "tr" },
	{ "the URL with a port", "<rss>", "http://feeds.example.lv:8080/rss", NULL, "lv" },
	{ "the URL has no country", "<rss>", "http://feeds.test/rss.lv", NULL, "" },
	{ "the URL is an address", "<rss>", "http://127.0.0.1:80/", NULL, "" },
	{ "the link's country comes before the URL's", "<link>http://a.lt/</link>", "http://a.lv/rss", NULL, "lt" },
	{ "a link without a country does not", "<link>http://a.com/</link>", "http://a.lv/rss", NULL, "lv" },
	{ "Content-Language", "<rss>", NULL, "lv-LV", "lv" },
	{ "Content-Language beside English", "<rss>", NULL, "en, bg;q=0.5 , en-gb", "bg" },
	{ "Content-Language, one language twice", "<rss>", NULL, "lt,lt-LT", "lt" },
	{ "Content-Language, several", "<rss>", NULL, "en, bg;q=0.5 , mk", "" },
	{ "Content-Language, one of several without a model", "<rss>", NULL, "bg, ga", "" },
	{ "Content-Language is English", "<rss>", NULL, "en-US", "" },
	{ "Content-Language without a tag", "<rss>", NULL, " , ;q=1", "" },
	{ "the feed's language comes first", "<language>lt</language>", NULL, "lv", "lt" },
	{ "a feed in English does not", "<language>en</language>", NULL, "lv", "lv" },
	{ "the link's country is no language", "<link>http://a.lt/</link>", NULL, "lv", "lt lv" },
	{ "cut", "<rss><language>p", NULL, NULL, "" },
	{ "the mark at the end", "<rss><language>", NULL, NULL, "" },
};

static void hint_rows(void)
{
	for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
		struct hints h = { { 0 } };
		char got[256] = "";
		size_t n = 0;

		hints_read_feed(&h, (const uint8_t *)hints[i].feed, strlen(hints[i].feed));
		hints_read_told(&h, &(struct hints_told){ hints[i].content_language,
			hints[i].content_language == NULL ? 0 : strlen(hints[i].content_language), hints[i].url });
		/* the rows name tags in the order of their letters */
		for (char a = 'a'; a <= 'z'; a++)
			for (char b = 'a'; b <= 'z'; b++)
				for (int l = 0; l < LANGUAGE_COUNT; l++)
					if (h.weight[l] != 0 && language_tag((enum language)l)[0] == a && language_tag((enum language)l)[1] == b)
						n += (size_t)snprintf(got + n, sizeof got - n, "%s%s", n ? " " : "", language_tag((enum language)l));
		UNIT_ROW(strcmp(got, hints[i].languages) == 0, "%s: %s", hints[i].rule, got);
	}
}

/* What hints weigh, in nats: what is said twice counts once. */
static const struct {
	const char *rule, *feed, *url, *content_language;
	int weight;
} weights[] = {
	{ "a language", "<language>lv</language>", NULL, NULL, 4 },
	{ "a country", "<link>http://a.lv/</link>", NULL, NULL, 3 },
	{ "Content-Language", "<rss>", NULL, "lv", 4 },
	{ "the URL's country", "<rss>", "http://a.lv/", NULL, 3 },
	{ "the same language twice", "<language>lv</language>", NULL, "lv", 4 },
	{ "the same country twice", "<link>http://a.lv/</link>", "http://b.lv/", NULL, 3 },
	{ "language and country", "<rss>", "http://a.lv/", "lv", 7 },
	{ "all four", "<language>lv</language><link>http://a.lv/</link>", "http://a.lv/", "lv", 7 },
};

static void weight_rows(void)
{
	for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++) {
		struct hints h = { { 0 } };

		hints_read_feed(&h, (const uint8_t *)weights[i].feed, strlen(weights[i].feed));
		hints_read_told(&h, &(struct hints_told){ weights[i].content_language,
			weights[i].content_language == NULL ? 0 : strlen(weights[i].content_language), weights[i].url });
		UNIT_ROW(h.weight[LANGUAGE_LV] == weights[i].weight * LANGUAGE_NAT, "%s: %d", weights[i].rule, h.weight[LANGUAGE_LV]);
	}
}

/* Texts of our own, and the charset of each. The detector must read them right by themselves, without labels. */
static const struct {
	const char *charset, *text;
} texts[] = {
	{ "windows-1250", "Zażółć gęślą jaźń, rzekł źrebak do łosia pod Łodzią." },
	{ "iso-8859-2", "Příliš žluťoučký kůň úpěl ďábelské ódy, řekl šéf." },
	{ "windows-1250", "Árvíztűrő tükörfúrógép és más, őszintén szólva." },
	{ "iso-8859-2", "În această dimineaţă guvernul şi-a prezentat măsurile." },
	{ "windows-1251", "Сегодня утром правительство представило новые меры." },
	{ "koi8-r", "Сегодня утром правительство представило новые меры." },
	{ "ibm866", "Сегодня утром правительство представило новые меры." },
	{ "windows-1251", "Уряд сьогодні вранці представив нові заходи підтримки." },
	{ "windows-1252", "Le gouvernement a présenté ce matin des mesures très attendues à l'étranger." },
	{ "windows-1252", "Die Regierung hat heute früh neue Maßnahmen für Bürger vorgestellt." },
	{ "windows-1252", "Ríkisstjórnin kynnti í morgun nýjar aðgerðir fyrir þjóðina." },
	{ "windows-1253", "Η κυβέρνηση παρουσίασε σήμερα τα νέα μέτρα για την οικονομία." },
	{ "windows-1254", "Hükümet bu sabah yeni önlemleri açıkladı, değişiklikler şöyle." },
	{ "windows-1255", "הממשלה הציגה הבוקר צעדים חדשים לכלכלה" },
	{ "windows-1250", "Wčera je so serbski dom w Budyšinje nowy kulturny tydźeń započał, je předsyda rjekł." },
	{ "windows-1255", "די רעגירונג האָט הײַנט פֿאָרגעשטעלט נײַע מיטלען פֿאַר דער ווירטשאַפֿט" },
	{ "windows-1252", "Dywedodd y dyn â’r gôt fod y môr yn wyllt a bod y trên yn hwyr eto." },
	{ "windows-1252", "Thuirt an riaghaltas an-diugh gu bheil obair ùr a’ tòiseachadh às ùr." },
	{ "windows-1252", "Ar gouarnamant en deus kinniget diaes ar mintin-mañ un steuñv nevez e brezhoneg pemdezañ." },
	{ "windows-1256", "قدمت الحكومة صباح اليوم إجراءات جديدة للاقتصاد" },
	{ "windows-1257", "Vyriausybė šįryt pristatė naujas priemones žmonėms." },
	{ "windows-1257", "Valdība šorīt iepazīstināja ar jauniem pasākumiem." },
	{ "windows-874", "รัฐบาลเสนอมาตรการใหม่เมื่อเช้านี้" },
	{ "shift_jis", "政府は今朝、新しい対策を発表しました。" },
	{ "euc-jp", "政府は今朝、新しい対策を発表しました。" },
	{ "gb18030", "政府今天上午公布了新的措施，支持国家经济发展。" },
	{ "big5", "政府今天上午公布了新的措施，支持國家經濟發展。" },
	{ "euc-kr", "정부는 오늘 아침 새로운 대책을 발표했습니다." },
};

/* Whether two charsets read the bytes alike. */
static bool same_reading(enum charset a, enum charset b, const uint8_t *bytes, size_t len)
{
	uint8_t out[2][2048];
	size_t used, n[2];

	for (int i = 0; i < 2; i++) {
		struct decoder *d = decoder_new(i == 0 ? a : b, 0);

		n[i] = d == NULL ? 0 : decoder_feed(d, bytes, len, &used, out[i], sizeof out[i]);
		decoder_free(&d);
	}
	return n[0] == n[1] && memcmp(out[0], out[1], n[0]) == 0;
}

static void text_rows(void)
{
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		const struct charset_label *label = charset_lookup(texts[i].charset, strlen(texts[i].charset));
		struct detection d;
		size_t len = 0;
		uint8_t *bytes = wide_iconv("UTF-8", texts[i].charset, texts[i].text, strlen(texts[i].text), &len);

		if (!UNIT_ROW(bytes != NULL && label != NULL, "%s", texts[i].charset))
			continue;
		CU_ASSERT_EQUAL(detector_weigh(&d, bytes, len, NULL, NULL, 0), 0);
		UNIT_ROW(d.n > 0 && d.is_text && !d.hinted && same_reading(d.readings[0].charset, label->charset, bytes, len),
		    "%s: %s", texts[i].charset, d.n == 0 ? "none" : charset_name(d.readings[0].charset));
		free(bytes);
	}
}

/* A proposal that weighs more than anything wins, one that weighs nothing does not, and a charset without a model of its
 * letters is read under its label. */
static void proposals(void)
{
	static const uint8_t cyrillic[] = "\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0!", georgian[] = "\xC0\xC1\xC2\xC3 \xC4\xC5\xC6\xC8\xC9\xCA\xCB";
	struct detection d;

	CU_ASSERT_EQUAL(detector_weigh(&d, cyrillic, sizeof cyrillic - 1, NULL, &(struct proposal){ CS_WINDOWS_1252, 0 }, 1), 0);
	CU_ASSERT_EQUAL(d.readings[0].charset, CS_WINDOWS_1251);
	CU_ASSERT_EQUAL(detector_weigh(&d, cyrillic, sizeof cyrillic - 1, NULL, &(struct proposal){ CS_WINDOWS_1252, 10000 }, 1), 0);
	CU_ASSERT_EQUAL(d.readings[0].charset, CS_WINDOWS_1252);
	CU_ASSERT_EQUAL(detector_weigh(&d, georgian, sizeof georgian - 1, NULL,
	    &(struct proposal){ CS_GEORGIAN_PS, 20 * LANGUAGE_NAT }, 1), 0);
	CU_ASSERT_EQUAL(d.readings[0].charset, CS_GEORGIAN_PS);
	CU_ASSERT_EQUAL(detector_weigh(&d, (const uint8_t *)"ASCII", 5, NULL, NULL, 0), 0);
	CU_ASSERT_TRUE(d.n == 0 && d.bytes == 0);
}

/* Texts of our own under a right label, which weighs as in policy_auto.c. Most are in languages without a model. */
static const struct {
	const char *rule, *label, *text;
} labelled[] = {
	{ "one letter is no text in another alphabet", "windows-1252", "Õ" },
	{ "nor are two", "windows-1252", "Äö" },
	{ "nor are some that stand alone", "windows-1252", "ñ á é í ó ú" },
	{ "katakana of half width", "cp932", "ｶﾀｶﾅ ﾆｭｰｽ" },
	{ "many letters under a label that somebody chose", "windows-1250", "Iň soňky habarlar: göresiň netijeleri, oýunyň baslanýan wagty, ýarysyň ýeňijileri, bazaryň "
	    "bahalary, çaganyň öýdäki oýunlary, ýoluň ýagdaýy, howanyň üýtgemegi, suwuň derejesi, günüň soraglary, ýylyň iň gowy kitaby" },
	{ "a label whose charset has a sister", "PT154",
	    "Кенија; Әрдәбил; Нижерија; инҝилисҹә; Сербија; Кәнд; Непал; Кенија; Марага; Македонија; Непал; Танзанија; Ләнкәран; јапонҹа; Кәнд; алманҹа; Македонија; алманҹа; Әрдәбил; франсызҹа; "
	    "Шәки; Марага; Сербија; Ҝәнҹә; Имишли; Марага; Шәки; алманҹа; Македонија; франсызҹа; Тәбриз; русҹа; Ширван; Алҹәзаир; Непал; Ҝәнҹә; франсызҹа; Танзанија; Нижерија; Алҹәзаир" },
};

static void labelled_rows(void)
{
	for (size_t i = 0; i < sizeof labelled / sizeof labelled[0]; i++) {
		const struct charset_label *label = charset_lookup(labelled[i].label, strlen(labelled[i].label));
		struct detection d = { .n = 0 };
		size_t len = 0;

		CU_ASSERT_PTR_NOT_NULL_FATAL(label);
		uint8_t *bytes = wide_iconv("UTF-8", labelled[i].label, labelled[i].text, strlen(labelled[i].text), &len);
		if (!UNIT_ROW(bytes != NULL, "%s", labelled[i].rule))
			continue;
		struct proposal p = { label->charset, (charset_is_thoughtless(label->charset) ? 4 : 20) * LANGUAGE_NAT };
		CU_ASSERT_EQUAL(detector_weigh(&d, bytes, len, NULL, &p, 1), 0);
		UNIT_ROW(d.n > 0 && d.readings[0].charset == label->charset, "%s: %s", labelled[i].rule,
		    d.n > 0 ? charset_name(d.readings[0].charset) : "none");
		free(bytes);
	}
}

/* Signs that say nothing against a label, and what is no sign. */
static const struct {
	const char *rule;
	enum charset charset;
	const char *bytes;
	int only;
} signs[] = {
	{ "square kilometres", CS_WINDOWS_1252, "20 km\xB2 of forest", 1 },
	{ "copyright beside a capital", CS_WINDOWS_1252, "Foo\xA9" "Bar", 1 },
	{ "quotes", CS_WINDOWS_1252, "\x93so\x94", 1 },
	{ "a letter", CS_WINDOWS_1252, "caf\xE9", 0 },
	{ "a sign within a word", CS_WINDOWS_1252, "z\xB3oty", 0 },
	{ "a control", CS_ISO_8859_2, "a \x93", 0 },
	{ "a two-byte set", CS_SHIFT_JIS, "\x81\x41", 0 },
};

static void sign_rows(void)
{
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
		int rc;
		bool only;

		rc = detector_signs_only(&only, signs[i].charset, (const uint8_t *)signs[i].bytes, strlen(signs[i].bytes));
		UNIT_ROW(rc == 0 && only == signs[i].only, "%s", signs[i].rule);
	}
}

/* Two sets of one alphabet, which a text of 60 KB tells apart by one letter near its end. */
static void siblings(void)
{
	static const char *const stems[] = { "κυβερν", "οικονομ", "παρουσι", "πολιτικ", "σημεριν", "θαλασσ", "ανθρωπ", "εφημεριδ", "ιστορι",
		"μουσικ", "δημοσι", "λεξικ", "τραπεζ", "νομοσχεδι", "εκλογ", "παραλι" };
	static const char *const ends[] = { "ες", "ων", "ους", "εις", "ιας", "ικα", "ουμε", "ετε", "ατα", "ος", "ησε", "ονται" };
	static const char *const charsets[] = { "windows-1253", "iso-8859-7" };
	static char text[65536];
	struct detection d;
	size_t n = 0, len = 0, k, i;
	uint8_t *bytes;

	for (i = 0; n < 60000; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "<title>%s%s %s%s</title>\n", stems[i % 16], stems[i / 16 % 16], stems[i / 7 % 16],
		    ends[i % 12]);
	n += (size_t)snprintf(text + n, sizeof text - n, "<title>Άνθρωποι και Άλλα</title>\n");
	for (k = 0; k < 2; k++) {
		bytes = wide_iconv("UTF-8", charsets[k], text, n, &len);
		CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
		CU_ASSERT_EQUAL(detector_weigh(&d, bytes, len, NULL, NULL, 0), 0);
		UNIT_ROW(d.n > 1 && strcmp(charset_name(d.readings[0].charset), charsets[k]) == 0, "%s: %s", charsets[k],
		    charset_name(d.readings[0].charset));
		free(bytes);
	}
}

/* A label that leaves the sister of its charset behind at once: the letters that both read differently come later. */
static void challenged(void)
{
	static const char early[] = "<title>Příliš nový kůň úpěl ďábelské ódy, včera pršelo v celé zemi</title>\n";
	static const char late[] = "<title>Žluťoučká šelma běží k řece, ještě že tu není Šárka a žádný týden</title>\n";
	static const enum charset sets[] = { CS_WINDOWS_1250, CS_ISO_8859_2 };
	static char text[32768];
	struct detection d;
	size_t n = 0, len = 0, k, i;
	uint8_t *bytes;

	for (i = 0; i < 40; i++)
		n += (size_t)snprintf(text + n, sizeof text - n,
		    "<title>Včera a večer %zu bylo v naší zemi pěkně, zítra má být ještě větší zima</title>\n%s", i, i == 39 ? late : early);
	for (k = 0; k < 4; k++) {
		bytes = wide_iconv("UTF-8", charset_name(sets[k / 2]), text, n, &len);
		CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
		CU_ASSERT_EQUAL(detector_weigh(&d, bytes, len, NULL, &(struct proposal){ sets[k % 2], 20 * LANGUAGE_NAT }, 1), 0);
		UNIT_ROW(d.n > 0 && d.readings[0].charset == sets[k / 2], "%s under the label %s: %s", charset_name(sets[k / 2]),
		    charset_name(sets[k % 2]), charset_name(d.readings[0].charset));
		free(bytes);
	}
}

/* A sample has something of every part of a text, stops where it is full, and starts no piece within a character. */
static void samples(void)
{
	static uint8_t text[65536];
	struct sample s;
	bool wanted[256] = { false };

	memset(text, ' ', sizeof text);
	text[10] = 0xE9;
	text[60000] = 0xEA;
	sample_take(&s, text, sizeof text, NULL);
	CU_ASSERT_TRUE(s.whole && s.beyond == 2 && memchr(s.bytes, 0xE9, s.len) != NULL && memchr(s.bytes, 0xEA, s.len) != NULL);
	memset(text, 0xC0, sizeof text / 2);
	sample_take(&s, text, sizeof text, NULL);
	CU_ASSERT_TRUE(!s.whole && s.len <= SAMPLE_BYTES && memchr(s.bytes, 0xEA, s.len) != NULL);
	wanted[0xEA] = true;
	sample_take(&s, text, sizeof text, wanted);
	CU_ASSERT_TRUE(s.whole && s.beyond == 1);
	sample_take(&s, text, 0, NULL);
	CU_ASSERT_TRUE(s.whole && s.len == 0);
	memset(text, 0xFF, sizeof text);
	sample_take(&s, text, sizeof text, NULL);
	CU_ASSERT_TRUE(s.len <= SAMPLE_BYTES);
}

UNIT_SUITE(detector, { "tokens", token_rows }, { "models", models }, { "tags", tag_rows }, { "hints", hint_rows }, { "hints' weights", weight_rows }, { "texts", text_rows },
    { "proposals", proposals }, { "labelled", labelled_rows }, { "signs", sign_rows }, { "samples", samples },
    { "siblings", siblings }, { "challenged", challenged })
