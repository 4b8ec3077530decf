/* Owns gathering the evidence: everything that can be known of a response before its encoding is decided.
 * Must not know: policies. It weighs nothing. */
#include "core/evidence/evidence.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "core/evidence/declaration.h"

static void copy_label(struct evidence_label *l, const char *text)
{
	size_t len = strnlen(text, sizeof l->text - 1);

	memcpy(l->text, text, len);
	l->text[len] = '\0';
	l->label = NULL;
}

/* Finds out what the labels mean. The declaration's is mostly that of the header. */
static void read_labels(struct evidence *e)
{
	struct evidence_label *const labels[] = { &e->CTEnc, &e->XMLEnc, &e->hidden_enc };

	for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
		const char *text = labels[i]->text;

		if (labels[i]->label || text[0] == '\0')
			continue;
		labels[i]->label = i > 0 && strcasecmp(text, e->CTEnc.text) == 0
		    ? e->CTEnc.label
		    : charset_lookup(text, strlen(text));
	}
}

struct bom_family evidence_family(const struct evidence *e)
{
	static const struct bom_family ascii = { CS_UTF_8, FAMILY_ASCII, 1 };
	enum charset_family f = e->BOMEnc == CS_NONE ? FAMILY_NONE : charset_info(e->BOMEnc)->family;

	if (f == FAMILY_16BIT || f == FAMILY_32BIT)
		return (struct bom_family){ e->BOMEnc, f, f == FAMILY_16BIT ? 2 : 4 };
	return e->loose.family != FAMILY_NONE ? e->loose : ascii;
}

/* Reads the declaration there, malformed or not. If it names two charsets, e->XMLEnc may be the first. */
static void read_meant(struct evidence *e, const struct scan *at)
{
	struct declaration d;

	declaration_read(&d, at, e->complete);
	if (e->decl.state != XMLDECL_ABSENT && d.right && d.said.end == d.end)
		return;
	e->hidden = d.said;
	if (d.other[0] && strcasecmp(d.said.encoding, e->XMLEnc.text) == 0)
		memcpy(e->hidden.encoding, d.other, sizeof d.other);
}

static void find_hidden(struct evidence *e)
{
	const struct scan s = { evidence_family(e), e->bytes, e->len, e->bom_len };

	preamble_look(&e->preamble, &s, junk_allowed(e->http, e->kind), e->complete);
	if (e->preamble.state == PREAMBLE_DECLARATION) {
		const struct scan at = { s.family, e->bytes, e->len, e->preamble.at };

		read_meant(e, &at);
	} else if (e->preamble.state == PREAMBLE_MORE) {
		e->hidden.state = XMLDECL_INCOMPLETE;
	}
}

/* Reads the declaration of the published rules once more: it may be malformed, or not only the document may follow. */
static void read_again(struct evidence *e)
{
	const struct scan at = { e->guess, e->bytes, e->len, e->bom_len };

	read_meant(e, &at);
	if (strcasecmp(e->hidden.encoding, e->XMLEnc.text) == 0)
		e->hidden.encoding[0] = '\0';
}

void evidence_labels(struct evidence *e, bool http, const char *content_type, size_t content_type_len,
    enum charset forced)
{
	e->http = http;
	e->unpacked = false;
	e->forced = forced;
	media_type_read(&e->type, content_type, content_type_len);
	e->kind = media_kind(&e->type);
	copy_label(&e->CTEnc, e->type.charset);
}

void evidence_look(struct evidence *e, const uint8_t *bytes, size_t len, bool complete)
{
	static const uint8_t nothing[1];

	if (!bytes)
		bytes = nothing, len = 0;
	memset((char *)e + offsetof(struct evidence, bytes), 0, sizeof *e - offsetof(struct evidence, bytes));
	e->bytes = bytes;
	e->len = len;
	e->complete = complete;

	e->BOMEnc = bom_detect(bytes, len, &e->bom_len);
	e->guess = bom_family_strict(bytes + e->bom_len, len - e->bom_len);
	e->loose = bom_family_loose(bytes + e->bom_len, len - e->bom_len);
	xmldecl_read(&e->decl, e->guess, bytes, len, e->bom_len, complete);
	copy_label(&e->XMLEnc, e->decl.encoding);
	e->preamble.state = PREAMBLE_NONE;
	e->hidden.standalone = -1;
	if (e->decl.state == XMLDECL_ABSENT)
		find_hidden(e);
	else if (e->decl.state != XMLDECL_INCOMPLETE)
		read_again(e);
	copy_label(&e->hidden_enc, e->hidden.encoding);
}

static size_t utf8_mark(const struct evidence *e)
{
	return e->BOMEnc == CS_UTF_8 ? e->bom_len : 0;
}

void evidence_finish(struct evidence *e)
{
	read_labels(e);
	e->utf8 = utf8_look(e->bytes + utf8_mark(e), e->len - utf8_mark(e), e->complete);
	/* A feed that is UTF-8 to its end needs no hints. */
	if (e->utf8.valid && e->complete)
		return;
	hints_read_feed(&e->hints, e->bytes, e->len);
	hints_read_told(&e->hints, &e->told);
}

struct utf8_count evidence_count(const struct evidence *e)
{
	return utf8_count(e->bytes + utf8_mark(e), e->len - utf8_mark(e), e->complete);
}

bool evidence_is_settled(const struct evidence *e)
{
	if (e->complete)
		return true;
	return e->len >= e->bom_len + BOM_WINDOW && e->len >= BOM_WINDOW && e->decl.state != XMLDECL_INCOMPLETE &&
	    e->hidden.state != XMLDECL_INCOMPLETE;
}
