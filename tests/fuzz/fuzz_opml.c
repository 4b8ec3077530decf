/* Owns feeding arbitrary bytes to the rewriter of subscription lists.
 * Invariant tested: a second rewrite changes nothing, and nothing but what is counted grows. */
#include "proxy/command/opml.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char gateway[] = "http://g:1/a&b";
	struct text out = { 0 }, again = { 0 };
	struct opml_counts n, m;

	if (opml_rewrite(&out, (const char *)data, size, gateway, &n) == OPML_OK) {
		require(n.rewritten > 0 || (out.len == size && memcmp(out.bytes, data, size) == 0));
		require(opml_rewrite(&again, out.bytes, out.len, gateway, &m) == OPML_OK);
		require(m.rewritten == 0 && m.already == n.rewritten + n.already && m.left == n.left);
		require(again.len == out.len && memcmp(again.bytes, out.bytes, out.len) == 0);
	} else {
		require(out.len == 0);
	}
	text_free(&out);
	text_free(&again);
	return 0;
}
