/* Owns asking a real XML parser whether a document is well-formed; of the product only wellformed.c includes <expat.h>.
 * Must not know: encodings' evidence, policies. It is not in the data path: `utfeed check` and tests use it.
 * Invariant: entity declarations are refused where they are declared, so nothing is ever expanded or fetched. */
#ifndef UTFEED_PROXY_REPORT_WELLFORMED_H
#define UTFEED_PROXY_REPORT_WELLFORMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wellformed;

/* encoding: the encoding that HTTP names ("utf-8"), which overrides the declaration; NULL: the declaration counts.
 * Returns NULL: out of memory. */
struct wellformed *wellformed_new(const char *encoding);
void wellformed_free(struct wellformed **);
/* After the first fault nothing more is read. */
void wellformed_feed(struct wellformed *, const uint8_t *, size_t len);
bool wellformed_finish(struct wellformed *);
/* The first fault, in English; NULL: none so far. Valid until wellformed_free(). */
const char *wellformed_fault(const struct wellformed *);
unsigned long wellformed_line(const struct wellformed *);       /* of the fault */

#endif
