/* Owns asking a real XML parser whether a document is well-formed. See wellformed.h. */
#include "proxy/report/wellformed.h"

#include <expat.h>
#include <stdlib.h>

enum { FEED_MAX = 1 << 20 };    /* XML_Parse() takes an int */

struct wellformed {
	XML_Parser parser;
	const char *fault;
	unsigned long line;
};

static void record_fault(struct wellformed *w, const char *fault)
{
	if (w->fault)
		return;
	w->fault = fault;
	w->line = (unsigned long)XML_GetCurrentLineNumber(w->parser);
}

static void XMLCALL on_entity(void *arg, const XML_Char *name, int is_parameter, const XML_Char *value,
    int value_length, const XML_Char *base, const XML_Char *system, const XML_Char *public, const XML_Char *notation)
{
	struct wellformed *w = arg;

	(void)name, (void)is_parameter, (void)value, (void)value_length;
	(void)base, (void)system, (void)public, (void)notation;
	record_fault(w, "entity declarations are refused");
	XML_StopParser(w->parser, XML_FALSE);
}

struct wellformed *wellformed_new(const char *encoding)
{
	struct wellformed *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->parser = XML_ParserCreate(encoding);
	if (!w->parser) {
		free(w);
		return NULL;
	}
	XML_SetUserData(w->parser, w);
	XML_SetEntityDeclHandler(w->parser, on_entity);
	return w;
}

void wellformed_free(struct wellformed **w)
{
	if (*w)
		XML_ParserFree((*w)->parser);
	free(*w);
	*w = NULL;
}

static void wellformed_parse(struct wellformed *w, const uint8_t *bytes, size_t len, int final)
{
	if (XML_Parse(w->parser, (const char *)bytes, (int)len, final) != XML_STATUS_OK)
		record_fault(w, XML_ErrorString(XML_GetErrorCode(w->parser)));
}

void wellformed_feed(struct wellformed *w, const uint8_t *bytes, size_t len)
{
	while (len > 0 && !w->fault) {
		size_t n = len < FEED_MAX ? len : FEED_MAX;

		wellformed_parse(w, bytes, n, 0);
		bytes += n;
		len -= n;
	}
}

bool wellformed_finish(struct wellformed *w)
{
	if (!w->fault)
		wellformed_parse(w, (const uint8_t *)"", 0, 1);
	return !w->fault;
}

const char *wellformed_fault(const struct wellformed *w)
{
	return w->fault;
}

unsigned long wellformed_line(const struct wellformed *w)
{
	return w->line;
}
