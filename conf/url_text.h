/* Owns text beyond ASCII in URLs: valid UTF-8 is written as %XX (RFC 3987 section 3.1).
 * Must not know: which part of a URL it stands in; idn.h makes a host of it, url_parse() judges the result. */
#ifndef UTFEED_CONF_URL_TEXT_H
#define UTFEED_CONF_URL_TEXT_H

#include <stddef.h>

/* The text with each byte beyond ASCII as %XX, which the caller frees. NULL: the text has no such byte, is not valid
 * UTF-8, or memory ran out; then it should be judged as it is. */
char *url_text_encode(const char *text, size_t len, size_t *out_len);
/* Writes the bytes of text, each of them beyond ASCII as %XX, so that they end before `end`; text may lie in the same
 * memory, not behind it. Returns where they begin. */
char *url_text_write(char *end, const char *text, size_t len);
/* How many bytes are beyond ASCII. */
size_t url_text_beyond(const char *text, size_t len);

#endif
