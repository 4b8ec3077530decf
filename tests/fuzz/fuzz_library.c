/* Owns the fuzz target of core/library/utfeed.c. Input: a byte says how the body is cut. A Content-Type follows, up to a line feed; an empty one is
 * a file. The rest is the body. It has a block of memory of its own, so that AddressSanitizer sees a read behind it.
 * Invariants: at once, pulled and pushed, a body gives the same output, rule and counters. The output of a feed is UTF-8, and a zero byte follows it.
 * Output that was read is gone. An unknown counter gives UTFEED_NO_COUNT. */
#include "core/library/utfeed.h"
#include "core/text/utf8.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const counters[] = { "bytes-in", "bytes-out", "malformed", "others", "lost", "characters", "ampersands", "end", "declaration" };

struct gathered {
	char *bytes;
	size_t len, size;
};

static void check(int holds)
{
	if (!holds)
		abort();
}

static int gather(void *arg, const void *bytes, size_t len)
{
	struct gathered *g = arg;

	if (g->size - g->len < len) {
		g->size = 2 * (g->len + len);
		g->bytes = realloc(g->bytes, g->size);
		check(g->bytes != NULL);
	}
	memcpy(g->bytes + g->len, bytes, len);
	g->len += len;
	return 0;
}

static void pull(struct utfeed *u, struct gathered *g, size_t piece)
{
	char buffer[256];
	size_t len;

	while ((len = utfeed_read(u, buffer, piece)) > 0)
		gather(g, buffer, len);
}

static struct utfeed *stream(struct gathered *pushed, const char *type)
{
	struct utfeed *u = utfeed_new(pushed ? gather : NULL, pushed);

	check(u != NULL);
	check(!type || utfeed_set(u, "content-type", type) == UTFEED_OK);
	return u;
}

static void check_output(const struct utfeed *u, const char *output, size_t len, size_t in)
{
	size_t again = 1;

	check(output[len] == '\0' && utfeed_output(u, &again) == output && again == len);
	check(utfeed_count(u, "bytes-in") == in && utfeed_count(u, "bytes-out") == len);
	check(utfeed_count(u, "no such counter") == UTFEED_NO_COUNT);
	check(utfeed_is_feed(u) == 0 || utfeed_is_feed(u) == 1);
	check(utfeed_is_feed(u) == 0 || len == 0 || utf8_valid_prefix((const uint8_t *)output, len) == len);
	check((utfeed_charset(u) != NULL) == (utfeed_is_feed(u) == 1));
}

static void check_same(struct utfeed *a, const char *output, size_t len, struct utfeed *b, const struct gathered *g)
{
	check(g->len == len && (len == 0 || memcmp(g->bytes, output, len) == 0));
	check(strcmp(utfeed_rule(a), utfeed_rule(b)) == 0 && utfeed_is_feed(a) == utfeed_is_feed(b));
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		check(utfeed_count(a, counters[i]) == utfeed_count(b, counters[i]) && utfeed_count(a, counters[i]) != UTFEED_NO_COUNT);
}

/* Pushed to a writer, or pulled in pieces. */
static void check_cut(struct utfeed *whole, const char *type, const char *body, size_t size, size_t step, int pulls)
{
	struct gathered g = { NULL, 0, 0 };
	struct utfeed *u = stream(pulls ? NULL : &g, type);
	size_t len, left;
	const char *output = utfeed_output(whole, &len);

	for (size_t at = 0; at < size; at += step) {
		check(utfeed_feed(u, body + at, size - at < step ? size - at : step) == UTFEED_OK);
		pull(u, &g, step & 0xff);
	}
	check(utfeed_finish(u) == UTFEED_OK);
	pull(u, &g, 256);
	check(*utfeed_output(u, &left) == '\0' && left == 0);
	check_same(whole, output, len, u, &g);
	utfeed_free(u);
	free(g.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = size > 1 ? memchr(data + 1, '\n', size - 1) : NULL;
	size_t step, type_len, len;
	struct utfeed *u;
	char *type, *body;
	const char *output;

	if (!line)
		return 0;
	step = data[0] + 1U;
	type_len = (size_t)(line - data) - 1;
	type = calloc(1, type_len + 1);
	size -= type_len + 2;
	body = malloc(size ? size : 1);
	check(type && body);
	memcpy(type, data + 1, type_len);
	memcpy(body, line + 1, size);
	check(utfeed_normalise(body, size, type_len ? type : NULL, &u) == UTFEED_OK);
	output = utfeed_output(u, &len);
	check_output(u, output, len, size);
	check_cut(u, type_len ? type : NULL, body, size, step, 0);
	check_cut(u, type_len ? type : NULL, body, size, step, 1);
	free(body);
	/* the body is gone: what was found is the stream's own */
	check(utfeed_rule(u) != NULL && utfeed_output(u, &len) == output);
	utfeed_free(u);
	free(type);
	return 0;
}
