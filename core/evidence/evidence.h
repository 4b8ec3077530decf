/* Owns gathering the evidence: everything that can be known of a response before its encoding is decided.
 * Must not know: policies. It weighs nothing.
 * Names are the published ones (ROME, 2004): CTMime CTEnc BOMEnc XMLGuessEnc XMLEnc. */
#ifndef UTFEED_CORE_EVIDENCE_EVIDENCE_H
#define UTFEED_CORE_EVIDENCE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/charset.h"
#include "core/evidence/bom.h"
#include "core/evidence/hints.h"
#include "core/evidence/media_kind.h"
#include "core/evidence/preamble.h"
#include "core/evidence/xmldecl.h"
#include "core/text/utf8.h"

struct detector_trace;

/* A label as it was written. text "": there is none (NULL in the published rules). label: what evidence_finish() found
 * it to mean; NULL: it is unknown to us. */
struct evidence_label {
	char text[64];
	const struct charset_label *label;
};

struct evidence {
	bool http;                          /* false: a file, no transport information */
	bool unpacked;                      /* the type is not the body's own (normalise.h) */
	struct media_type type;             /* CTMime and the raw charset parameter */
	enum media_kind kind;               /* of that type */
	struct evidence_label CTEnc;
	enum charset forced;                /* external encoding (4Suite, a route's charset); CS_NONE: none */

	/* evidence_look() begins anew from here on */
	const uint8_t *bytes;               /* the held window, not owned; starts at the body's first byte */
	size_t len;
	bool complete;                      /* the window is the whole body */

	enum charset BOMEnc;                /* CS_NONE = NULL */
	size_t bom_len;
	struct bom_family guess;            /* bytes after the mark, strict; .charset is XMLGuessEnc */
	struct bom_family loose;            /* the same by the looser rules of `auto` */
	struct xmldecl decl;                /* at the very start (after a mark): the declaration of published rules */
	struct evidence_label XMLEnc;
	/* where the document starts; searched where decl is ABSENT, else PREAMBLE_NONE */
	struct preamble preamble;
	/* the declaration behind white space or junk, or the malformed one, for `auto` and the look-in only; ABSENT if
	 * decl says all. Its encoding is not that of decl */
	struct xmldecl hidden;
	struct evidence_label hidden_enc;

	struct utf8_evidence utf8;          /* Of the window, without a UTF-8 mark. */
	struct hints_told told;             /* Filled in by the caller between evidence_look() and evidence_finish(). */
	struct hints hints;                 /* Of the feed's language; gathered where the text has to be weighed. */
	/* Owned by policy_decide(); set when a policy's question found no memory (policy_bytes.h). */
	bool *starved;
	/* owned by policy_explain(); NULL: nobody asks how the text was weighed */
	struct detector_trace *trace;
};

/* content_type NULL: there is no such field (or no HTTP). The evidence borrows bytes. These functions never fail. While
 * the window grows, evidence is gathered in steps. First evidence_labels() reads what came with the body. Then
 * evidence_look() looks at the first bytes, any number of times. Last evidence_finish() reads the whole window
 * (utf8). */
void evidence_labels(struct evidence *, bool http, const char *content_type, size_t content_type_len,
    enum charset forced);
void evidence_look(struct evidence *, const uint8_t *bytes, size_t len, bool complete);
void evidence_finish(struct evidence *);
/* The counts behind utf8. */
struct utf8_count evidence_count(const struct evidence *);

/* The family in which `auto` and the look-in (sniff.h) read the body's ASCII characters: by the mark, else by the
 * first bytes, else ASCII. Never FAMILY_NONE. */
struct bom_family evidence_family(const struct evidence *);

/* True when more bytes cannot change BOM, family or declaration (the window may still grow for `auto`). */
bool evidence_is_settled(const struct evidence *);

#endif
