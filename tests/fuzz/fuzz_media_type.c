/* Owns feeding arbitrary bytes to the Content-Type reader.
 * Invariants tested: text is terminated and lower case where it must be, nothing is known of what is no media type, and writing
 * down what was read gives the same again. A type with another charset is that type and has that charset. */
#include "core/evidence/media_type.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void relabel(const struct media_type *m, const char *value, size_t len)
{
	char *out = media_type_relabel(value, len, "utf-8");
	struct media_type n;

	require(out != NULL);
	media_type_read(&n, out, strlen(out));
	require(strcmp(m->mime, n.mime) == 0 && strcmp(n.charset, "utf-8") == 0);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char again[2 * sizeof(struct media_type)];
	struct media_type m, n;
	size_t i;

	media_type_read(&m, (const char *)data, size);
	require(memchr(m.mime, '\0', sizeof m.mime) != NULL && memchr(m.charset, '\0', sizeof m.charset) != NULL);
	require((m.CTMime == MIME_NONE) == (m.mime[0] == '\0'));
	require(m.CTMime != MIME_NONE || m.charset[0] == '\0');
	require(mime_class_name(m.CTMime)[0] != '\0');
	for (i = 0; m.mime[i] != '\0'; i++)
		require(m.mime[i] > ' ' && m.mime[i] < 0x7F && (m.mime[i] < 'A' || m.mime[i] > 'Z'));
	if (m.CTMime != MIME_NONE && !memchr(data, 0, size))
		relabel(&m, (const char *)data, size);
	if (strpbrk(m.charset, "\"\\") != NULL)
		return 0;
	snprintf(again, sizeof again, "%s; charset=\"%s\"", m.mime, m.charset);
	media_type_read(&n, again, strlen(again));
	require(m.CTMime == n.CTMime && strcmp(m.mime, n.mime) == 0);
	require(m.CTMime == MIME_NONE || strcmp(m.charset, n.charset) == 0);
	return 0;
}
