/* Quoted values; see conf_quote.h. */
#include "conf/conf_quote.h"

#include <stdbool.h>
#include <string.h>

static bool is_escape(const char *at)
{
	return at[0] == '\\' && (at[1] == '"' || at[1] == '\\');
}

size_t conf_quoted_length(const char *text)
{
	for (const char *at = text + 1; *at; at++) {
		if (*at == '"')
			return (size_t)(at - text) + 1;
		if (is_escape(at))
			at++;
	}
	return 0;
}

void conf_unquote(char *text)
{
	char *out = text;

	for (const char *in = text + 1; *in && *in != '"'; in++) {
		if (is_escape(in))
			in++;
		*out++ = *in;
	}
	*out = '\0';
}

void conf_quote(FILE *out, const char *text, size_t len)
{
	fputc('"', out);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"' || text[i] == '\\')
			fputc('\\', out);
		fputc(text[i], out);
	}
	fputc('"', out);
}

size_t conf_item_length(const char *text, const char *stops)
{
	bool named = false;         /* the = of this word has been seen */
	size_t len = 0;

	for (; text[len] && !strchr(stops, text[len]); len++) {
		if (text[len] == ' ' || text[len] == '\t')
			named = false;
		if (text[len] != '=' || named)
			continue;
		named = true;
		if (text[len + 1] == '"')
			len += conf_quoted_length(text + len + 1);
	}
	return len;
}
