/* Owns decoding of every charset of charsets.def to UTF-8, as a stream.
 * Must not know: policies, XML, HTTP.
 * Invariant: the output is always valid UTF-8 (no surrogates, nothing above U+10FFFF), and does not depend on how the
 * input was cut into calls.
 *
 * Malformed input: U+FFFD for each maximal subpart (Unicode chapter 3, "U+FFFD Substitution of Maximal Subparts";
 * WHATWG for the two-byte sets), counted. With DECODER_STRAYS a fault of UTF-8 (utf8_fault.h) is read as what it most
 * likely was. A stray byte is a character of a single-byte set, a pair of surrogates its character, C0 80 nothing.
 * A cut or forbidden sequence becomes one U+FFFD. The WHATWG holes are honoured: windows-1252 0x81 is U+0081.
 * A byte order mark is decoded like any other character (U+FEFF); repair removes it. */
#ifndef UTFEED_CORE_DECODE_DECODER_H
#define UTFEED_CORE_DECODE_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/charset.h"

enum decoder_flags {
	DECODER_STRAYS = 1 << 0,   /* CS_UTF_8 only. */
	/* A code means what it means in the label's own set, where that differs from the charset, its superset.
	 * These are iso-8859-1, -9 and -11 in windows-1252, -1254 and -874, JIS X 0208 in shift_jis, euc-jp and
	 * iso-2022-jp, GB 2312 in gb18030. Codes are malformed only where they are so in the superset. */
	DECODER_LITERAL = 1 << 1
};

/* The least room for output, in bytes, that a call needs to make progress. */
enum { DECODER_MIN_OUT = 64 };

struct decoder;

/* NULL: out of memory or descriptors, or iconv has no such converter (errno says which: ENOMEM, EINVAL). The caller
 * owns it. */
struct decoder *decoder_new(enum charset, unsigned flags);
void decoder_free(struct decoder **);

/* With DECODER_STRAYS, before the first byte: the set of which stray bytes are; windows-1252 if nobody says. In a set
 * that is not single-byte they become U+FFFD. 0 or an errno value. */
int decoder_set_strays(struct decoder *, enum charset) __attribute__((warn_unused_result));

/* Whether this system can decode the charset; false also where memory or descriptors are missing (errno as above). */
bool decoder_has_converter(enum charset);

/* Reads from *in (in_len bytes) into out (out_cap bytes, at least DECODER_MIN_OUT). Returns the bytes written and sets
 * *consumed. Stops when the input is used up (an incomplete character at its end is kept inside and counts as consumed)
 * or when the room left is under DECODER_MIN_OUT. Never fails. */
size_t decoder_feed(struct decoder *, const uint8_t *in, size_t in_len, size_t *consumed, uint8_t *out, size_t out_cap);

/* End of input: an incomplete character becomes one U+FFFD (counted; of ISO-2022-JP's escape sequences only the escape
 * character does), stateful converters are flushed. At most DECODER_MIN_OUT bytes. Call once; but a decoder of UTF-8,
 * of a single-byte or a double-byte set has no state left behind it and takes another text. */
size_t decoder_finish(struct decoder *, uint8_t *out, size_t out_cap);

/* Malformed sequences replaced, dropped or read as a stray byte so far. A pair of surrogates is not counted. */
uint64_t decoder_malformed(const struct decoder *);

enum { DECODER_TEXT_PER_FAULT = 4 };

/* How a whole buffer looks when decoded as a charset; policies test labels by it. */
struct decoder_trial {
	/* every sequence is well-formed; an incomplete one at the end is a fault if `complete` */
	bool accepts;
	/* All bytes but a few are text: at most one sequence is malformed for DECODER_TEXT_PER_FAULT bytes beyond
	 * ASCII, or characters of ISO-2022. */
	bool reads;
	/* Sequences that decoding would replace; 0 when accepts. Two faults of careless ISO-2022-JP do not count:
	 * escape sequences in a row, and controls and blanks where the chosen set has none. */
	size_t malformed;
	size_t multibyte;           /* characters that took two or more bytes and are not ASCII */
};
/* -1: the converter cannot be opened; errno as above. */
int decoder_try(enum charset, const uint8_t *bytes, size_t len, bool complete, struct decoder_trial *)
    __attribute__((warn_unused_result));

/* Builds every table and opens every converter once. Returns the number that cannot be opened and names the first in
 * *missing. Safe to call from any thread, any number of times. */
size_t decoder_selftest(const char **missing);

#endif
