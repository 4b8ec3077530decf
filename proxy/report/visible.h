/* Owns showing peers' bytes to people: on a terminal and in a document of HTML.
 * Must not know: what is shown.
 * Invariant: what is written has no control character but line feeds of ours, no character that changes the direction
 * or the place of others, and in HTML no character that markup is made of. Such characters are shown by their
 * number. */
#ifndef UTFEED_PROXY_REPORT_VISIBLE_H
#define UTFEED_PROXY_REPORT_VISIBLE_H

#include <stdbool.h>
#include <stdio.h>

/* Any bytes as one word in ASCII: everything but printable ASCII, and the backslash, as \xHH. */
void visible_bytes(FILE *, const char *);
/* Text for a terminal or a file: characters beyond ASCII as they are if it takes them, else as \u{HEX}; bytes that are
 * not UTF-8 as \xHH. Each line feed is followed by the indent; one at the end is left out. */
void visible_text(FILE *, const char *, bool unicode, const char *indent);
/* Text in HTML, in an element or in an attribute with double quotes; line feeds stay. */
void visible_html(FILE *, const char *);

#endif
