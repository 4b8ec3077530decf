/* Owns the fuzz target of core/normalise/normalise.c. Input: a byte each for policy and switches, output and window, cut, more switches; a Content-Type
 * up to a line feed; then the body.
 * Invariants: a recoded body is valid UTF-8 (US-ASCII where asked for); output, verdict and report do not depend on the cut; the
 * decision comes once and before the first byte; what is untouched is untouched;
 * by default what comes out, read again, comes out as it is; what is UTF-8 and labelled so comes out as it is, and beside strays each node does that is
 * well-formed. */
#include "core/normalise/normalise.h"
#include "core/repair/repair_tag.h"
#include "core/text/utf8.h"
#include "tests/unit/aligned.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_BYTES = 5, LABELLED_MAX = 2048 };

struct seen {
	int rc;
	unsigned decided;
	enum verdict_kind kind;
	bool keeps_type;
	char rule[VERDICT_FORMAT_MAX];
	struct normalise_report report;
	uint8_t *out;
	size_t len, cap;
};

static void check(int holds)
{
	if (!holds)
		abort();
}

static int on_verdict(void *arg, const struct verdict *v)
{
	struct seen *s = arg;

	s->kind = v->kind;
	s->keeps_type = v->keeps_type;
	check(verdict_format(v, s->rule, sizeof(s->rule)) < sizeof(s->rule));
	return 0;
}

static int on_decided(void *arg, const struct verdict *v)
{
	struct seen *s = arg;

	check(++s->decided == 1 && s->len == 0);
	return on_verdict(arg, v);
}

static int on_write(void *arg, const uint8_t *bytes, size_t len)
{
	struct seen *s = arg;

	check(s->decided == 1 && len > 0);
	if (s->cap - s->len < len) {
		s->cap = 2 * (s->len + len);
		s->out = realloc(s->out, s->cap);
		check(s->out != NULL);
	}
	memcpy(s->out + s->len, bytes, len);
	s->len += len;
	return 0;
}

static void run(struct seen *s, const struct normalise_options *o, const uint8_t *in, size_t len, size_t step)
{
	struct normalise_events events = { on_decided, on_verdict, on_write, s };
	struct normaliser *n = normaliser_new(o, &events);

	check(n != NULL);
	for (size_t at = 0; at < len && s->rc == 0; at += step)
		s->rc = normaliser_feed(n, in + at, len - at < step ? len - at : step);
	if (s->rc == 0)
		s->rc = normaliser_finish(n);
	s->report = *normaliser_report(n);
	normaliser_free(&n);
}

/* The same by one call, which judges the bytes where they are. */
static void run_last(struct seen *s, const struct normalise_options *o, const uint8_t *in, size_t len)
{
	struct normalise_events events = { on_decided, on_verdict, on_write, s };
	struct normaliser *n = normaliser_new(o, &events);

	check(n != NULL);
	s->rc = normaliser_feed_last(n, in, len);
	s->report = *normaliser_report(n);
	normaliser_free(&n);
}

static void check_output(const struct seen *s, const struct normalise_options *o, const uint8_t *in, size_t len)
{
	check(s->decided == 1);
	check(s->rc == 0 || (s->rc == NORMALISE_REJECTED && s->kind == VERDICT_ERROR && s->len == 0));
	if (s->rc)
		return;
	check(s->report.bytes_in == len && s->report.bytes_out == s->len);
	if (s->kind != VERDICT_CHARSET)
		check(s->len == len && (len == 0 || memcmp(s->out, in, len) == 0));
	else if (o->output == OUTPUT_US_ASCII)
		check(s->len == 0 || utf8_ascii_prefix(s->out, s->len) == s->len);
	else
		check(s->len == 0 || utf8_valid_prefix(s->out, s->len) == s->len);
}

static void check_same(const struct seen *a, const struct seen *b)
{
	check(a->rc == b->rc && a->kind == b->kind && strcmp(a->rule, b->rule) == 0);
	check(a->len == b->len && (a->len == 0 || memcmp(a->out, b->out, a->len) == 0));
	if (a->rc == 0)
		check(memcmp(&a->report, &b->report, sizeof(a->report)) == 0);
}

