/* Owns what is wrong with the start of a document: its XML declaration, and what stands before and behind that.
 * Must not know: who tells it. */
#ifndef UTFEED_PROXY_REPORT_CHECK_PROLOG_H
#define UTFEED_PROXY_REPORT_CHECK_PROLOG_H

#include <stdbool.h>

#include "core/evidence/evidence.h"

/* Where the encoding stands that only `auto` reads (evidence.h, hidden_enc). */
enum check_hidden {
	HIDDEN_BEHIND_JUNK,
	HIDDEN_MALFORMED,               /* in a malformed declaration */
	HIDDEN_REPEATED,                /* in a second declaration */
	HIDDEN_COUNT
};

struct check_prolog {
	bool malformed;                 /* the declaration is */
	bool repeated;                  /* more declarations follow it */
	bool before, behind;            /* something stands before the document; between the declaration and the rest */
	enum check_hidden hidden;
};

void check_prolog_read(struct check_prolog *, const struct evidence *);

#endif
