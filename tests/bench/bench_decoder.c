/* Owns decoding speed: utfeed, iconv, memcpy and whatever rivals are given, over the same text in pieces of 64 KiB, in turns; the
 * whole result is kept, so that memory counts as it does for memcpy.
 * usage: bench_decoder ROUNDS RIVAL.so... -- CHARSET FILE [CHARSET FILE]...      output: bench.h */
#include <dlfcn.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "core/decode/decoder.h"
#include "rival.h"

enum { TEXT_MAX = 6 << 20, CHUNK = 64 << 10, RIVALS_MAX = 4, OUT_MAX = 4 * TEXT_MAX };

static char text[TEXT_MAX], out[OUT_MAX];
static size_t text_len;
static const char *charset;

static void fail(const char *what)
{
	fprintf(stderr, "bench_decoder: %s\n", what);
	exit(EXIT_FAILURE);
}

static void by_utfeed(void *arg)
{
	struct decoder *decoder = decoder_new(charset_lookup(charset, strlen(charset))->charset, 0);
	size_t used, to = 0;

	(void)arg;
	for (size_t at = 0; at < text_len; at += used)
		to += decoder_feed(decoder, (const uint8_t *)text + at, text_len - at < CHUNK ? text_len - at : CHUNK, &used, (uint8_t *)out + to,
		    sizeof out - to);
	if (decoder_malformed(decoder))
		fail("malformed text");
	decoder_free(&decoder);
}

static void by_iconv(void *arg)
{
	const char *name = charset_info(charset_lookup(charset, strlen(charset))->charset)->iconv_name;
	iconv_t cd = iconv_open("UTF-8", name ? name : charset);
	char *in = text, *to = out;
	size_t room = sizeof out;

	(void)arg;
	for (size_t left = text_len; left > 0;) {
		size_t n = left < CHUNK ? left : CHUNK, before = n;

		iconv(cd, &in, &n, &to, &room);
		if (n == before)
			fail("iconv is stuck");
		left -= before - n;
	}
	iconv_close(cd);
}

static void by_memcpy(void *arg)
{
	(void)arg;
	for (size_t at = 0; at < text_len; at += CHUNK) {
		memcpy(out + at, text + at, text_len - at < CHUNK ? text_len - at : CHUNK);
		__asm__ volatile("" : : "r"(out) : "memory");
	}
}

static void by_rival(void *arg)
{
	if (((const struct rival *)arg)->decode(charset, text, text_len, CHUNK, out, sizeof out) != 0)
		fail(((const struct rival *)arg)->name);
}

static void read_text(const char *path)
{
	FILE *f = fopen(path, "rb");

	if (!f || (text_len = fread(text, 1, sizeof text, f)) == 0)
		fail(path);
	fclose(f);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0, at = 2;
	const struct rival *rivals[RIVALS_MAX];
	size_t count = 0;

	for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
		void *library = dlopen(argv[at], RTLD_NOW);
		const struct rival *found = library ? dlsym(library, "rival") : NULL;

		if (!found || count == RIVALS_MAX)
			fail(library ? argv[at] : dlerror());
		rivals[count++] = found;
	}
	if (rounds < 1)
		fail("usage: bench_decoder ROUNDS RIVAL.so... -- CHARSET FILE [CHARSET FILE]...");
	for (at++; at + 1 < argc; at += 2) {
		charset = argv[at];
		read_text(argv[at + 1]);
		for (int round = 0; round < rounds; round++) {
			const char *what = strrchr(argv[at + 1], '/');

			what = what ? what + 1 : argv[at + 1];
			bench(what, "utfeed", text_len, 1, by_utfeed, NULL);
			bench(what, "iconv", text_len, 1, by_iconv, NULL);
			bench(what, "memcpy", text_len, 1, by_memcpy, NULL);
			for (size_t i = 0; i < count; i++)
				bench(what, rivals[i]->name, text_len, 1, by_rival, (void *)(uintptr_t)rivals[i]);
		}
	}
	return 0;
}
