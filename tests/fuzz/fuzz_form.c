/* Owns feeding arbitrary bytes to the readers of forms. The first line is a Content-Type, or a query; the rest is a body.
 * Invariant tested: what is found lies in the body, or fits its room and is a text. */
#include "proxy/admin/form.h"
#include "proxy/admin/multipart.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool lies_in(struct slice part, struct slice whole)
{
	return !part.at || (part.at >= whole.at && part.at + part.len <= whole.at + whole.len);
}

static void check_member(struct slice query, struct slice body)
{
	char out[16];
	enum form_result r = form_get(query, body, "url", out, sizeof out);

	require(memchr(out, '\0', sizeof out) != NULL);
	require(r == FORM_FOUND || !*out);

	uint64_t n;

	require(!form_number(out, 100, &n) || (n <= 100 && out[strspn(out, "0123456789")] == '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *line = memchr(text, '\n', size);
	struct slice first = { text, line ? (size_t)(line - text) : size };
	struct slice body = line ? (struct slice){ line + 1, size - first.len - 1 } : (struct slice){ "", 0 };
	struct multipart_part part = multipart_find(first, body, "file");

	require(lies_in(part.content, body) && lies_in(part.file, body) && (part.content.at || !part.file.at));
	check_member(first, body);
	return 0;
}
