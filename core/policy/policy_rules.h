/* Owns the tables of all policies as a type, and the code that runs them: the first row that matches decides, and its
 * `take` says which value is used. Private to core/policy*.c. Must not know: any policy's rules.
 * Invariant: every table ends with a row that matches anything. */
#ifndef UTFEED_CORE_POLICY_POLICY_RULES_H
#define UTFEED_CORE_POLICY_POLICY_RULES_H

#include <stdbool.h>

#include "core/policy/policy.h"

/* Columns are sets. An empty one (0) matches anything. */
enum {
	ANY = 0,

	/* Values of CTEnc, BOMEnc, XMLGuessEnc and XMLEnc, as far as the published texts tell them apart. */
	V_NULL = 1 << 0,
	V_UTF_8 = 1 << 1,
	V_UTF_16BE = 1 << 2,
	V_UTF_16LE = 1 << 3,
	V_UTF_16 = 1 << 4,
	V_UCS_4 = 1 << 5,           /* any of the four orders */
	V_EBCDIC = 1 << 6,
	V_OTHER = 1 << 7,           /* any other name */
	V_BE_LE = V_UTF_16BE | V_UTF_16LE,
	V_SOME = V_UTF_8 | V_BE_LE | V_UTF_16 | V_UCS_4 | V_EBCDIC | V_OTHER,
	/* XMLEnc compared with the bytes (XML 1.0 Appendix F: "checked to match the actual encoding of the entity"). */
	V_FITS = 1 << 8,
	V_CLASHES = 1 << 9,

	/* CTMime. */
	M_FILE = 1 << 0,            /* a file, without HTTP */
	M_APP_XML = 1 << 1,
	M_TEXT_XML = 1 << 2,
	M_TEXT_OTHER = 1 << 3,
	M_JSON = 1 << 4,
	M_MISSING = 1 << 5,         /* HTTP without a media type */
	M_OTHER = 1 << 6,
	M_XML = M_APP_XML | M_TEXT_XML,

	/* Whether an encoding is given from outside. */
	X_NONE = 1 << 0,
	X_GIVEN = 1 << 1
};

enum take {
	TAKE_ERROR, TAKE_EXTERNAL, TAKE_CTENC, TAKE_BOM, TAKE_GUESS, TAKE_DECL, TAKE_UTF_8, TAKE_US_ASCII,
	TAKE_ISO_8859_1,
	TAKE_ENTITY                 /* the entity's own table decides */
};

struct rule {
	const char *no;             /* as published */
	unsigned CTMime, CTEnc, BOMEnc, XMLGuessEnc, XMLEnc;
	enum take take;
	enum verdict_error error;   /* with TAKE_ERROR: the verdict; with another take: only reported beside it */
	unsigned external;
};

/* The evidence as one policy sees it. */
struct rule_view {
	unsigned CTMime, CTEnc, BOMEnc, XMLGuessEnc, XMLEnc, external;
	enum charset bom, guess;    /* the charsets that TAKE_BOM and TAKE_GUESS take */
	const struct evidence *evidence;
};

/* rule_view_full() is the view of Appendix F, which sees everything. rule_view_rome() is that of ROME's text, which
 * knows UTF-8 and UTF-16 only and compares names as they are written. */
void rule_view_full(struct rule_view *, const struct evidence *);
void rule_view_rome(struct rule_view *, const struct evidence *);

const struct rule *rule_first(const struct rule *table, const struct rule_view *);
/* Appends the row's number to the path and sets what it takes. */
void rule_apply(struct verdict *, const struct rule *, const struct rule_view *);
/* Finds the first row that matches, applies it, and goes on with the entity's table where the row says so. Returns the
 * row that decided. */
const struct rule *rule_run(struct verdict *, const struct rule *table, const struct rule *entity,
    const struct rule_view *);

void verdict_begin(struct verdict *, enum policy);
void verdict_step(struct verdict *, const char *no);
/* The verdict becomes a charset under its canonical name. */
void verdict_take_charset(struct verdict *, enum charset);
void verdict_take_error(struct verdict *, enum verdict_error);

/* UTF-16 and UTF-32 without a byte order get the order that mark or pattern shows. */
enum charset charset_in_order(enum charset, const struct evidence *);

extern const struct rule appendix_f_rules[];
/* ROME lenient's published order. extended: UCS-4 and EBCDIC where the page says to extend. */
void rome_lenient_order(struct verdict *, const struct evidence *, bool extended);

void policy_rome_strict(const struct evidence *, struct verdict *);
void policy_rome_lenient(const struct evidence *, struct verdict *);
void policy_rome_2004(const struct evidence *, struct verdict *);
void policy_rfc7303(const struct evidence *, struct verdict *);
void policy_feedparser(const struct evidence *, struct verdict *);
void policy_4suite(const struct evidence *, struct verdict *);
void policy_appendix_f(const struct evidence *, struct verdict *);
void policy_auto(const struct evidence *, struct verdict *);

#endif
