/* Owns what core/ does when memory, or a converter, is not to be had: the n-th request is refused, for every n.
 * Must not know: which request is whose. The linker puts the __wrap_ functions in place of the C library's (tests/include.am).
 * Invariant: a refusal is reported, nothing leaks (AddressSanitizer looks), and the next try works. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#include "core/decoder.h"
#include "core/normalise.h"
#include "core/utf8.h"

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
iconv_t __real_iconv_open(const char *, const char *);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
iconv_t __wrap_iconv_open(const char *, const char *);

static struct {
	size_t until;               /* requests that are granted before the one that is not; 0: all are */
	bool hit;
	bool no_converter;          /* iconv_open knows nothing */
	void (*meanwhile)(void);    /* runs once, within the next request */
} fault;

static bool refused(void)
{
	void (*meanwhile)(void) = fault.meanwhile;

	fault.meanwhile = NULL;
	if (meanwhile)
		meanwhile();
	if (fault.until == 0 || --fault.until > 0)
		return false;
	fault.hit = true;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return refused() ? NULL : __real_realloc(old, size);
}

iconv_t __wrap_iconv_open(const char *to, const char *from)
{
	if (!fault.no_converter)
		return __real_iconv_open(to, from);
	errno = EINVAL;
	return (iconv_t)-1;
}

/* ---- decoders ---- */

static void without_converters(void)
{
	const char *missing;

	fault.no_converter = true;
	UNIT_ROW(decoder_selftest(&missing) > 100 && missing != NULL, "%s", missing ? missing : "none missing");
	errno = 0;
	CU_ASSERT_PTR_NULL(decoder_new(CS_BIG5, 0));
	CU_ASSERT_EQUAL(errno, EINVAL);
	fault.no_converter = false;
}

/* Every request on the way to a first decoder of a charset, its tables among them. */
static void decoders(void)
{
	for (enum charset cs = CS_NONE + 1; cs < CS_COUNT; cs++)
		for (size_t n = 1;; n++) {
			struct decoder *d;

			fault.hit = false;
			fault.until = n;
			errno = 0;
			d = decoder_new(cs, 0);
			fault.until = 0;
			UNIT_ROW((d == NULL) == fault.hit && (d != NULL || errno == ENOMEM), "%s, request %zu", charset_name(cs), n);
			decoder_free(&d);
			if (!fault.hit)
				break;
		}
}

static enum charset built_meanwhile;

static void build(void)
{
	struct decoder *d = decoder_new(built_meanwhile, DECODER_LITERAL);

	CU_ASSERT_PTR_NOT_NULL(d);
	decoder_free(&d);
}

/* Another thread publishes the same table first: literal tables, which no case before has asked for. */
static void lost_races(void)
{
	static const enum charset charsets[] = { CS_WINDOWS_1252, CS_SHIFT_JIS };

	for (size_t i = 0; i < sizeof charsets / sizeof charsets[0]; i++) {
		struct decoder *d = decoder_new(charsets[i], 0);        /* the next request of a decoder is the table's */
		uint8_t out[DECODER_MIN_OUT];
		size_t used;

		decoder_free(&d);
		built_meanwhile = charsets[i];
		fault.meanwhile = NULL;
		fault.until = 0;
		d = malloc(1);
		free(d);
		fault.meanwhile = build;
		d = decoder_new(charsets[i], DECODER_LITERAL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(d);
		CU_ASSERT_PTR_NULL(fault.meanwhile);
		CU_ASSERT_EQUAL(decoder_feed(d, (const uint8_t *)"a", 1, &used, out, sizeof out), 1);
		decoder_free(&d);
	}
}
