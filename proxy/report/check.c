/* Finding out what a body is; see check.h. */
#include "proxy/report/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "core/evidence/scan.h"
#include "proxy/coding/gzip_peel.h"
#include "proxy/report/check_agree.h"
#include "proxy/report/wellformed.h"

struct check {
	struct check_options options;
	struct gzip_peel *peel;                 /* between the body and all of this */
	bool cut;                               /* what it unpacks is damaged: the report is on what came before */
	struct normaliser *normaliser;
	int stopped;                            /* the result of the normaliser that ended it; 0: none */
	struct normaliser *decoding;            /* makes no repairs, so that its text tells what bytes were read as */
	struct strays strays;
	struct wellformed *wellformed;
	/* the body's start, on which the normaliser (core/normalise) decides as well */
	uint8_t window[NORMALISE_SNIFF_BYTES];
	size_t len;
	bool looked;                            /* the window is full or complete: evidence has its labels */
	struct evidence evidence;
	struct excerpt before, after;           /* of the body, and of what is made of it */
	struct verdict untouched;
	struct normalise_report told;
	struct policy_explanation explanation;
	struct check_report report;
};

static int check_on_decided(void *arg, const struct verdict *v)
{
	(void)arg, (void)v;
	return 0;
}

static int check_on_write(void *arg, const uint8_t *bytes, size_t len)
{
	struct check *c = arg;

	excerpt_feed(&c->after, bytes, len);
	wellformed_feed(c->wellformed, bytes, len);
	return 0;
}

static int check_on_decode(void *arg, const uint8_t *bytes, size_t len)
{
	struct check *c = arg;

	strays_feed_decoded(&c->strays, bytes, len);
	return 0;
}

static int check_take(void *arg, const uint8_t *bytes, size_t len);

static int check_decode_on(void *arg, const uint8_t *bytes, size_t len)
{
	struct check *c = arg;

	return normaliser_feed(c->decoding, bytes, len);
}

/* NULL: out of memory. */
static struct normaliser *check_decoding(struct check *c)
{
	struct normalise_options options = c->options.normalise;
	const struct normalise_events events = { check_on_decided, NULL, check_on_decode, c };

	c->strays.sink = (struct sink){ check_decode_on, c };
	options.repairs = 0;
	options.gateway = NULL;
	return normaliser_new(&options, &events);
}

struct check *check_new(const struct check_options *options)
{
	struct check *c = calloc(1, sizeof *c);
	struct normalise_events events = { check_on_decided, NULL, check_on_write, c };

	if (!c)
		return NULL;
	c->options = *options;
	c->peel = gzip_peel_new(&c->options.normalise, (struct sink){ check_take, c });
	c->normaliser = normaliser_new(&options->normalise, &events);
	c->decoding = check_decoding(c);
	c->wellformed = wellformed_new(NULL);
	c->before.escapes = true;
	if (!c->peel || !c->normaliser || !c->decoding || !c->wellformed)
		check_free(&c);
	return c;
}

void check_free(struct check **cp)
{
	struct check *c = *cp;

	if (!c)
		return;
	gzip_peel_free(&c->peel);
	normaliser_free(&c->normaliser);
	normaliser_free(&c->decoding);
	wellformed_free(&c->wellformed);
	free(c);
	*cp = NULL;
}

/* Where the first character stands that no ASCII can say, in a body whose code units are no ASCII bytes. */
static size_t check_first_wide(const struct evidence *e)
{
	struct scan s = { evidence_family(e), e->bytes, e->len, e->bom_len };
	int c;

	while ((c = scan_peek(&s, 0)) != SCAN_END && c != SCAN_OTHER)
		s.at += s.family.unit;
	return c == SCAN_OTHER ? s.at : e->len;
}

