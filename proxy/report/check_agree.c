/* Asking which verdicts come to the same text; see check_agree.h. */
#include "proxy/report/check_agree.h"

#include <errno.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "proxy/report/check_report.h"

enum { AGREE_BYTES = 4096 };

/* How far a reading has come, and the text of its latest bytes. */
struct reading_on {
	struct decoder *decoder;
	size_t at, len;
	uint8_t text[AGREE_BYTES];
};

static void read_on(struct reading_on *reading, const struct evidence *evidence)
{
	size_t used = 0;

	reading->len = decoder_feed(reading->decoder, evidence->bytes + reading->at, evidence->len - reading->at, &used,
	    reading->text, sizeof reading->text);
	reading->at += used;
}

/* Both readings are of one charset, so that equal text takes equal bytes. */
static bool texts_alike(struct reading_on *a, struct reading_on *b, const struct evidence *evidence)
{
	bool alike = true;

	while (alike && a->at < evidence->len) {
		read_on(a, evidence);
		read_on(b, evidence);
		alike = a->at == b->at && a->len == b->len && !memcmp(a->text, b->text, a->len);
	}
	return alike;
}

enum likeness { UNLIKE, ALIKE, LIKENESS_NO_MEMORY };

/* Whether two names of a charset come to the same text. */
static enum likeness decode_alike(const struct verdict *v, const struct verdict *other, const struct evidence *evidence)
{
	struct reading_on a = { .decoder = decoder_new(v->charset, v->literal ? DECODER_LITERAL : 0) };
	struct reading_on b = { .decoder = decoder_new(other->charset, other->literal ? DECODER_LITERAL : 0) };
	enum likeness answer = errno == EINVAL ? ALIKE : LIKENESS_NO_MEMORY;

	if (a.decoder && b.decoder)
		answer = texts_alike(&a, &b, evidence) ? ALIKE : UNLIKE;
	decoder_free(&a.decoder);
	decoder_free(&b.decoder);
	return answer;
}

static bool is_ascii(const struct verdict *v)
{
	const char *name = check_published(v);

	return name && !strcmp(name, "us-ascii");
}

static enum likeness agrees(const struct verdict *v, const struct verdict *other, const struct evidence *evidence)
{
	if (v->kind != other->kind || v->charset != other->charset ||
	    (v->kind != VERDICT_CHARSET && v->error != other->error))
		return UNLIKE;
	if (v->kind != VERDICT_CHARSET || check_same_name(v, other))
		return ALIKE;
	if (is_ascii(v) != is_ascii(other) && !v->extended && !other->extended)
		return evidence->utf8.ascii ? ALIKE : UNLIKE;
	return v->literal == other->literal ? ALIKE : decode_alike(v, other, evidence);
}

int check_agree(enum policy leaders[POLICY_COUNT], const struct verdict verdicts[POLICY_COUNT],
    const struct evidence *evidence)
{
	for (int i = 0; i < POLICY_COUNT; i++) {
		enum likeness same = UNLIKE;

		leaders[i] = (enum policy)i;
		for (int k = 0; k < i && same == UNLIKE; k++) {
			same = agrees(&verdicts[k], &verdicts[i], evidence);
			if (same == LIKENESS_NO_MEMORY)
				return -1;
			if (same == ALIKE)
				leaders[i] = leaders[k];
		}
	}
	return 0;
}
