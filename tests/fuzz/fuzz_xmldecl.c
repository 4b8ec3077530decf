/* Owns feeding arbitrary bodies to everything that looks at first bytes: declaration reader, evidence, look-in, policies.
 * Invariant tested: positions lie in the text; what is final for a beginning is so for the whole; a verdict is complete.
 * First byte: which Content-Type. Second: where the text is cut. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/evidence/declaration.h"
#include "core/evidence/sniff.h"
#include "core/policy/policy.h"
#include "tests/unit/collect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const types[] = {
	NULL, "text/html", "text/xml", "application/xml; charset=utf-16", "application/rss+xml; charset=windows-1251", "application/json",
	"text/plain; charset=gb2312", "image/svg+xml; charset=x-bogus",
};

enum { TYPES = sizeof types / sizeof types[0] };

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void collect(struct evidence *e, const char *type, const uint8_t *bytes, size_t len, bool complete)
{
	evidence_collect(e, type != NULL, type, type == NULL ? 0 : strlen(type), CS_NONE, bytes, len, complete);
}

static void check_declaration(const struct xmldecl *d, size_t len, bool complete)
{
	require(d->start <= d->end && d->end <= len);
	require((d->state == XMLDECL_PRESENT) == (d->end > d->start));
	require(!complete || d->state != XMLDECL_INCOMPLETE);
	require(d->state == XMLDECL_PRESENT || (d->encoding[0] == '\0' && d->version[0] == '\0'));
	require(memchr(d->encoding, '\0', sizeof d->encoding) != NULL && memchr(d->version, '\0', sizeof d->version) != NULL);
}

static bool starts_at(const struct scan *text, size_t at)
{
	struct scan s = *text;
	bool vague;

	s.at = at;
	return declaration_starts(&s, &vague) == SCAN_YES;
}

static void check_text(const uint8_t *bytes, size_t len)
{
	struct declaration d;
	struct xmldecl loose;
	const struct scan s = { { CS_UTF_8, FAMILY_ASCII, 1 }, bytes, len, 0 };
	struct preamble p;
	enum junk junk;

	declaration_read(&d, &s, true);
	check_declaration(&d.said, len, true);
	require(d.end <= d.said.end && d.enc_start <= d.enc_end && d.enc_end <= d.end);
	require(d.enc_start == d.enc_end || memcmp(bytes + d.enc_start, "encoding", 8) == 0);
	require(d.enc_start == d.enc_end || bytes[d.enc_end - 1] == '"' || bytes[d.enc_end - 1] == '\'');
	xmldecl_read(&loose, s.family, bytes, len, 0, true);
	require(!d.right || (loose.end == d.end && strcmp(loose.encoding, d.encoding) == 0 && strcmp(loose.version, d.said.version) == 0));
	for (junk = JUNK_NONE; junk <= JUNK_TEXT; junk++) {
		preamble_look(&p, &s, junk, true);
		require(p.state != PREAMBLE_MORE && p.at <= len);
		require(p.state != PREAMBLE_DECLARATION || starts_at(&s, p.at));
		require(p.state != PREAMBLE_FEED || bytes[p.at] == '<');
	}
}

/* auto's name for what it found. */
static const char *reported(const struct verdict *v, const struct evidence *e)
{
	return e->utf8.ascii && strcmp(v->named, "us-ascii") == 0 ? "us-ascii" : charset_name(v->charset);
}

static void check_verdicts(const struct evidence *e)
{
	char value[VERDICT_FORMAT_MAX];
	struct verdict v;
	size_t p;

	for (p = 0; p < POLICY_COUNT; p++) {
		require(policy_decide((enum policy)p, e, &v) == 0);
		require(v.kind == VERDICT_CHARSET || v.kind == VERDICT_ERROR);
		require(v.path[0] != '\0' && strlen(v.path) < sizeof v.path - 1);
		require((v.kind == VERDICT_CHARSET) == (v.charset != CS_NONE) && (v.kind == VERDICT_CHARSET) == (v.named != NULL));
		require(v.kind == VERDICT_CHARSET || v.error != VERR_NONE);
		require(p != POLICY_AUTO || (v.kind == VERDICT_CHARSET && strcmp(v.named, reported(&v, e)) == 0));
		require(verdict_format(&v, value, sizeof value) < sizeof value - 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *type;
	struct evidence whole, part;
	size_t cut;
	enum sniff first, last;

	if (size < 2)
		return 0;
	type = types[data[0] % TYPES];
	cut = data[1];
	data += 2, size -= 2;
	if (cut > size)
		cut = size;
	collect(&whole, type, data, size, true);
	collect(&part, type, data, cut, false);
	check_declaration(&whole.decl, size, true);
	check_declaration(&whole.hidden, size, true);
	check_declaration(&part.decl, cut, false);
	check_declaration(&part.hidden, cut, false);
	require(evidence_is_settled(&whole));
	if (evidence_is_settled(&part)) {
		require(part.BOMEnc == whole.BOMEnc && part.guess.charset == whole.guess.charset);
		require(part.decl.state == whole.decl.state && part.decl.end == whole.decl.end);
		require(part.hidden.state == whole.hidden.state && strcmp(part.hidden.encoding, whole.hidden.encoding) == 0);
	}
	first = sniff_decide(&part);
	last = sniff_decide(&whole);
	require(last != SNIFF_MORE && (first == SNIFF_MORE || first == last));
	check_text(data, size);
	check_verdicts(&whole);
	check_verdicts(&part);
	return 0;
}
