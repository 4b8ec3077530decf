/* Owns the charsets that documents are written in, and words for each: of one language, so that a text in it reads like one. */
#include "identity.h"

#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUSSIAN "туман над рекой паром вышел позже обычного берег лодка вечером дождь тихо новый выпуск газеты читатели пишут погода завтра"
#define UKRAINIAN "туман над річкою пором вийшов пізніше берег човен увечері дощ тихо новий випуск газети читачі пишуть їжа ґанок є"
#define BULGARIAN "мъгла над реката ферибот тръгна късно бряг лодка вечерта дъжд тихо нов брой на вестника читатели пишат"
#define GREEK "ομίχλη πάνω από το ποτάμι το πλοίο έφυγε αργά ακτή βάρκα το βράδυ βροχή ήσυχα νέο τεύχος της εφημερίδας αναγνώστες"
#define TURKISH "nehrin üzerinde sis vapur geç kalktı kıyı akşam yağmur sessizce gazetenin yeni sayısı okuyucular yazıyor güneş şehir çiçek"
#define POLISH "mgła nad rzeką prom wypłynął później niż zwykle brzeg łódka wieczorem deszcz cicho nowy numer gazety czytelnicy piszą źródło"
#define CZECH "mlha nad řekou přívoz vyplul později než obvykle břeh loďka večer déšť tiše nové číslo novin čtenáři píší"
#define FRENCH "brume sur la rivière le bac est parti très tard rivage élève forêt âge numéro où déjà façon tôt mère côté été"
#define GERMAN "Nebel über dem Fluss die Fähre legte später ab Ufer Bäume grün schön Straße für Gäste Wörter müde hören früh"
#define LITHUANIAN "rūkas virš upės keltas išplaukė vėliau krantas valtis vakare lietus tyliai naujas laikraščio numeris skaitytojai rašo žąsis"
#define HEBREW "ערפל מעל הנהר המעבורת יצאה מאוחר חוף סירה בערב גשם בשקט גיליון חדש של העיתון קוראים כותבים"
#define ARABIC "ضباب فوق النهر غادرت العبارة متأخرة الشاطئ قارب في المساء مطر بهدوء عدد جديد من الصحيفة قراء يكتبون"
#define THAI "หมอกเหนือแม่น้ำ เรือข้ามฟาก ออกช้า ฝั่ง เรือ ตอนเย็น ฝนตก เงียบ หนังสือพิมพ์ ฉบับใหม่ ผู้อ่าน เขียน"
#define JAPANESE "川の上に霧が出た 渡し船は いつもより遅く 岸を離れた 小さな舟 夕方に 雨が静かに 降っている 新しい号の 新聞を読む 人が書いた"
#define CHINESE "河面上起了雾 渡船比平常 晚了一个小时 离开岸边 小船 傍晚下雨 很安静 新的一期报纸 读者来信 天气预报"
#define TAIWANESE "河面上起了霧 渡船比平常 晚了一個小時 離開岸邊 小船 傍晚下雨 很安靜 新的一期報紙 讀者來信 天氣預報"
#define KOREAN "강 위에 안개가 나룻배는 평소보다 늦게 떠났다 작은 배 저녁에 비가 조용히 내린다 새로운 신문을 읽는 사람들이 쓴다"

const struct charset_words charsets[] = {
	{ "UTF-8", NULL, NULL, false, false }, { "utf-8", NULL, NULL, false, false }, { "UTF-8", NULL, NULL, false, false },
	{ "UTF-8", NULL, NULL, false, false }, { "Utf-8", NULL, GERMAN, false, false }, { "UTF-8", NULL, JAPANESE, false, false },
	{ "us-ascii", NULL, "fog over the river", false, false },
	{ "UTF-16", "UTF-16LE", NULL, false, true }, { "utf-16", "UTF-16BE", NULL, false, true },
	{ "UTF-16LE", "UTF-16LE", NULL, false, true }, { "UTF-16BE", "UTF-16BE", NULL, false, true },
	{ "UTF-32", "UTF-32LE", NULL, false, true }, { "UTF-32BE", "UTF-32BE", NULL, false, true },
	{ "ISO-10646-UCS-4", "2143", NULL, false, true }, { "ISO-10646-UCS-4", "3412", NULL, false, true },
	{ "windows-1251", "CP1251", RUSSIAN, false, false }, { "windows-1251", "CP1251", UKRAINIAN, false, false },
	{ "windows-1251", "CP1251", BULGARIAN, false, false }, { "koi8-r", "KOI8-R", RUSSIAN, false, false },
	{ "KOI8-U", "KOI8-U", UKRAINIAN, false, false }, { "iso-8859-5", "ISO-8859-5", RUSSIAN, false, false },
	{ "IBM866", "CP866", RUSSIAN, false, false },
	{ "windows-1253", "CP1253", GREEK, false, false }, { "ISO-8859-7", "ISO-8859-7", GREEK, false, false },
	{ "windows-1254", "CP1254", TURKISH, false, false }, { "iso-8859-9", "ISO-8859-9", TURKISH, false, false },
	{ "windows-1250", "CP1250", POLISH, false, false }, { "ISO-8859-2", "ISO-8859-2", POLISH, false, false },
	{ "windows-1250", "CP1250", CZECH, false, false }, { "iso-8859-2", "ISO-8859-2", CZECH, false, false },
	{ "windows-1252", "CP1252", FRENCH, false, false }, { "iso-8859-1", "ISO-8859-1", FRENCH, false, false },
	{ "ISO-8859-1", "ISO-8859-1", GERMAN, false, false }, { "iso-8859-15", "ISO-8859-15", GERMAN, false, false },
	{ "windows-1257", "CP1257", LITHUANIAN, false, false }, { "iso-8859-13", "ISO-8859-13", LITHUANIAN, false, false },
	{ "windows-1255", "CP1255", HEBREW, false, false }, { "iso-8859-8", "ISO-8859-8", HEBREW, false, false },
	{ "windows-1256", "CP1256", ARABIC, false, false }, { "iso-8859-6", "ISO-8859-6", ARABIC, false, false },
	{ "windows-874", "CP874", THAI, false, false }, { "TIS-620", "CP874", THAI, false, false },
	{ "Shift_JIS", "CP932", JAPANESE, false, false }, { "euc-jp", "EUC-JP", JAPANESE, false, false },
	{ "ISO-2022-JP", "ISO-2022-JP", JAPANESE, false, false },
	{ "gb2312", "GBK", CHINESE, false, false }, { "GBK", "GBK", CHINESE, false, false }, { "gb18030", "GB18030", CHINESE, false, false },
	{ "Big5", "BIG5", TAIWANESE, false, false }, { "euc-kr", "EUC-KR", KOREAN, false, false },
	{ "IBM037", "IBM037", FRENCH, true, false }, { "IBM500", "IBM500", GERMAN, true, false }, { "IBM1047", "IBM1047", GERMAN, true, false },
};

