/* Marking the bytes of a body; see check_dump.h. */
#include "proxy/report/check_dump.h"

#include <string.h>

static const struct {
	char letter;
	const char *text;
} marks[MARK_COUNT] = {
	[MARK_PLAIN] = { '.', "ASCII" },
	[MARK_BOM] = { 'B', "byte order mark" },
	[MARK_JUNK] = { 'J', "before the document" },
	[MARK_DECLARATION] = { 'D', "XML declaration" },
	[MARK_UTF_8] = { 'u', "beyond ASCII, well-formed UTF-8" },
	[MARK_STRAY] = { '!', "beyond ASCII, not UTF-8" },
};

char check_mark_letter(enum check_mark mark)
{
	return marks[mark].letter;
}

const char *check_mark_text(enum check_mark mark)
{
	return marks[mark].text;
}

static const struct xmldecl *dump_declaration(const struct evidence *e)
{
	return e->hidden.state == XMLDECL_PRESENT ? &e->hidden : e->decl.state == XMLDECL_PRESENT ? &e->decl : NULL;
}

/* Where the document starts, behind a byte order mark and junk. */
static size_t dump_document(const struct evidence *e)
{
	const struct xmldecl *decl = dump_declaration(e);

	if (decl)
		return decl->start;
	return e->preamble.state == PREAMBLE_FEED ? e->preamble.at : e->bom_len;
}

static enum check_mark dump_mark(const struct evidence *e, uint64_t at)
{
	const struct xmldecl *decl = dump_declaration(e);

	if (at < e->bom_len)
		return MARK_BOM;
	if (at < dump_document(e))
		return MARK_JUNK;
	return decl && at < decl->end ? MARK_DECLARATION : MARK_PLAIN;
}

static void dump_fill(struct check_dump *d, uint64_t offset, const uint8_t *bytes, size_t len, const struct evidence *e)
{
	d->offset = offset;
	d->len = len < sizeof d->bytes ? len : sizeof d->bytes;
	memcpy(d->bytes, bytes, d->len);
	for (size_t i = 0; i < d->len; i++)
		d->marks[i] = (uint8_t)dump_mark(e, offset + i);
}

/* Marks what is beyond ASCII. A character that the dump's end cuts is taken for what came before it. */
static void dump_beyond(struct check_dump *d, const struct evidence *e)
{
	size_t from = d->offset < e->bom_len ? (size_t)(e->bom_len - d->offset) : 0, good;
	enum charset_family family = evidence_family(e).family;
	bool incomplete, stray = false;

	if (family != FAMILY_ASCII)
		return;
	while (from < d->len) {
		good = utf8_valid_prefix(d->bytes + from, d->len - from);
		for (; good > 0; good--, from++)
			if (d->bytes[from] >= 0x80)
				d->marks[from] = MARK_UTF_8;
		if (from == d->len)
			return;
		good = utf8_bad_length(d->bytes + from, d->len - from, &incomplete);
		stray = stray || !incomplete;
		for (; good > 0; good--)
			d->marks[from++] = stray ? MARK_STRAY : MARK_UTF_8;
	}
}

static size_t whole_rows(size_t len)
{
	return (len + CHECK_DUMP_ROW - 1) / CHECK_DUMP_ROW * CHECK_DUMP_ROW;
}

void check_dump_start(struct check_dump *d, const struct evidence *e)
{
	const struct xmldecl *decl = dump_declaration(e);
	size_t shown = whole_rows(decl ? decl->end : dump_document(e)) + CHECK_DUMP_ROW;

	memset(d, 0, sizeof *d);
	dump_fill(d, 0, e->bytes, shown < e->len ? shown : e->len, e);
	dump_beyond(d, e);
}

void check_dump_around(struct check_dump *d, const struct check_dump *start, const struct excerpt *x,
    const struct evidence *e)
{
	uint64_t first = x->offset + x->first, row = first / CHECK_DUMP_ROW * CHECK_DUMP_ROW, from = x->offset;
	size_t skip, len;

	memset(d, 0, sizeof *d);
	if (!x->found || first < start->offset + start->len)
		return;
	if (row >= x->offset + CHECK_DUMP_ROW)
		from = row - CHECK_DUMP_ROW;
	skip = (size_t)(from - x->offset);
	len = x->len - skip < 5 * CHECK_DUMP_ROW ? x->len - skip : 5 * CHECK_DUMP_ROW;
	dump_fill(d, from, x->bytes + skip, len, e);
	dump_beyond(d, e);
}

bool check_dump_parts(const struct check_dump *start, const struct check_dump *around)
{
	return around->len > 0 && around->offset > start->offset + start->len;
}
