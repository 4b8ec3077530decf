/* Owns the seam between decoder.c and the engines (decoder_utf8.c, decoder_utf16.c, decoder_single.c,
 * decoder_double.c, decoder_2022jp.c, decoder_iconv.c).
 * Must not know: anything outside core; nobody but those files includes it.
 * Invariant: an engine stops for three reasons: the input ends, a character is incomplete, or there is less than
 * DECODER_MIN_OUT room. So what it leaves with room to spare is an incomplete character. */
#ifndef UTFEED_CORE_DECODE_DECODER_IMPL_H
#define UTFEED_CORE_DECODE_DECODER_IMPL_H

#include <string.h>

#include "core/decode/decoder.h"

/* Bytes being read and room being filled; both move forward. */
struct decoder_span {
	const uint8_t *in, *in_end;
	uint8_t *out, *out_end;
};

struct decoder_engine {
	int (*open)(struct decoder *);                          /* 0, or an errno value */
	void (*run)(struct decoder *, struct decoder_span *);
	/* End of input: may read what is left of the carry; the rest becomes one U+FFFD. NULL: it holds nothing back.
	 */
	void (*flush)(struct decoder *, struct decoder_span *);
	void (*close)(struct decoder *);                        /* NULL: there is nothing to free */
	/* Counts malformed sequences without decoding, for sets in which no character takes two bytes. NULL: it cannot
	 * be done. */
	size_t (*count_malformed)(const struct decoder *, const uint8_t *, size_t len);
};

extern const struct decoder_engine decoder_utf8, decoder_utf16, decoder_utf32, decoder_single, decoder_double,
    decoder_2022jp, decoder_iconv;

/* More than the longest incomplete code: three bytes of gb18030, UTF-32 or UTF-8, two of an ISO-2022 escape
 * sequence. */
enum { DECODER_CARRY = 16 };

/* Byte order of a code unit: the shift count of each byte, by its position. */
struct decoder_order {
	uint8_t shift[4];
};

struct decoder {
	const struct decoder_engine *engine;
	enum charset charset;
	unsigned flags;
	uint64_t malformed;
	uint64_t careless;          /* those of them that say nothing against the charset (struct decoder_trial) */
	uint64_t single;            /* non-ASCII characters that were one byte, in a set that has longer ones */
	union {
		const struct single_table *single_table;    /* UTF-8: of stray bytes; NULL: U+FFFD */
		const struct double_table *double_table;
		const struct decoder_order *order;          /* NULL: not known before the first code unit */
		void *iconv;
	} u;
	uint8_t mode;               /* ISO-2022-JP: the set that the last escape sequence chose */
	bool after_stray;           /* UTF-8: the byte before was a stray one */
	bool escaped;               /* ISO-2022-JP: nothing has followed that escape sequence so far */
	uint8_t carry_len;
	uint8_t carry[DECODER_CARRY];
};

/* The source from which decoder_table.c builds its tables (decoder_iconv.c): it decodes short inputs one at a time.
 * NULL with errno set: it cannot be opened. */
struct decoder_source;
struct decoder_source *decoder_source_open(enum charset);
void decoder_source_close(struct decoder_source **);
/* Writes exactly these bytes as UTF-8, at most `cap` of it; 0: they are not whole characters. */
size_t decoder_source_text(struct decoder_source *, const uint8_t *bytes, size_t len, uint8_t *out, size_t cap);
/* The same for count codes of len bytes each that stand one behind another: many times cheaper, as most of a call of
 * iconv() is the call. Line feeds part the codes, so it is for sets in which that byte is one and trails nothing. */
enum { SOURCE_CODES = 256, SOURCE_CODE_BYTES = 4 };
struct source_text {
	uint8_t len, utf8[15];
};
void decoder_source_texts(struct decoder_source *, const uint8_t *codes, size_t len, size_t count,
    struct source_text texts[]);

static inline size_t span_room(const struct decoder_span *s)
{
	return (size_t)(s->out_end - s->out);
}

static inline size_t span_left(const struct decoder_span *s)
{
	return (size_t)(s->in_end - s->in);
}

static inline bool span_goes_on(const struct decoder_span *s)
{
	return s->in < s->in_end && s->out_end - s->out >= DECODER_MIN_OUT;
}

static inline void span_put(struct decoder_span *s, const uint8_t *bytes, size_t len)
{
	memcpy(s->out, bytes, len);
	s->out += len;
}

/* Writes U+FFFD for `len` bytes of input. */
static inline void span_replace(struct decoder *d, struct decoder_span *s, size_t len)
{
	span_put(s, (const uint8_t *)"\xEF\xBF\xBD", 3);
	s->in += len;
	d->malformed++;
}

#endif
