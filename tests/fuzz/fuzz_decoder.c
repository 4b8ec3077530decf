/* Any bytes under any charset: the output is valid UTF-8, and is the same however the input is cut, however small the room, and
 * whatever the processor has beyond plain C. First byte: charset; second: length of the pieces, the longest being all of it, and
 * with its high bits room beyond the least in 256s; third: more of that. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "core/text/cpu.h"
#include "core/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIECES = 32, INPUT_MAX = 4096, OUTPUT_MAX = 4 * INPUT_MAX + DECODER_MIN_OUT };

static void require(int holds)
{
	if (!holds)
		abort();
}

static size_t decode(enum charset cs, unsigned flags, const uint8_t *in, size_t len, size_t piece, size_t room, uint8_t *out,
    uint64_t *malformed)
{
	struct decoder *decoder = decoder_new(cs, flags);
	size_t got = 0;

	if (!decoder)
		exit(EXIT_FAILURE);
	while (len > 0) {
		size_t n = len < piece ? len : piece, used, made;

		made = decoder_feed(decoder, in, n, &used, out + got, room < OUTPUT_MAX - got ? room : OUTPUT_MAX - got);
		require(used > 0 || made > 0);
		require(used <= n && made <= room);
		in += used;
		len -= used;
		got += made;
	}
	require(OUTPUT_MAX - got >= DECODER_MIN_OUT);
	got += decoder_finish(decoder, out + got, DECODER_MIN_OUT);
	*malformed = decoder_malformed(decoder);
	decoder_free(&decoder);
	return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t plain[OUTPUT_MAX], out[OUTPUT_MAX];
	struct decoder_trial trial;
	uint64_t malformed, count;
	enum charset cs;
	unsigned flags;
	size_t plain_len, len, piece, room;

	if (size < 3 || size > INPUT_MAX)
		return 0;
	cs = CS_NONE + 1 + data[0] % (CS_COUNT - 1);
	flags = data[0] < CS_COUNT ? 0 : cs == CS_UTF_8 ? DECODER_STRAYS : DECODER_LITERAL;
	piece = data[1] % PIECES == PIECES - 1 ? INPUT_MAX : 1 + data[1] % PIECES;
	room = DECODER_MIN_OUT + data[1] / PIECES * 256 + data[2];
	data += 3;
	size -= 3;
	cpu_limit(CPU_PLAIN);
	plain_len = decode(cs, flags, data, size, INPUT_MAX, OUTPUT_MAX, plain, &malformed);
	for (enum cpu_level level = CPU_PLAIN + 1; level < CPU_LEVELS && cpu_limit(level) == level; level++) {
		len = decode(cs, flags, data, size, INPUT_MAX, OUTPUT_MAX, out, &count);
		require(len == plain_len && memcmp(out, plain, len) == 0 && count == malformed);
	}
	cpu_limit(CPU_LEVELS);
	len = decode(cs, flags, data, size, piece, room, out, &count);
	require(len == plain_len && memcmp(out, plain, len) == 0 && count == malformed);
	require(utf8_valid_prefix(plain, plain_len) == plain_len);
	require(decoder_try(cs, data, size, true, &trial) == 0);
	require((flags & DECODER_STRAYS) || trial.malformed == malformed || (cs == CS_ISO_2022_JP && trial.malformed < malformed));
	require(trial.accepts == (trial.malformed == 0));
	require(trial.multibyte <= size);
	return 0;
}
