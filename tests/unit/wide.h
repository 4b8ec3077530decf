/* Owns writing ASCII fixtures in code units of any family, for tests.
 * Must not know: what is tested. Memory comes from malloc and ends where the text ends, so that reading past it is seen. */
#ifndef UTFEED_TESTS_WIDE_H
#define UTFEED_TESTS_WIDE_H

#include <iconv.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/evidence/bom.h"

/* from, to: iconv's names. NULL where a character cannot be written. */
static inline uint8_t *wide_iconv(const char *from, const char *to, const char *text, size_t len, size_t *out_len)
{
	size_t left = len, cap = len * 8 + 64, room = cap;
	uint8_t *bytes = malloc(cap), *whole;
	char *in = (char *)(uintptr_t)text, *out = (char *)bytes;
	iconv_t cd = iconv_open(to, from);

	if (cd == (iconv_t)-1 || iconv(cd, &in, &left, &out, &room) == (size_t)-1 || iconv(cd, NULL, NULL, &out, &room) == (size_t)-1) {
		free(bytes);
		bytes = NULL;
	}
	if (cd != (iconv_t)-1)
		iconv_close(cd);
	if (bytes == NULL)
		return NULL;
	*out_len = cap - room;
	whole = malloc(*out_len == 0 ? 1 : *out_len);
	memcpy(whole, bytes, *out_len);
	free(bytes);
	return whole;
}

/* ASCII text as the family writes it, after `shift` bytes of zero. */
static inline uint8_t *wide_text(struct bom_family f, const char *text, size_t shift, size_t *len)
{
	static const uint8_t low[] = { [CS_UTF_16BE] = 1, [CS_UTF_32BE] = 3, [CS_UCS_4_2143] = 2, [CS_UCS_4_3412] = 1 };
	size_t n = strlen(text), i, used = 0;
	uint8_t *bytes, *ebcdic = NULL;

	*len = shift + n * f.unit;
	bytes = calloc(1, *len == 0 ? 1 : *len);
	if (f.family == FAMILY_EBCDIC)
		ebcdic = wide_iconv("ISO-8859-1", "IBM037", text, n, &used);
	for (i = 0; i < n; i++)
		bytes[shift + i * f.unit + ((size_t)f.charset < sizeof low ? low[f.charset] : 0)] =
		    ebcdic != NULL ? ebcdic[i] : (uint8_t)text[i];
	free(ebcdic);
	return bytes;
}

#endif
