/* Owns the syntax that both ways between header lists of HTTP/2 and heads of HTTP/1.1 know (h2_heads.c, h2_fields.c).
 * Must not know: which way it is. Sections without a name are of RFC 9113. Pure. */
#ifndef UTFEED_PROXY_HTTP_H2_SYNTAX_H
#define UTFEED_PROXY_HTTP_H2_SYNTAX_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/base/slice.h"

/* Where characters may stand: in a name of HTTP/2, in a token (RFC 9110 section 5.6.2), in an authority (RFC 3986
 * section 3.2), and in the user information of one. */
enum { H2_IN_NAME = 1, H2_IN_TOKEN = 2, H2_IN_AUTHORITY = 4, H2_IN_USER = 8 };

/* What becomes of a field. */
enum h2_kind {
	H2_KIND_LINE,                  /* a line of its own */
	H2_KIND_CONNECTION,            /* it is about one connection: malformed in HTTP/2 (section 8.2.2) */
	H2_KIND_CODING,                /* the same: Transfer-Encoding */
	H2_KIND_TE,                    /* the same: TE, unless it says "trailers" */
	H2_KIND_LENGTH,
	H2_KIND_HOST, H2_KIND_CRUMB    /* in requests; else they are lines */
};

/* The pseudo-header fields. :protocol (RFC 8441) is none of them, since no setting offers it. */
enum h2_pseudo { H2_METHOD, H2_SCHEME, H2_AUTHORITY, H2_PATH, H2_STATUS, H2_PSEUDOS };
extern const char *const h2_pseudo_names[H2_PSEUDOS];

/* Whether it is not empty, and each of its characters is of one of these classes. */
bool h2_is(struct slice, unsigned classes);
bool h2_equals(struct slice, const char *);
/* Whether it stays within one line, and no blank at its ends could be taken off it (section 8.2.1; RFC 9110 section
 * 5.5). */
bool h2_is_value(struct slice);
/* Whether it is one word that begins with '/'; or the "*" of OPTIONS (section 8.3.1). Bytes beyond ASCII stand in it as
 * they came. */
bool h2_is_path(struct slice path, struct slice method);
/* name: a token. A TE that says "trailers" is a line. */
enum h2_kind h2_kind_of(struct slice name, struct slice value);
/* Sets *length, which is -1 before the first of them. Lengths that come several times have to be the same (RFC 9110
 * section 8.6). */
bool h2_read_length(struct slice value, int64_t *length);
/* The number of three digits, 100 to 599 and not 101 (section 8.6); 0: it is none. */
int h2_read_status(const char *);

#endif
