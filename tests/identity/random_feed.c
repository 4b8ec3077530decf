/* Owns random feeds of UTF-8: words of many scripts in English text, and up to three stray sequences that scripts and old programs leave.
 * Must not know: the normaliser.
 * Invariant: stray sequences never touch, so they never make a well-formed character together. A feed has more characters beyond ASCII
 * than stray sequences; a node with two of them has two such characters, with three of them four. Three sequences need two labels.
 * Sources: Unicode table 3-7, Unicode Technical Report 26 (CESU-8). */
#include "random_feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const plain[] = { "fog", "over", "the", "river", "a", "ferry", "left", "late", "2026", "rain", "at", "night", "boats", "quietly",
	"new", "issue", "readers", "write", "of", "tomorrow", "(again)", "harbour,", "town", "The", "Old", "AT&amp;T", "10%", "it", "coast" };

/* Words of many scripts, and the signs that stand between words. */
static const char *const beyond[] = { "Århus", "Łódź", "naïve", "façade", "Zürich", "Ærø", "žluť", "şehir", "Việt", "ħobż", "ŝipo", "kūmara", "ọjọ́",
	"ɛnɔ", "mañana", "São", "élève", "Köln", "țară", "ölü", "погода", "вести", "її", "Ѓорѓи", "ңарын", "νέα", "Ἀθῆναι", "Երևան", "שלום", "ייִדיש",
	"سلام", "پارسی", "ܫܠܡܐ", "नमस्ते", "বাংলা", "ਪੰਜਾਬੀ", "தமிழ்", "తెలుగు", "ಕನ್ನಡ", "മലയാളം", "සිංහල", "ไทย", "ລາວ", "བོད", "မြန်မာ", "ქართული", "አማርኛ",
	"ភាសា", "ᏣᎳᎩ", "ᠮᠣᠩᠭᠣᠯ", "日本", "かな", "カナ", "中文", "한국", "𐍈", "😀", "❤", "→", "½", "m²", "20°", "µm", "it’s", "“so”", "‘so’", "– and",
	"—", "wait…", "€ 5", "5 £", "«no»", "„ja“", "№ 5", "© 2026", "§ 3", "¿qué?", "é", "ß", "ü", "Ø", "Ñ", "я", "א", "ب", "中", "の", "한", "•", "™",
	"ﬁn", "a\u00A0b", "co\u00ADop", "\u200E(a)" };

/* Words of other charsets, and sequences that UTF-8 forbids. */
static const char *const strays[] = { "it\x92s", "\x93so", "so\x94", "caf\xE9", "Gr\xFC\xDF" "e", "S\xE3o", "ma\xF1" "ana", "\x96", "wait\x85", "\x80 5", "\xA9 2026",
	"20\xB0", "\xAB" "no", "no\xBB", "\xB7", "a\xA0" "b", "\xCF\xEE", "\xED\xE0\xF1", "\xF1\xE5\xE9", "\xE4\xE1", "\xC7\xD1", "\x8E", "\x9A", "\xC5", "\xD6", "\xFE\xFF",
	"\xC0\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xE0\x9F\xBF", "\xF0\x80\x80\xAF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80" };

struct item {
	unsigned plain, beyond, strays;
};

/* Characters that are not ASCII. */
static unsigned put_beyond(struct text *t, struct chance *c)
{
	const char *word = ANY_OF(c, beyond);
	unsigned n = 0;

	text_put(t, word);
	for (; *word; word++)
		n += ((unsigned char)*word & 0xC0) == 0xC0;
	return n;
}

/* Three bytes for each surrogate of a character, as CESU-8 has it; alone: one of the two. */
static void put_surrogates(struct text *t, struct chance *c, bool alone)
{
	unsigned offset = below(c, 0x2000) + 0xE000, high = 0xD800 + (offset >> 10), low = 0xDC00 + (offset & 0x3FF);
	const unsigned char bytes[] = { 0xED, (unsigned char)(0x80 | (high >> 6 & 0x3F)), (unsigned char)(0x80 | (high & 0x3F)), 0xED,
		(unsigned char)(0x80 | (low >> 6 & 0x3F)), (unsigned char)(0x80 | (low & 0x3F)) };

	if (!alone)
		text_add(t, bytes, 6);
	else
		text_add(t, one_in(c, 2) ? bytes : bytes + 3, 3);
}

/* The beginning of a character, at the end of what a script left of a word. */
static void put_cut(struct text *t, struct chance *c)
{
	struct text word = { 0 };
	size_t from = 0, len = 1;

	put_beyond(&word, c);
	while (((unsigned char)word.bytes[from] & 0xC0) != 0xC0)
		from++;
	while (((unsigned char)word.bytes[from + len] & 0xC0) == 0x80)
		len++;
	text_add(t, word.bytes, from + 1 + below(c, (unsigned)len - 1));
	free(word.bytes);
}

