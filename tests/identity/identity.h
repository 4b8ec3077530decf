/* Owns what the parts of the identity test share: chance, growing text, and what each part answers.
 * Must not know: the normaliser.
 * Invariant: a document is a function of its seed alone. */
#ifndef UTFEED_TESTS_IDENTITY_H
#define UTFEED_TESTS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chance {
	uint64_t state;
};

struct chance chance_of(uint64_t seed);
unsigned below(struct chance *, unsigned limit);        /* 0 .. limit - 1 */
bool one_in(struct chance *, unsigned n);

struct text {
	char *bytes;
	size_t len, cap;
};

void text_add(struct text *, const void *bytes, size_t len);
void text_put(struct text *, const char *words);
void text_clear(struct text *);
#define ANY_OF(chance, array) ((array)[below(chance, sizeof(array) / sizeof((array)[0]))])

/* A charset a document may be in, and words that a writer in it uses. */
struct charset_words {
	const char *label, *iconv;
	const char *words;          /* apart by blanks; NULL: those of all the others */
	bool ebcdic, wide;          /* a declaration is needed; a mark may stand */
};

extern const struct charset_words charsets[];
extern const size_t charset_count;

/* A word of the charset's, now and then one in ASCII. */
void put_word(struct text *, struct chance *, const struct charset_words *);
/* The text in the charset; swap: 32 bits in an odd order. False: a character is not in it. */
bool encode(struct text *out, const struct charset_words *, const struct text *in);

struct document {
	struct text text;           /* in UTF-8, without a mark */
	size_t enc_start, enc_end;  /* its encoding pseudo-attribute; equal: none */
	const struct charset_words *charset;
	bool declared, mark, xml_1_1, feed;
};

/* A well-formed document of any construct. */
void random_xml(struct document *, struct chance *);

struct other {
	const char *type;           /* what such a body is served as */
	bool html;                  /* served as text/html too it is still told from a feed */
	struct text body;
};

extern const size_t other_kinds;
/* A body that holds a feed, or what looks like one, and is none. */
void random_other(struct other *, size_t kind, struct chance *);

/* What an XML parser says of the document, one after the other. encoding: "utf-8", or NULL for what the declaration says.
 * False: it is not well-formed; the fault is in events. */
bool xml_events(struct text *events, const char *encoding, const char *bytes, size_t len);

#endif
