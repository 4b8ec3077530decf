/* Owns the list of encodings utfeed knows and the labels that name them (charsets.def, labels.def).
 * Must not know: how any of them is decoded (decoder.h), where labels come from.
 * Invariant: a name that reaches a header, a log or iconv_open() is a string of these tables, never a peer's.
 *
 * Source: WHATWG Encoding Standard (labels, supersets), IANA character set registry (names), and the EBCDIC pages. */
#ifndef UTFEED_CORE_DECODE_CHARSET_H
#define UTFEED_CORE_DECODE_CHARSET_H

#include <stdbool.h>
#include <stddef.h>

/* The charsets that bytes can be decoded as, one for each row of charsets.def. US-ASCII and ISO-8859-1 are labels of
 * CS_WINDOWS_1252, GB2312 and GBK of CS_GB18030 (WHATWG): they have no row of their own. CS_UTF_16 and CS_UTF_32 name
 * no byte order; a policy resolves it before a decoder is opened, and a decoder opened for them reads big-endian unless
 * a mark says otherwise (RFC 2781 section 4.3). */
enum charset {
	CS_NONE = 0,
#define CHARSET(id, name, family, kind, iconv_name) CS_##id,
#include "core/decode/charsets.def"
#undef CHARSET
	CS_COUNT
};

/* How the ASCII characters of a declaration are coded (XML 1.0 Appendix F.1). */
enum charset_family {
	FAMILY_NONE = 0,
	/* ASCII characters are single bytes of their ASCII value; every ISO 8859, Shift_JIS, EUC, GB, UTF-8 */
	FAMILY_ASCII,
	FAMILY_16BIT,
	FAMILY_32BIT,
	FAMILY_EBCDIC,
	FAMILY_STATEFUL   /* ISO-2022-*: ASCII bytes until an escape sequence */
};

/* Which decoder reads it (decoder.h). */
enum charset_kind {
	KIND_UTF_8, KIND_UTF_16, KIND_UTF_32, KIND_SINGLE_BYTE, KIND_DOUBLE_BYTE, KIND_ISO_2022_JP, KIND_ICONV
};

struct charset_info {
	/* the canonical name in lower case, as X-Encoding-Rule prints it: "windows-1251", "utf-16le" */
	const char *name;
	enum charset_family family;
	enum charset_kind kind;
	const char *iconv_name;     /* NULL if iconv is not used */
};

/* A label as people write it, and its meaning by WHATWG (for labels beyond its table, by IANA). */
struct charset_label {
	const char *text;           /* Lower case: the label's own name, as strict policies report it. */
	enum charset charset;       /* What it is decoded as. */
	bool ascii;                 /* A name of US-ASCII, right for a body in which no byte is 80 or more. */
	/* The label's own set and charset give some code different meanings (decoder.h, DECODER_LITERAL). */
	bool literal;
};

const struct charset_info *charset_info(enum charset);      /* never NULL for 0 < cs < CS_COUNT */
const char *charset_name(enum charset);                     /* "" for CS_NONE */

/* Finds a label, ASCII case and surrounding white space ignored. NULL: unknown, or refused (UTF-7, ISO-2022-CN). */
const struct charset_label *charset_lookup(const char *text, size_t len);

/* Whether labels of this charset (us-ascii, iso-8859-1, windows-1252 and their aliases) are those that servers and
 * templates write without looking at the text (utfeed-rules(7), "Steps of auto"). */
bool charset_is_thoughtless(enum charset);

/* For `utfeed charsets`: row i of the label table in its order, NULL past the end. */
const struct charset_label *charset_label_at(size_t i);

#endif