const size_t charset_count = sizeof(charsets) / sizeof(charsets[0]);

static void put_one_of(struct text *t, struct chance *c, const char *words)
{
	size_t len = strlen(words), at = below(c, (unsigned)len), end;

	while (at > 0 && words[at - 1] != ' ')
		at--;
	end = at + strcspn(words + at, " ");
	text_add(t, words + at, end - at);
}

/* What only Unicode has room for. */
static void put_rarity(struct text *t, struct chance *c)
{
	static const char *const rarities[] = { "😀", "𐍈𐌰", "\xe2\x80\xa8", "\xc2\xa0", "﷽", "\xf4\x8f\xbf\xbd", "\xee\x80\x80", "\xef\xbf\xbd", "\xc2\x85", "\xef\xbb\xbf",
		"é", "ﬀ" };

	text_put(t, ANY_OF(c, rarities));
}

void put_word(struct text *t, struct chance *c, const struct charset_words *set)
{
	static const char *const plain[] = { "a", "news", "of", "the day", "2026", "Feed", "x < y", "R", "item 12" };
	const char *words = set->words;
	size_t from = t->len;

	if (one_in(c, 4))
		text_put(t, ANY_OF(c, plain));
	else if (!words && (!set->iconv || set->wide) && one_in(c, 8))
		put_rarity(t, c);
	while (!words)
		words = charsets[below(c, (unsigned)charset_count)].words;
	if (t->len == from)
		put_one_of(t, c, words);
	/* Where markup may not stand */
	for (; from < t->len; from++)
		if (t->bytes[from] == '<')
			t->bytes[from] = '-';
}

static iconv_t converter(const struct charset_words *set)
{
	static iconv_t open[64];
	static bool known[64];
	size_t i = (size_t)(set - charsets);

	if (i >= sizeof(known) / sizeof(known[0]))
		abort();
	if (!known[i]) {
		open[i] = iconv_open(set->iconv[0] == '2' || set->iconv[0] == '3' ? "UTF-32BE" : set->iconv, "UTF-8");
		known[i] = true;
		if (open[i] == (iconv_t)-1) {
			fprintf(stderr, "identity: iconv has no %s\n", set->iconv);
			exit(2);
		}
	}
	return open[i];
}

/* "2143": which byte of 1234 stands where. */
static void reorder(struct text *t, const char *order)
{
	for (size_t at = 0; at + 4 <= t->len; at += 4) {
		char unit[4];

		memcpy(unit, t->bytes + at, 4);
		for (size_t i = 0; i < 4; i++)
			t->bytes[at + i] = unit[order[i] - '1'];
	}
}

bool encode(struct text *out, const struct charset_words *set, const struct text *in)
{
	char buf[4096], *from = in->bytes, *to;
	size_t left = in->len, room, start = out->len;
	iconv_t cd;

	if (!set->iconv) {
		text_add(out, in->bytes, in->len);
		return true;
	}
	cd = converter(set);
	iconv(cd, NULL, NULL, NULL, NULL);
	for (bool more = true; more;) {
		size_t r;

		to = buf, room = sizeof(buf);
		more = left > 0;
		r = more ? iconv(cd, &from, &left, &to, &room) : iconv(cd, NULL, NULL, &to, &room);
		text_add(out, buf, sizeof(buf) - room);
		if (r == (size_t)-1 && room > 16)
			return false;
	}
	if (set->iconv[0] == '2' || set->iconv[0] == '3') {
		struct text units = { out->bytes + start, out->len - start, 0 };

		reorder(&units, set->iconv);
	}
	return true;
}
