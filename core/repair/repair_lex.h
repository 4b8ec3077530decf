/* Owns knowing where in a document a byte stands, so that each repair is made where it belongs and nowhere else.
 * Must not know: marks, junk, declarations, line ends, forbidden characters. Private to repair.c.
 * Invariant: that of repair.h; text that needs no repair is written in runs from the caller's buffer, and only a token
 * that the end of a call cuts is copied: at most TAG_MAX bytes. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_LEX_H
#define UTFEED_CORE_REPAIR_REPAIR_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/memory/held.h"
#include "core/repair/repair.h"
#include "core/repair/repair_elements.h"
#include "core/repair/repair_entities.h"
#include "core/repair/repair_namespaces.h"
#include "core/repair/repair_reference.h"
#include "core/repair/repair_tag.h"

/* A document starts in its prolog. The literals of a document type may contain text that looks like markup and is none
 * (XML 1.0 [9], [11], [12]), so each declaration of a document type is read to its end. */
enum lex_mode {
	LEX_PROLOG,
	LEX_DOCTYPE,                    /* "<!DOCTYPE" to its "[" or ">". */
	LEX_SUBSET,                     /* Between "[" and "]", beside declarations. */
	LEX_ENTITY,                     /* "<!ENTITY" to the end of the name. */
	LEX_DECLARATION,                /* The rest of it, and what is like it. */
	LEX_LITERAL,                    /* In quotes, in a declaration or in the document type itself. */
	LEX_TAG,                        /* In a tag of more than TAG_MAX bytes. */
	LEX_VALUE,                      /* In quotes there. */
	LEX_EPILOG,                     /* Behind the root, where it is known. */
	LEX_SLOW_MODES,
	LEX_TEXT = LEX_SLOW_MODES,      /* from the root on */
	LEX_COMMENT,
	LEX_INSTRUCTION,
	LEX_CDATA,
	LEX_DROP                        /* to the end of the text */
};

/* The next text, if URLs pass through a gateway. */
enum lex_lead {
	LEAD_NONE,
	LEAD_TEXT,                      /* from its first character on, the URL of an enclosure or image */
	LEAD_SECTION                    /* likewise, if a CDATA section begins here */
};

/* Behind the root so many bytes are looked at and dropped before the document is called over. */
enum { TRAILING_MAX = 65536 };

struct repair_lex {
	struct sink sink;
	uint64_t *counts;               /* REPAIR_COUNT of them */
	unsigned flags;
	enum lex_mode mode;
	enum lex_mode back;             /* The mode after LEX_LITERAL, LEX_COMMENT and the modes behind that. */
	uint8_t quote;                  /* LEX_LITERAL, LEX_VALUE: the quote that ends it. */
	bool external;                  /* The literals hold names of other entities, without references. */
	bool slash;                     /* LEX_TAG: the last byte was "/". */
	struct reference_number number;
	struct reference_rules references;
	struct tag_rules tags;
	struct tag tag;                 /* of the token that was read last (repair_token.h) */
	struct reference found;
	const char *text;
	enum repair_index repair;
	unsigned tail;                  /* how many "]", up to two, the text that was written ends with */
	unsigned brackets;              /* as many stand before something that has just vanished */
	struct elements elements;
	struct namespaces namespaces;
	size_t dropped;                 /* Bytes behind the root, up to TRAILING_MAX. */
	const char *base;               /* REPAIR_BASE: the URL of the document, borrowed; NULL: it is not known. */
	bool needs_base;                /* l->tag is the root's, and has none. */
	const char *gateway;            /* REPAIR_GATEWAY: the URL of the gateway, borrowed; NULL: none. */
	enum lex_lead lead;
	uint64_t led;                   /* URLs that were led through it */
	uint64_t missing;               /* the namespaces that l->tag has to declare */
	uint8_t name[ENTITY_NAME_MAX + 1];  /* LEX_ENTITY: what there is of the name */
	size_t name_len;
	struct held held;               /* a token that the end of a call has cut */
};

/* All else is zero. It may not be moved afterwards. */
void repair_lex_begin(struct repair_lex *, uint64_t *counts, struct sink);
/* Before the first text. */
void repair_lex_set_flags(struct repair_lex *, unsigned flags);
void repair_lex_free(struct repair_lex *);
/* As repair_set_gateway(); NULL: URLs stay. */
void repair_lex_set_gateway(struct repair_lex *, const char *url);
/* The end of the text may not be the document's: nothing is closed there. */
void repair_lex_leave_end(struct repair_lex *);
/* final: the text ends with this call. 0, or what the sink returned, or -1 (out of memory) */
int repair_lex(struct repair_lex *, const uint8_t *, size_t len, bool final) __attribute__((warn_unused_result));
/* More than TRAILING_MAX bytes behind the root were dropped. */
bool repair_lex_is_over(const struct repair_lex *);

#endif
