/* Owns what an XML parser says of a document; the only file here that includes <expat.h>. See identity.h.
 * Invariant: two documents that differ in anything but encoding and declaration have different events. */
#include "identity.h"

#include <expat.h>
#include <stdio.h>
#include <string.h>

/* One event: its letter, then strings, each ended by a unit separator, which no document holds. Text is joined. */
struct reader {
	struct text *out;
	bool in_text;
};

static void event(struct reader *r, const char *kind, const char *a, const char *b)
{
	r->in_text = false;
	text_put(r->out, "\n\x1f");
	text_put(r->out, kind);
	text_put(r->out, a ? a : "\x1e");
	text_put(r->out, "\x1f");
	text_put(r->out, b ? b : "\x1e");
}

static void XMLCALL on_start(void *arg, const XML_Char *name, const XML_Char **attributes)
{
	event(arg, "start ", name, "");
	for (; *attributes; attributes += 2)
		event(arg, "attribute ", attributes[0], attributes[1]);
}

static void XMLCALL on_end(void *arg, const XML_Char *name)
{
	event(arg, "end ", name, "");
}

static void XMLCALL on_text(void *arg, const XML_Char *text, int len)
{
	struct reader *r = arg;

	if (!r->in_text)
		event(r, "text ", "", "");
	r->in_text = true;
	text_add(r->out, text, (size_t)len);
}

static void XMLCALL on_instruction(void *arg, const XML_Char *target, const XML_Char *data)
{
	event(arg, "instruction ", target, data);
}

static void XMLCALL on_comment(void *arg, const XML_Char *text)
{
	event(arg, "comment ", text, "");
}

static void XMLCALL on_section(void *arg)
{
	event(arg, "section ", "", "");
}

static void XMLCALL on_section_end(void *arg)
{
	event(arg, "section end ", "", "");
}

static void XMLCALL on_declaration(void *arg, const XML_Char *version, const XML_Char *encoding, int standalone)
{
	(void)encoding;
	event(arg, "declaration ", version, standalone < 0 ? "" : standalone ? "yes" : "no");
}

static void XMLCALL on_doctype(void *arg, const XML_Char *name, const XML_Char *system, const XML_Char *public, int subset)
{
	event(arg, "doctype ", name, subset ? "[" : "");
	event(arg, "its id ", system, public);
}

static void XMLCALL on_entity(void *arg, const XML_Char *name, int parameter, const XML_Char *value, int len, const XML_Char *base,
    const XML_Char *system, const XML_Char *public, const XML_Char *notation)
{
	struct reader *r = arg;

	(void)base;
	event(r, parameter ? "parameter entity " : "entity ", name, notation);
	event(r, "its id ", system, public);
	if (value)
		text_add(r->out, value, (size_t)len);
}

static void XMLCALL on_notation(void *arg, const XML_Char *name, const XML_Char *base, const XML_Char *system, const XML_Char *public)
{
	(void)base;
	event(arg, "notation ", name, "");
	event(arg, "its id ", system, public);
}

static void XMLCALL on_attribute_list(void *arg, const XML_Char *element, const XML_Char *attribute, const XML_Char *type,
    const XML_Char *value, int required)
{
	event(arg, "attribute list ", element, attribute);
	event(arg, required ? "required " : "type ", type, value);
}

static void XMLCALL on_skipped(void *arg, const XML_Char *name, int parameter)
{
	event(arg, parameter ? "skipped parameter entity " : "skipped entity ", name, "");
}

bool xml_events(struct text *events, const char *encoding, const char *bytes, size_t len)
{
	XML_Parser parser = XML_ParserCreate(encoding);
	struct reader r = { events, false };
	bool fine;

	text_clear(events);
	XML_SetUserData(parser, &r);
	XML_SetElementHandler(parser, on_start, on_end);
	XML_SetCharacterDataHandler(parser, on_text);
	XML_SetProcessingInstructionHandler(parser, on_instruction);
	XML_SetCommentHandler(parser, on_comment);
	XML_SetCdataSectionHandler(parser, on_section, on_section_end);
	XML_SetXmlDeclHandler(parser, on_declaration);
	XML_SetStartDoctypeDeclHandler(parser, on_doctype);
	XML_SetEntityDeclHandler(parser, on_entity);
	XML_SetNotationDeclHandler(parser, on_notation);
	XML_SetAttlistDeclHandler(parser, on_attribute_list);
	XML_SetSkippedEntityHandler(parser, on_skipped);
	fine = XML_Parse(parser, bytes, (int)len, 1) == XML_STATUS_OK;
	if (!fine)
		event(&r, "fault ", XML_ErrorString(XML_GetErrorCode(parser)), "");
	XML_ParserFree(parser);
	return fine;
}