/* A sequence that is not a character, in a word of ASCII or on its own. */
static void put_broken(struct text *t, struct chance *c)
{
	unsigned char byte = (unsigned char)(0x80 + below(c, 0x80));

	if (one_in(c, 3))
		text_put(t, ANY_OF(c, plain));
	switch (below(c, 4)) {
	case 0:
		put_surrogates(t, c, false);
		break;
	case 1:
		put_surrogates(t, c, true);
		break;
	case 2:
		put_cut(t, c);
		break;
	default:
		text_add(t, &byte, 1);
	}
	if (one_in(c, 3))
		text_put(t, ANY_OF(c, plain));
}

/* A word with something astray in it. */
static void put_spoilt(struct text *t, struct chance *c)
{
	switch (below(c, 4)) {
	case 0:
		put_beyond(t, c);
		put_cut(t, c);
		break;
	case 1:
		put_broken(t, c);
		break;
	default:
		text_put(t, ANY_OF(c, strays));
	}
}

/* All of an item, in any order. */
static void put_item(struct text *t, struct chance *c, struct item left)
{
	while (left.plain + left.beyond + left.strays > 0) {
		unsigned any = below(c, left.plain + left.beyond + left.strays);

		if (any < left.plain) {
			text_put(t, ANY_OF(c, plain));
			left.plain--;
		} else if (any < left.plain + left.beyond) {
			unsigned n = put_beyond(t, c);

			left.beyond -= n < left.beyond ? n : left.beyond;
		} else {
			put_spoilt(t, c);
			left.strays--;
		}
		if (left.plain + left.beyond + left.strays > 0)
			text_put(t, one_in(c, 12) ? "\n" : " ");
	}
}

static void put_items(struct feed *f, struct chance *c, const struct item *items, size_t n)
{
	static const char *const nodes[][2] = { { "<title>", "</title>" }, { "<description>", "</description>" },
		{ "<description><![CDATA[<p>", "</p>]]></description>" }, { "<link title=\"", "\"/>" }, { "<description>&lt;p&gt;", "&lt;/p&gt;</description>" } };

	for (size_t i = 0; i < n; i++) {
		const char *const *node = ANY_OF(c, nodes);

		text_put(&f->body, "<item>");
		text_put(&f->body, node[0]);
		put_item(&f->body, c, items[i]);
		text_put(&f->body, node[1]);
		text_put(&f->body, "</item>\n");
	}
}

/* The labels say UTF-8, or none does. The more of them, the more may be astray. */
static void put_labels(struct feed *f, struct chance *c)
{
	static const char *const types[] = { "application/rss+xml", "text/xml", "application/xml", "application/atom+xml" };
	static const char *const names[] = { "utf-8", "UTF-8", "utf8", "Utf-8" };
	unsigned how = below(c, 4);         /* 0 both, 1 header, 2 declaration, 3 none */
	char declaration[64];

	f->strays = below(c, how == 3 ? 1 : how > 0 ? 3 : 4);
	snprintf(f->type, sizeof(f->type), "%s%s%s", ANY_OF(c, types), how < 2 ? "; charset=" : "", how < 2 ? ANY_OF(c, names) : "");
	if (one_in(c, 16))
		text_put(&f->body, "\xEF\xBB\xBF");
	snprintf(declaration, sizeof(declaration), "<?xml version=\"1.0\"%s%s%s?>\n", how % 2 == 0 ? " encoding=\"" : "",
	    how % 2 == 0 ? ANY_OF(c, names) : "", how % 2 == 0 ? "\"" : "");
	if (how % 2 == 0 || one_in(c, 2))
		text_put(&f->body, declaration);
}

/* A node takes one stray, and more of them where there is more beside them. */
static void put_astray(struct item *wanted, struct item *items, size_t n)
{
	while (wanted->strays > wanted->beyond / 2)
		wanted = wanted + 1 < items + n ? wanted + 1 : items;
	wanted->strays++;
}

void random_feed(struct feed *f, struct chance *c)
{
	static const unsigned counts[] = { 1, 1, 2, 3, 5, 10, 20 };
	struct item items[20] = { { 0 } };
	unsigned n = ANY_OF(c, counts), some = 1 + below(c, n), left, part;

	text_clear(&f->body);
	put_labels(f, c);
	f->root = f->body.len;
	left = 1 + f->strays + below(c, 20 - f->strays);
	for (unsigned i = 0; i < n; i++)
		items[i].plain = below(c, 12);
	for (; left > 0; left -= part) {
		part = 1 + below(c, left);
		items[below(c, some)].beyond += part;
	}
	for (unsigned i = 0; i < f->strays; i++)
		put_astray(&items[below(c, n)], items, n);
	text_put(&f->body, "<rss version=\"2.0\"><channel><title>News</title>\n");
	put_items(f, c, items, n);
	text_put(&f->body, "</channel></rss>\n");
}
