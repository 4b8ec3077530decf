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

static const struct xmldecl *dump_declaration(const struct evidence *evidence)
{
	return evidence->hidden.state == XMLDECL_PRESENT ? &evidence->hidden
	    : evidence->decl.state == XMLDECL_PRESENT ? &evidence->decl
	    : NULL;
}

/* Where the document starts, behind a byte order mark and junk. */
static size_t dump_document(const struct evidence *evidence)
{
	const struct xmldecl *decl = dump_declaration(evidence);

	if (decl)
		return decl->start;
	return evidence->preamble.state == PREAMBLE_FEED ? evidence->preamble.at : evidence->bom_len;
}

static enum check_mark dump_mark(const struct evidence *evidence, uint64_t at)
{
	const struct xmldecl *decl = dump_declaration(evidence);

	if (at < evidence->bom_len)
		return MARK_BOM;
	if (at < dump_document(evidence))
		return MARK_JUNK;
	return decl && at < decl->end ? MARK_DECLARATION : MARK_PLAIN;
}

static void dump_fill(struct check_dump *dump, uint64_t offset, const uint8_t *bytes, size_t len,
    const struct evidence *evidence)
{
	dump->offset = offset;
	dump->len = len < sizeof dump->bytes ? len : sizeof dump->bytes;
	memcpy(dump->bytes, bytes, dump->len);
	for (size_t i = 0; i < dump->len; i++)
		dump->marks[i] = (uint8_t)dump_mark(evidence, offset + i);
}

/* Marks what is beyond ASCII. A character that the dump's end cuts is taken for what came before it. */
static void dump_beyond(struct check_dump *dump, const struct evidence *evidence)
{
	size_t from = dump->offset < evidence->bom_len ? (size_t)(evidence->bom_len - dump->offset) : 0, good;
	enum charset_family family = evidence_family(evidence).family;
	bool incomplete, stray = false;

	if (family != FAMILY_ASCII)
		return;
	while (from < dump->len) {
		good = utf8_valid_prefix(dump->bytes + from, dump->len - from);
		for (; good > 0; good--, from++)
			if (dump->bytes[from] >= 0x80)
				dump->marks[from] = MARK_UTF_8;
		if (from == dump->len)
			return;
		good = utf8_bad_length(dump->bytes + from, dump->len - from, &incomplete);
		stray = stray || !incomplete;
		for (; good > 0; good--)
			dump->marks[from++] = stray ? MARK_STRAY : MARK_UTF_8;
	}
}

static size_t whole_rows(size_t len)
{
	return (len + CHECK_DUMP_ROW - 1) / CHECK_DUMP_ROW * CHECK_DUMP_ROW;
}

void check_dump_start(struct check_dump *dump, const struct evidence *evidence)
{
	const struct xmldecl *decl = dump_declaration(evidence);
	size_t shown = whole_rows(decl ? decl->end : dump_document(evidence)) + CHECK_DUMP_ROW;

	memset(dump, 0, sizeof *dump);
	dump_fill(dump, 0, evidence->bytes, shown < evidence->len ? shown : evidence->len, evidence);
	dump_beyond(dump, evidence);
}

void check_dump_around(struct check_dump *dump, const struct check_dump *start, const struct excerpt *excerpt,
    const struct evidence *evidence)
{
	uint64_t first = excerpt->offset + excerpt->first, row = first / CHECK_DUMP_ROW * CHECK_DUMP_ROW,
	    from = excerpt->offset;

	memset(dump, 0, sizeof *dump);
	if (!excerpt->found || first < start->offset + start->len)
		return;
	if (row >= excerpt->offset + CHECK_DUMP_ROW)
		from = row - CHECK_DUMP_ROW;
	size_t skip = (size_t)(from - excerpt->offset);
	size_t len = excerpt->len - skip < 5 * CHECK_DUMP_ROW ? excerpt->len - skip : 5 * CHECK_DUMP_ROW;
	dump_fill(dump, from, excerpt->bytes + skip, len, evidence);
	dump_beyond(dump, evidence);
}

bool check_dump_parts(const struct check_dump *start, const struct check_dump *around)
{
	return around->len > 0 && around->offset > start->offset + start->len;
}
