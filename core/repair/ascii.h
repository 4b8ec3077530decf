/* Owns writing UTF-8 text as US-ASCII, for consumers that accept nothing else: other characters become numeric
 * references.
 * Must not know: encodings, HTTP, repairs.
 * Invariant: every byte of the output is under 0x80, ASCII input leaves as it came, and the output does not depend on
 * how the input was cut.
 *
 * Where a reference is allowed it has the same meaning as the character: in content, attribute values and the literals
 * of a document type (`&#8364;`). A CDATA section is closed before it and opened again before the next byte that needs
 * one (`<`, `&`, `>`, `]`): `]]>&#8364; 5<![CDATA[<br>`. Where no reference is allowed (comments, instructions, names)
 * the character becomes `_` and is counted. A `?` there would make an instruction of a tag whose name starts with it,
 * and would end an instruction early.
 */
#ifndef UTFEED_CORE_REPAIR_ASCII_H
#define UTFEED_CORE_REPAIR_ASCII_H

#include <stddef.h>
#include <stdint.h>

#include "core/repair/repair.h"

struct ascii;
struct ascii *ascii_new(struct sink);                           /* NULL: out of memory */
void ascii_free(struct ascii **);
/* valid UTF-8; 0 or what the sink returned */
int ascii_feed(struct ascii *, const uint8_t *, size_t len) __attribute__((warn_unused_result));
uint64_t ascii_lost(const struct ascii *);                      /* characters that became "_" */

#endif