/* Looks at the window: its labels, and the piece around the first bytes beyond ASCII as far as the window has it. */
static void check_look(struct check *c, bool complete)
{
	const struct normalise_options *o = &c->options.normalise;
	struct evidence *e = &c->evidence;

	c->looked = true;
	evidence_labels(e, o->http, o->content_type, o->content_type_len, o->forced);
	evidence_look(e, c->window, c->len, complete);
	e->told = normalise_told(o);
	c->before.offset = e->bom_len;
	if (evidence_family(e).family == FAMILY_ASCII)
		excerpt_feed(&c->before, c->window + e->bom_len, c->len - e->bom_len);
	else
		excerpt_at(&c->before, c->window, c->len, check_first_wide(e));
}

/* Takes bytes of the body as they are once they are unpacked. */
static int check_take(void *arg, const uint8_t *bytes, size_t len)
{
	struct check *c = arg;
	size_t room = sizeof c->window - c->len, take = len < room ? len : room;

	if (take > 0)
		memcpy(c->window + c->len, bytes, take);
	c->len += take;
	c->told.bytes_in += len;
	if (!c->looked && c->len == sizeof c->window)
		check_look(c, false);
	if (take < len && evidence_family(&c->evidence).family == FAMILY_ASCII)
		excerpt_feed(&c->before, bytes + take, len - take);
	if (c->stopped == 0 && c->options.untouched == VREASON_NONE)
		c->stopped = normaliser_feed(c->normaliser, bytes, len);
	if (c->stopped == 0 && c->options.untouched == VREASON_NONE)
		c->stopped = strays_feed(&c->strays, bytes, len);
	return c->stopped == NORMALISE_NO_MEMORY ? -1 : 0;
}

static int check_peeled(struct check *c, int rc)
{
	c->cut |= rc == GZIP_PEEL_DAMAGED;
	return rc == 0 || c->cut ? 0 : -1;
}

int check_feed(struct check *c, const uint8_t *bytes, size_t len)
{
	return c->cut ? 0 : check_peeled(c, gzip_peel_feed(c->peel, bytes, len));
}

/* ---- the report ---- */

static int check_verdicts(struct check *c)
{
	struct check_report *r = &c->report;

	evidence_finish(&c->evidence);
	for (int i = 0; i < POLICY_COUNT; i++)
		if (policy_decide((enum policy)i, &c->evidence, &r->verdicts[i]))
			return -1;
	if (check_agree(r->leaders, r->verdicts, &c->evidence))
		return -1;
	if (!c->options.explain)
		return 0;
	r->explanation = &c->explanation;
	return policy_explain(POLICY_AUTO, &c->evidence, &c->explanation);
}

/* The verdict of auto and its counts, as the proxy would have them. */
static int check_result(struct check *c)
{
	uint64_t bytes = c->told.bytes_in;

	c->report.report = &c->told;
	c->report.misnamed = c->options.misnamed;
	c->report.result = &c->untouched;
	verdict_untouched(&c->untouched, POLICY_AUTO, c->options.untouched);
	if (c->options.untouched != VREASON_NONE)
		return 0;
	if (c->stopped == 0)
		c->stopped = normaliser_finish(c->normaliser);
	if (c->stopped == 0)
		c->stopped = strays_end(&c->strays);
	if (c->stopped == 0)
		c->stopped = normaliser_finish(c->decoding);
	strays_finish(&c->strays);
	if (c->stopped == NORMALISE_NO_MEMORY)
		return -1;
	c->report.result = normaliser_verdict(c->normaliser);
	if (c->options.misnamed && c->report.result->kind == VERDICT_NONE) {
		verdict_untouched(&c->untouched, POLICY_AUTO, VREASON_ENCODED);
		c->report.result = &c->untouched;
	}
	if (c->report.result->charset == CS_UTF_8)
		c->report.strays = &c->strays;
	c->told = *normaliser_report(c->normaliser);
	c->told.bytes_in = bytes;
	return 0;
}

static void check_wellformed(struct check *c)
{
	struct check_report *r = &c->report;
	bool fine = wellformed_finish(c->wellformed);

	r->normalised = r->result->kind == VERDICT_CHARSET;
	if (!r->normalised || fine)
		return;
	r->fault = wellformed_fault(c->wellformed);
	r->fault_line = wellformed_line(c->wellformed);
}

