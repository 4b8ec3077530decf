/* Owns writing JSON (RFC 8259) to a stdio stream, on one line.
 * Must not know: what is written.
 * Invariant: the output is valid JSON in UTF-8 whatever bytes the strings hold, and what json_text.h escapes is always
 * escaped. */
#ifndef UTFEED_PROXY_BASE_JSON_H
#define UTFEED_PROXY_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	bool follows;       /* a comma is due before the next member */
};

/* key NULL: the outermost object. */
void json_open(struct json *, const char *key);
void json_close(struct json *);
/* A list: its members have the key NULL. */
void json_open_list(struct json *, const char *key);
void json_close_list(struct json *);
/* text NULL: null. Bytes that are not UTF-8 become U+FFFD. */
void json_string(struct json *, const char *key, const char *text);
void json_number(struct json *, const char *key, uint64_t);
/* With two decimals. */
void json_decimal(struct json *, const char *key, double);
void json_bool(struct json *, const char *key, bool);
void json_null(struct json *, const char *key);

#endif