/* By default, with the Content-Type that the answer has; one that kept its own is left out. Longer bodies may have tags that are not read as a
 * whole. */
static void check_again(const struct normalise_options *given, const uint8_t *data, size_t size)
{
	struct normalise_options o = { .policy = POLICY_AUTO, .http = given->http, .content_type = given->content_type, .content_type_len = given->content_type_len,
		.repairs = REPAIR_ALL };
	struct seen once = { 0 }, again = { 0 };

	run(&once, &o, data, size, size + 1);
	if (once.rc == 0 && once.kind == VERDICT_CHARSET && !once.keeps_type && once.len < TAG_MAX) {
		o.http = true;
		o.content_type = normalise_content_type(OUTPUT_UTF_8);
		o.content_type_len = strlen(o.content_type);
		run(&again, &o, once.out, once.len, once.len + 1);
		check(again.len == once.len && (once.len == 0 || memcmp(again.out, once.out, once.len) == 0));
	}
	free(once.out);
	free(again.out);
}

/* The bytes as a feed's text, which its label calls UTF-8. An escape may begin a character of ISO-2022-JP. */
static void check_labelled(const struct normalise_options *given, const uint8_t *data, size_t size)
{
	static const char root[] = "<rss><channel><title>", type[] = "text/xml; charset=utf-8";
	struct normalise_options o = { .policy = POLICY_AUTO, .http = true, .content_type = type, .content_type_len = sizeof(type) - 1,
		.sniff_bytes = given->sniff_bytes };
	size_t len = sizeof(root) - 1 + size;
	struct seen s = { 0 };
	uint8_t *body;

	if (size > LABELLED_MAX || (size > 0 && memchr(data, 0x1B, size)))
		return;
	body = malloc(len);
	check(body != NULL);
	memcpy(body, root, sizeof(root) - 1);
	if (size > 0)
		memcpy(body + sizeof(root) - 1, data, size);
	run(&s, &o, body, len, len);
	check(s.rc == 0);
	if (aligned_run(body, len, false) == len)
		check(s.len == len && memcmp(s.out, body, len) == 0);
	else if (strstr(s.rule, ";charset=utf-8"))
		check(aligned_by_nodes(body, len, s.out, s.len));
	free(s.out);
	free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t windows[] = { 0, 16, 64, 2000 };
	struct normalise_options o = { 0 };
	struct seen whole = { 0 }, cut = { 0 }, last = { 0 };
	const uint8_t *line;
	size_t step;

	if (size < HEAD_BYTES)
		return 0;
	o.policy = (enum policy)(data[0] % POLICY_COUNT);
	o.repairs = ((data[1] & 0x3fu) | (unsigned)data[4] << 6) &
	    (REPAIR_ALL | REPAIR_NAMESPACES | REPAIR_BASE | REPAIR_DOUBLE);
	o.base = "http://a/?b&c";
	o.gateway = !(data[1] & 0x40) ? NULL : data[2] & 0x20 ? "https://g/p" : "http://g";
	o.characters = data[2] & 0x80 ? CHARACTERS_REPLACE : CHARACTERS_DROP;
	o.http = data[1] >> 7;
	o.output = data[2] & 1 ? OUTPUT_US_ASCII : OUTPUT_UTF_8;
	o.on_error = data[2] & 2 ? ON_ERROR_PASS : ON_ERROR_REJECT;
	o.sniff_bytes = windows[data[2] >> 2 & 3];
	o.forced = data[2] & 0x40 ? (enum charset)(data[2] % CS_COUNT) : CS_NONE;
	step = data[3] + 1u;
	data += HEAD_BYTES;
	size -= HEAD_BYTES;
	line = memchr(data, '\n', size);
	if (o.http && line) {
		o.content_type = (const char *)data;
		o.content_type_len = (size_t)(line - data);
		size -= o.content_type_len + 1;
		data = line + 1;
	}
	run(&whole, &o, data, size, size + 1);
	check_output(&whole, &o, data, size);
	run(&cut, &o, data, size, step);
	check_same(&whole, &cut);
	run_last(&last, &o, data, size);
	check_same(&whole, &last);
	check_again(&o, data, size);
	check_labelled(&o, data, size);
	free(whole.out);
	free(cut.out);
	free(last.out);
	return 0;
}
