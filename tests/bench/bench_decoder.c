/* Decoding speed, MB/s of input: utfeed, plain iconv to UTF-8, and memcpy, over texts made here. Best of five rounds.
 * usage: bench_decoder [charset...] */
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/decoder.h"

enum { TEXT = 5 << 20, CHUNK = 64 << 10, ROUNDS = 5 };

/* One paragraph of a feed, in UTF-8; repeated and converted to each charset. */
static const struct {
	const char *charset, *paragraph;
} texts[] = {
	{ "utf-8", "<item><title>Новости дня</title><description>Сегодня в городе открылась новая библиотека, где собраны книги."
	    "</description></item>\n" },
	{ "windows-1251", "<item><title>Новости дня</title><description>Сегодня в городе открылась новая библиотека, где собраны "
	    "книги.</description></item>\n" },
	{ "koi8-r", "<item><title>Новости дня</title><description>Сегодня в городе открылась новая библиотека, где собраны книги."
	    "</description></item>\n" },
	{ "windows-1252", "<item><title>Les nouvelles</title><description>Une nouvelle bibliothèque a été inaugurée aujourd’hui; "
	    "on y trouve des livres reliés.</description></item>\n" },
	{ "shift_jis", "<item><title>今日のニュース</title><description>新しい図書館が開館しました。古い本も読むことができます。"
	    "</description></item>\n" },
	{ "euc-jp", "<item><title>今日のニュース</title><description>新しい図書館が開館しました。古い本も読むことができます。"
	    "</description></item>\n" },
	{ "iso-2022-jp", "<item><title>今日のニュース</title><description>新しい図書館が開館しました。古い本も読むことができます。"
	    "</description></item>\n" },
	{ "gb18030", "<item><title>今日新闻</title><description>城里新开了一座图书馆，收藏了许多旧书，欢迎大家前来阅读。"
	    "</description></item>\n" },
	{ "big5", "<item><title>今日新聞</title><description>城裡新開了一座圖書館，收藏了許多舊書，歡迎大家前來閱讀。"
	    "</description></item>\n" },
	{ "euc-kr", "<item><title>오늘의 소식</title><description>새 도서관이 문을 열었습니다. 오래된 책도 읽을 수 있습니다."
	    "</description></item>\n" },
	{ "utf-16le", "<item><title>Новости дня</title><description>Сегодня в городе открылась новая библиотека."
	    "</description></item>\n" },
	{ "utf-16be", "<item><title>今日のニュース</title><description>新しい図書館が開館しました。</description></item>\n" },
	{ "utf-8", "<item><title>今日のニュース</title><description>新しい図書館が開館しました。古い本も読むことができます。"
	    "</description></item>\n" },
	{ "utf-8", "<item><title>News of the day</title><description>A new library opened in town today.</description></item>\n" },
};

static char text[TEXT + 4096], out[4 * CHUNK + 4096];

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Fills `text` with the paragraph in its charset; returns the length. */
static size_t
make_text(const char *iconv_name, const char *paragraph)
{
	char part[4096], *to = part, *from = (char *)(uintptr_t)paragraph;
	size_t left = strlen(paragraph), room = sizeof part, len = 0, part_len;
	iconv_t cd = iconv_open(iconv_name, "UTF-8");

	if (cd == (iconv_t)-1 || iconv(cd, &from, &left, &to, &room) == (size_t)-1 || iconv(cd, NULL, NULL, &to, &room) == (size_t)-1) {
		perror(iconv_name);
		exit(EXIT_FAILURE);
	}
	iconv_close(cd);
	part_len = sizeof part - room;
	for (; len + part_len <= TEXT; len += part_len)
		memcpy(text + len, part, part_len);
	return len;
}

static void
by_utfeed(const char *charset, size_t len)
{
	struct decoder *decoder = decoder_new(charset_lookup(charset, strlen(charset))->charset, 0);
	size_t used;

	for (size_t at = 0; at < len; at += used) {
		size_t n = len - at < CHUNK ? len - at : CHUNK;

		decoder_feed(decoder, (const uint8_t *)text + at, n, &used, (uint8_t *)out, sizeof out);
	}
	if (decoder_malformed(decoder)) {
		fprintf(stderr, "%s: malformed\n", charset);
		exit(EXIT_FAILURE);
	}
	decoder_free(&decoder);
}

static void
by_iconv(const char *charset, size_t len)
{
	iconv_t cd = iconv_open("UTF-8", charset);
	char *in = text;

	for (size_t left = len; left > 0;) {
		size_t n = left < CHUNK ? left : CHUNK, before = n, room = sizeof out;
		char *to = out;

		iconv(cd, &in, &n, &to, &room);
		left -= before - n;
	}
	iconv_close(cd);
}

static void
by_memcpy(const char *charset, size_t len)
{
	(void)charset;
	for (size_t at = 0; at < len; at += CHUNK) {
		memcpy(out, text + at, len - at < CHUNK ? len - at : CHUNK);
		__asm__ volatile("" : : "r"(out) : "memory");
	}
}

static double
best(void (*run)(const char *, size_t), const char *charset, size_t len)
{
	double fastest = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double start = now(), speed;

		run(charset, len);
		speed = (double)len / (now() - start) / 1e6;
		if (speed > fastest)
			fastest = speed;
	}
	return fastest;
}

static int
chosen(int argc, char **argv, const char *charset)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], charset) == 0)
			return 1;
	return argc < 2;
}

int
main(int argc, char **argv)
{
	printf("%-14s %8s %8s %8s\n", "charset", "utfeed", "iconv", "memcpy");
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		const char *charset = texts[i].charset;
		const char *iconv_name = charset_info(charset_lookup(charset, strlen(charset))->charset)->iconv_name;
		size_t len;

		if (!chosen(argc, argv, charset))
			continue;
		iconv_name = iconv_name ? iconv_name : charset;
		len = make_text(iconv_name, texts[i].paragraph);
		printf("%-14s %8.0f %8.0f %8.0f\n", charset, best(by_utfeed, charset, len), best(by_iconv, iconv_name, len),
		    best(by_memcpy, charset, len));
	}
	return 0;
}
