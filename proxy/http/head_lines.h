/* Owns where lines of a message's head may end and how they may begin. Must not know: what stands in them.
 * Invariant: the answer for all pieces of a head together is the same wherever it was cut. */
#ifndef UTFEED_PROXY_HTTP_HEAD_LINES_H
#define UTFEED_PROXY_HTTP_HEAD_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the lines of a piece of a head are valid: each ends in CRLF, CR stands nowhere else, and none begins with a
 * blank (RFC 9112 sections 2.2 and 5.2: obsolete folding). The versions of llhttp differ in this. before: the byte
 * before the piece, 0 at the head's start. */
bool head_lines_valid(const char *, size_t len, char before);

#endif
