/* Owns reading the members of a form, from a query and from a body of application/x-www-form-urlencoded.
 * Must not know: what they mean. Pure. Source: WHATWG URL, "application/x-www-form-urlencoded parsing". */
#ifndef UTFEED_PROXY_ADMIN_FORM_H
#define UTFEED_PROXY_ADMIN_FORM_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/base/slice.h"

enum form_result { FORM_ABSENT, FORM_FOUND, FORM_TOO_LONG };

/* Copies the first member of that name, decoded and terminated: from the query, else from the body. A value that does
 * not fit, or has a NUL, is too long. If it is not found, out is empty. */
enum form_result form_get(struct slice query, struct slice body, const char *name, char *out, size_t cap);
/* Reads a number that is written in digits alone. False: the word is none, or its number is above the most. */
bool form_number(const char *word, uint64_t most, uint64_t *n);

#endif
