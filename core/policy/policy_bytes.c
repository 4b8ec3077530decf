/* Questions of policies about the bytes; see policy_bytes.h. */
#include "core/policy/policy_bytes.h"

#include <errno.h>
#include <string.h>

enum { ESCAPE = 0x1B };

/* Notes want of memory. EINVAL is not noted, because it is an answer: this machine has no such converter, now or
 * later. */
static void note(const struct evidence *e, int error)
{
	if (error != EINVAL)
		*e->starved = true;
}

const uint8_t *policy_text(const struct evidence *e, size_t *len)
{
	*len = e->len - e->bom_len;
	return e->bytes + e->bom_len;
}

bool policy_reads(const struct evidence *e, enum charset cs, struct decoder_trial *t)
{
	size_t len;
	const uint8_t *text = policy_text(e, &len);

	if (decoder_try(cs, text, len, e->complete, t) == 0)
		return t->reads;
	note(e, errno);
	return false;
}

bool policy_accepts(const struct evidence *e, enum charset cs, struct decoder_trial *t)
{
	return policy_reads(e, cs, t) && t->accepts;
}

enum charset policy_guess(const struct evidence *e)
{
	static const char korean[] = "\x1B$)C";
	struct detection d;
	struct decoder_trial t;
	size_t len;
	const uint8_t *text = policy_text(e, &len);

	/* ISO-2022 text is all ASCII bytes, with escape sequences that designate sets: ESC "$" ")" "C" at the start of
	 * a line for ISO-2022-KR (RFC 1557), others for ISO-2022-JP (RFC 1468). */
	if (e->utf8.ascii && memmem(text, len, korean, sizeof korean - 1))
		return CS_ISO_2022_KR;
	if (e->utf8.ascii)
		return memchr(text, ESCAPE, len) ? CS_ISO_2022_JP : CS_NONE;
	if (e->utf8.valid)
		return CS_UTF_8;
	policy_weigh(e, NULL, 0, &d);
	for (size_t i = 0; i < d.n && d.is_text; i++)
		if (policy_accepts(e, d.readings[i].charset, &t))
			return d.readings[i].charset;
	return CS_NONE;
}

void policy_weigh(const struct evidence *e, const struct proposal *proposals, size_t n, struct detection *d)
{
	size_t len;
	const uint8_t *text = policy_text(e, &len);

	if (detector_explain(d, e->trace, text, len, &e->hints, proposals, n) == 0)
		return;
	d->n = d->bytes = 0;
	note(e, ENOMEM);
}

void policy_nodes(const struct evidence *e, struct nodes *nodes, enum charset whole, int says_utf_8)
{
	size_t len;
	const uint8_t *text = policy_text(e, &len);

	if (nodes_read(nodes, text, len, e->complete, whole, says_utf_8) == 0)
		return;
	*nodes = (struct nodes){ .lead = 0 };
	note(e, ENOMEM);
}

enum charset policy_weigh_nodes(const struct evidence *e, const struct nodes *nodes, const struct proposal *proposals,
    size_t n)
{
	enum charset cs;

	if (nodes_charset(&cs, nodes->other, nodes->len, &e->hints, proposals, n) != 0)
		note(e, ENOMEM);
	return cs;
}

bool policy_has_signs_only(const struct evidence *e, enum charset cs)
{
	size_t len;
	const uint8_t *text = policy_text(e, &len);
	bool only;

	if (detector_signs_only(&only, cs, text, len) != 0)
		note(e, errno);
	return only;
}
