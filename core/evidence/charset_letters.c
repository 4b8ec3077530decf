/* Owns which token each byte of a single-byte charset is; see charset_letters.h. */
#include "core/evidence/charset_letters.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/decode/decoder.h"
#include "core/evidence/letters.h"
#include "core/text/utf8.h"

static _Atomic(uint16_t *) tables[CS_COUNT];

static int fill_tokens(uint16_t tokens[256], enum charset cs)
{
	struct decoder *d = decoder_new(cs, 0);
	uint8_t byte, out[DECODER_MIN_OUT];
	uint32_t character;
	size_t used;

	if (!d)
		return -1;
	for (int i = 0; i < 256; i++) {
		byte = (uint8_t)i;
		character = 0xFFFD;
		if (decoder_feed(d, &byte, 1, &used, out, sizeof out) > 0)
			utf8_next(out, &character);
		tokens[i] = letters_token(character);
	}
	decoder_free(&d);
	return 0;
}

const uint16_t *charset_letters(enum charset cs)
{
	uint16_t *table = atomic_load_explicit(&tables[cs], memory_order_acquire);

	if (table)
		return table;
	uint16_t *built = malloc(256 * sizeof *built);
	if (!built || fill_tokens(built, cs) != 0) {
		free(built);
		return NULL;
	}
	if (atomic_compare_exchange_strong(&tables[cs], &table, built))
		return built;
	free(built);
	return table;
}
