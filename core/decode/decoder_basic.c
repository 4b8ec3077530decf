/* Chooses the form for this processor; see decoder_basic.h. */
#include "core/decode/decoder_basic.h"

#include "core/text/cpu.h"

const struct decoder_basic *decoder_basic(void)
{
#if defined(__x86_64__)
	if (cpu_level() >= CPU_AVX2)
		return &decoder_basic_avx2;
#endif
	return NULL;
}
