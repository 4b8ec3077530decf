/* Says which charsets the system's iconv has no converter for: what a utfeed built there could not read. */
#include <stdio.h>

#include "core/decode/decoder.h"

int main(void)
{
	const char *first;
	size_t missing = decoder_selftest(&first);

	printf("converters: %d charsets, %zu without a converter%s", CS_COUNT - 1, missing, missing ? ":" : "\n");
	for (int cs = CS_NONE + 1; missing && cs < CS_COUNT; cs++)
		if (!decoder_has_converter((enum charset)cs))
			printf(" %s", charset_name((enum charset)cs));
	if (missing)
		putchar('\n');
	return 0;
}
