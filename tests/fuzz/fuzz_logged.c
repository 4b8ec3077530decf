/* Owns feeding arbitrary bytes to what logs show of peers: hidden secrets, strings of JSON, and traceparent.
 * Invariants: nothing of a secret value is shown, a string of JSON is whole, well-formed UTF-8 without controls, and what is made of a
 * traceparent is valid. */
#include "core/text/utf8.h"
#include "proxy/base/json_text.h"
#include "proxy/base/url_secrets.h"
#include "proxy/http/traceparent.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1024, OUT_MAX = 8 * INPUT_MAX };

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* The value ends at the first separator that is not encoded, and nothing before that is shown. */
static void check_secret(const char *text, size_t size)
{
	static const char name[] = "/f?token=";
	char url[sizeof name + INPUT_MAX], out[OUT_MAX];
	size_t value = 0, n;

	memcpy(url, name, sizeof name - 1);
	memcpy(url + sizeof name - 1, text, size);
	while (value < size && !memchr("?&;#", text[value], 4))
		value++;
	n = url_hide_secrets(out, sizeof out, url, sizeof name - 1 + size);
	require(n >= sizeof name + 2 && !memcmp(out, "/f?token=***", 12) && (value == size ? n == 12 : out[12] == text[value]));
}

static void check_hidden(const char *text, size_t size)
{
	char once[OUT_MAX], shown[URL_SHOWN_MAX];
	size_t n = url_hide_secrets(once, sizeof once, text, size);

	require(n < sizeof once && once[n] == '\0' && n <= size + 3 * (size / 2 + 1));
	require(url_has_secret_sign(text, size) || (n == size && !memcmp(once, text, size)));
	n = url_show(shown, text, size);
	require(n < sizeof shown && (url_has_secret_sign(text, size) || (n == size && !memcmp(shown, text, size))));
}

static void check_json(const char *text, size_t size)
{
	char out[OUT_MAX];
	struct text t = text_on(out, sizeof out);
	size_t max = size ? (uint8_t)text[0] * (size_t)8 : 0;

	json_text_bytes(&t, (struct slice){ text, size }, max);
	require(!t.failed && t.len >= 2 && t.len <= max + 2 && out[0] == '"' && out[t.len - 1] == '"');
	require(utf8_valid_prefix((const uint8_t *)out, t.len) == t.len);
	for (size_t i = 1; i < t.len - 1; i++) {
		require((uint8_t)out[i] >= 0x20 && out[i] != 0x7f && out[i] != '"');
		i += out[i] == '\\';
		require(i < t.len - 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);

	size = size < INPUT_MAX ? size : INPUT_MAX;
	memcpy(text, data, size);
	check_secret(text, size);
	check_hidden(text, size);
	check_json(text, size);
	if (traceparent_is_valid((struct slice){ text, size }))
		require(size >= TRACEPARENT_LEN && text[2] == '-' && text[35] == '-' && text[52] == '-');
	free(text);
	return 0;
}
