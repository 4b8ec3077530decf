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

static void note_fault(struct wellformed *wellformed, const char *fault)
{
	if (wellformed->fault)
		return;
	wellformed->fault = fault;
	wellformed->line = (unsigned long)XML_GetCurrentLineNumber(wellformed->parser);
}

static void XMLCALL on_entity(void *arg, const XML_Char *name, int is_parameter, const XML_Char *value,
    int value_length, const XML_Char *base, const XML_Char *system, const XML_Char *public, const XML_Char *notation)
{
	struct wellformed *wellformed = arg;

	(void)name, (void)is_parameter, (void)value, (void)value_length;
	(void)base, (void)system, (void)public, (void)notation;
	note_fault(wellformed, "entity declarations are refused");
	XML_StopParser(wellformed->parser, XML_FALSE);
}

struct wellformed *wellformed_new(const char *encoding)
{
	struct wellformed *wellformed = calloc(1, sizeof(*wellformed));

	if (!wellformed)
		return NULL;
	wellformed->parser = XML_ParserCreate(encoding);
	if (!wellformed->parser) {
		free(wellformed);
		return NULL;
	}
	XML_SetUserData(wellformed->parser, wellformed);
	XML_SetEntityDeclHandler(wellformed->parser, on_entity);
	return wellformed;
}

void wellformed_free(struct wellformed **w)
{
	if (*w)
		XML_ParserFree((*w)->parser);
	free(*w);
	*w = NULL;
}

static void wellformed_parse(struct wellformed *wellformed, const uint8_t *bytes, size_t len, int final)
{
	if (XML_Parse(wellformed->parser, (const char *)bytes, (int)len, final) != XML_STATUS_OK)
		note_fault(wellformed, XML_ErrorString(XML_GetErrorCode(wellformed->parser)));
}

void wellformed_feed(struct wellformed *wellformed, const uint8_t *bytes, size_t len)
{
	while (len > 0 && !wellformed->fault) {
		size_t n = len < FEED_MAX ? len : FEED_MAX;

		wellformed_parse(wellformed, bytes, n, 0);
		bytes += n;
		len -= n;
	}
}

bool wellformed_finish(struct wellformed *wellformed)
{
	if (!wellformed->fault)
		wellformed_parse(wellformed, (const uint8_t *)"", 0, 1);
	return !wellformed->fault;
}

const char *wellformed_fault(const struct wellformed *wellformed)
{
	return wellformed->fault;
}

unsigned long wellformed_line(const struct wellformed *wellformed)
{
	return wellformed->line;
}
