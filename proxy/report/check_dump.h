/* Owns marking the bytes of a body for a dump: byte order mark, junk, declaration, and what is beyond ASCII.
 * Must not know: how a dump is shown.
 * Invariant: each byte has one mark, a letter of check_mark_letter(). */
#ifndef UTFEED_PROXY_REPORT_CHECK_DUMP_H
#define UTFEED_PROXY_REPORT_CHECK_DUMP_H

#include "core/evidence/evidence.h"
#include "proxy/report/excerpt.h"

enum check_mark {
	MARK_PLAIN,
	MARK_BOM,           /* of a byte order mark */
	MARK_JUNK,          /* before the document */
	MARK_DECLARATION,
	MARK_UTF_8,         /* of a well-formed character beyond ASCII of UTF-8 */
	MARK_STRAY,         /* beyond ASCII, and no UTF-8 */
	MARK_COUNT
};

enum { CHECK_DUMP_ROW = 16, CHECK_DUMP_BYTES = 256 };

struct check_dump {
	uint64_t offset;    /* of the first byte in the body */
	size_t len;
	uint8_t bytes[CHECK_DUMP_BYTES];
	uint8_t marks[CHECK_DUMP_BYTES];        /* enum check_mark */
};

/* The body's start, as far as mark, junk and declaration go, and a row more. */
void check_dump_start(struct check_dump *, const struct evidence *);
/* The rows around the first bytes beyond ASCII; len 0 where the start has them already, or there are none. */
void check_dump_around(struct check_dump *, const struct check_dump *start, const struct excerpt *,
    const struct evidence *);

/* Whether bytes between the two are left out. */
bool check_dump_parts(const struct check_dump *start, const struct check_dump *around);

char check_mark_letter(enum check_mark);
const char *check_mark_text(enum check_mark);   /* what the letter means */

#endif