/* Copies text, which is valid UTF-8, as a terminated string: a NUL becomes U+FFFD. */
static void check_copy_text(char out[CHECK_TEXT_MAX], const uint8_t *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 4 <= CHECK_TEXT_MAX; i++) {
		if (text[i])
			out[n++] = (char)text[i];
		else
			n += utf8_encode(0xFFFD, (uint8_t *)out + n);
	}
	while (n > 0 && utf8_valid_prefix((const uint8_t *)out, n) < n)
		n--;
	out[n] = '\0';
}

static unsigned check_unit(enum charset cs)
{
	switch (charset_info(cs)->family) {
	case FAMILY_16BIT:
		return 2;
	case FAMILY_32BIT:
		return 4;
	default:
		return 1;
	}
}

/* Where in decoded text the line of its first character beyond ASCII starts. */
static size_t check_line(const uint8_t *text, size_t len)
{
	size_t at = utf8_ascii_prefix(text, len);

	while (at > 0 && text[at - 1] != '\n')
		at--;
	return at;
}

/* The piece of the body as one charset reads it; a character that its end cuts is left out. -1: out of memory. */
static int check_decode(char out[CHECK_TEXT_MAX], const struct excerpt *x, const struct verdict *v)
{
	struct decoder *d = decoder_new(v->charset, v->literal ? DECODER_LITERAL : 0);
	unsigned unit = check_unit(v->charset);
	size_t from = unit == 1 ? excerpt_line(x) : (size_t)((unit - x->offset % unit) % unit), used, n;
	uint8_t text[CHECK_TEXT_MAX];

	if (!d)
		return -1;
	n = decoder_feed(d, x->bytes + from, from < x->len ? x->len - from : 0, &used, text, sizeof text);
	from = unit == 1 ? 0 : check_line(text, n);
	check_copy_text(out, text + from, n - from);
	decoder_free(&d);
	return 0;
}

/* As RFC 7303 has readers take the label: the mark, the header, the declaration. */
static int check_texts(struct check *c)
{
	const struct verdict *label = &c->report.verdicts[POLICY_RFC7303];
	struct check_report *r = &c->report;
	size_t from = excerpt_line(&c->after);

	r->beyond = c->before.found && (c->before.bytes[c->before.first] >= 0x80 || c->after.found);
	r->label = label->kind == VERDICT_CHARSET ? label->named : NULL;
	if (!r->beyond || !r->normalised)
		return 0;
	if (c->after.found)
		check_copy_text(r->after, c->after.bytes + from, c->after.len - from);
	if (!r->label || !check_decode(r->before, &c->before, label))
		return 0;
	r->label = NULL;                /* this system has no converter for it */
	return errno == EINVAL ? 0 : -1;
}

int check_finish(struct check *c)
{
	struct check_report *r = &c->report;

	if (!c->cut && check_peeled(c, gzip_peel_finish(c->peel)))
		return -1;
	if (!c->looked)
		check_look(c, true);
	r->content_type = c->options.normalise.content_type;
	r->http = c->options.normalise.http;
	r->evidence = &c->evidence;
	r->first_len = c->len < sizeof r->first ? c->len : sizeof r->first;
	memcpy(r->first, c->window, r->first_len);
	r->unpacked = gzip_peel_has_unpacked(c->peel);
	r->damaged = c->cut;
	check_prolog_read(&r->prolog, &c->evidence);
	check_dump_start(&r->start, &c->evidence);
	check_dump_around(&r->around, &r->start, &c->before, &c->evidence);
	if (check_verdicts(c) || check_result(c))
		return -1;
	check_wellformed(c);
	return check_texts(c);
}

struct check_report *check_report_of(struct check *c)
{
	return &c->report;
}

bool check_is_fine(const struct check_report *r)
{
	return r->normalised && !r->fault;
}
