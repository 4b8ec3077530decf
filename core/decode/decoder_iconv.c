/* Owns iconv, and is the only file that includes <iconv.h>: the engine of stateful and longer encodings, and the source
 * the tables of decoder_table.c are built from.
 * Must not know: labels. iconv_open() gets names of charsets.def, never a peer's (glibc takes "//IGNORE" in them).
 * Invariant: each stream has one conversion descriptor, and every call of iconv() either makes progress or ends the
 * run. */
#include <assert.h>
#include <errno.h>
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/decoder_impl.h"

enum { LIBRARY_BYTES = 1 << 20 };      /* more than any converter of glibc takes */

/* Whether memory and a descriptor can be had, as the loading of a converter needs them. */
static bool library_could_load(void)
{
	void *volatile memory = malloc(LIBRARY_BYTES);
	FILE *file = fopen("/dev/null", "re");
	bool could = memory && file;

	free(memory);
	if (file)
		fclose(file);
	return could;
}

/* glibc loads converters as libraries, and reports EINVAL also where it had no memory or descriptor for that. EINVAL
 * counts only if a second try returns it again and both memory and a descriptor can be had. */
static iconv_t open_from(enum charset cs)
{
	iconv_t cd = (iconv_t)-1;

	for (int tries = 2; cd == (iconv_t)-1 && tries; tries--) {
		cd = iconv_open("UTF-8", charset_info(cs)->iconv_name);
		if (cd == (iconv_t)-1 && errno != EINVAL)
			break;
	}
	if (cd == (iconv_t)-1 && errno == EINVAL)
		errno = library_could_load() ? EINVAL : ENOMEM;
	return cd;
}

bool decoder_has_converter(enum charset cs)
{
	iconv_t cd;

	if (!charset_info(cs)->iconv_name)
		return true;
	if ((cd = open_from(cs)) == (iconv_t)-1)
		return false;
	iconv_close(cd);
	return true;
}

static int stream_open(struct decoder *d)
{
	iconv_t cd = open_from(d->charset);

	if (cd == (iconv_t)-1)
		return errno;
	d->u.iconv = cd;
	return 0;
}

static void stream_close(struct decoder *d)
{
	iconv_close(d->u.iconv);
}

/* Runs iconv() over the span. Returns its errno, 0 at the end of the input. */
static int convert(iconv_t cd, struct decoder_span *s)
{
	/* iconv() does not change its input, although its prototype takes a pointer to char. */
	union { const uint8_t *bytes; char *argument; } in = { s->in };
	char *out = (char *)s->out;
	size_t in_left = span_left(s), out_left = span_room(s);
	int error = iconv(cd, &in.argument, &in_left, &out, &out_left) == (size_t)-1 ? errno : 0;

	s->in = in.bytes;
	s->out = (uint8_t *)out;
	return error;
}

static void stream_run(struct decoder *d, struct decoder_span *s)
{
	while (span_goes_on(s)) {
		/* Keep room for the replacement of a malformed byte. */
		struct decoder_span part = { s->in, s->in_end, s->out, s->out_end - 3 };
		int error = convert(d->u.iconv, &part);

		assert(error != E2BIG || part.out > s->out || part.in > s->in);
		s->in = part.in;
		s->out = part.out;
		if (error == EILSEQ)
			span_replace(d, s, 1);
		else if (error == EINVAL)
			return;
	}
}

static void stream_flush(struct decoder *d, struct decoder_span *s)
{
	char *out = (char *)s->out;
	size_t out_left = span_room(s);

	iconv(d->u.iconv, NULL, NULL, &out, &out_left);
	s->out = (uint8_t *)out;
}

const struct decoder_engine decoder_iconv = {
	.open = stream_open, .run = stream_run, .flush = stream_flush, .close = stream_close
};

struct decoder_source {
	iconv_t cd;
};

struct decoder_source *decoder_source_open(enum charset cs)
{
	struct decoder_source *source = malloc(sizeof *source);

	if (!source)
		return NULL;
	source->cd = open_from(cs);
	if (source->cd == (iconv_t)-1) {
		int error = errno;

		free(source);
		errno = error;
		return NULL;
	}
	return source;
}

void decoder_source_close(struct decoder_source **source)
{
	iconv_close((*source)->cd);
	free(*source);
	*source = NULL;
}

size_t decoder_source_text(struct decoder_source *source, const uint8_t *bytes, size_t len, uint8_t *out, size_t cap)
{
	struct decoder_span s = { bytes, bytes + len, out, out + cap };
	int error = convert(source->cd, &s);
	char *rest = (char *)s.out;
	size_t rest_room = span_room(&s);

	/* Some converters hold a letter back because an accent may follow (windows-1255, TCVN, Big5-HKSCS): this call
	 * writes it. */
	iconv(source->cd, NULL, NULL, &rest, &rest_room);
	return error == 0 ? (size_t)((uint8_t *)rest - out) : 0;
}

/* The lines are the texts of the codes from `at` on; the next one's has not ended. Gives its number. */
static size_t texts_split(struct source_text texts[], size_t at, const uint8_t *line, const uint8_t *end)
{
	const uint8_t *feed;

	for (; (feed = memchr(line, '\n', (size_t)(end - line))); line = feed + 1, at++) {
		size_t len = (size_t)(feed - line);

		texts[at].len = len <= sizeof texts->utf8 ? (uint8_t)len : 0;
		memcpy(texts[at].utf8, line, texts[at].len);
	}
	return at;
}

void decoder_source_texts(struct decoder_source *source, const uint8_t *codes, size_t len, size_t count,
    struct source_text texts[])
{
	uint8_t lines[SOURCE_CODES * (SOURCE_CODE_BYTES + 1)], out[SOURCE_CODES * sizeof *texts];
	size_t at = 0;

	assert(len <= SOURCE_CODE_BYTES && count <= SOURCE_CODES);
	memset(texts, 0, count * sizeof *texts);
	for (size_t i = 0; i < count; i++) {
		memcpy(lines + i * (len + 1), codes + i * len, len);
		lines[i * (len + 1) + len] = '\n';
	}
	while (at < count) {
		struct decoder_span s = { lines + at * (len + 1), lines + count * (len + 1), out, out + sizeof out };
		int error = convert(source->cd, &s);

		assert(error != E2BIG);
		at = texts_split(texts, at, out, s.out);
		if (error) {                   /* the code that stopped it has no text */
			iconv(source->cd, NULL, NULL, NULL, NULL);
			at++;
		}
	}
}
