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

static void read_on(struct reading_on *r, const struct evidence *e)
{
	size_t used = 0;

	r->len = decoder_feed(r->decoder, e->bytes + r->at, e->len - r->at, &used, r->text, sizeof r->text);
	r->at += used;
}

/* Both readings are of one charset, so that equal text takes equal bytes. */
static bool texts_alike(struct reading_on *a, struct reading_on *b, const struct evidence *e)
{
	bool alike = true;

	while (alike && a->at < e->len) {
		read_on(a, e);
		read_on(b, e);
		alike = a->at == b->at && a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
	}
	return alike;
}

/* Whether two names of a charset come to the same text. -1: out of memory. */
static int decode_alike(const struct verdict *v, const struct verdict *w, const struct evidence *e)
{
	struct reading_on a = { .decoder = decoder_new(v->charset, v->literal ? DECODER_LITERAL : 0) };
	struct reading_on b = { .decoder = decoder_new(w->charset, w->literal ? DECODER_LITERAL : 0) };
	int answer = a.decoder && b.decoder ? texts_alike(&a, &b, e) : errno == EINVAL ? 1 : -1;

	decoder_free(&a.decoder);
	decoder_free(&b.decoder);
	return answer;
}

static bool is_ascii(const struct verdict *v)
{
	const char *name = check_published(v);

	return name && strcmp(name, "us-ascii") == 0;
}

/* -1: out of memory. */
static int agrees(const struct verdict *v, const struct verdict *w, const struct evidence *e)
{
	if (v->kind != w->kind || v->charset != w->charset || (v->kind != VERDICT_CHARSET && v->error != w->error))
		return 0;
	if (v->kind != VERDICT_CHARSET || check_same_name(v, w))
		return 1;
	if (is_ascii(v) != is_ascii(w) && !v->extended && !w->extended)
		return e->utf8.ascii;
	return v->literal == w->literal ? 1 : decode_alike(v, w, e);
}

int check_agree(enum policy leaders[POLICY_COUNT], const struct verdict verdicts[POLICY_COUNT],
    const struct evidence *e)
{
	for (int i = 0; i < POLICY_COUNT; i++) {
		int same = 0;

		leaders[i] = (enum policy)i;
		for (int k = 0; k < i && same == 0; k++) {
			same = agrees(&verdicts[k], &verdicts[i], e);
			if (same < 0)
				return -1;
			if (same > 0)
				leaders[i] = leaders[k];
		}
	}
	return 0;
}
