/* Owns the cases of proxy/http/raw_target.c. Invariant: each row gives the same wherever the request is cut; what it becomes and what
 * follows lie in an allocation of just their size. */
#include "proxy/http/raw_target.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define REST " HTTP/1.1\r\nHost: \xc3\xbc\r\n\r\n\xff"        /* what stands there is not looked at */
#define FINE(target, encoded) "GET " target REST, "GET " encoded REST

/* want NULL: no valid UTF-8. */
static const struct { const char *rule, *request, *want; } cases[] = {
	{ "ASCII", FINE("/a?b=c", "/a?b=c") },
	{ "escapes stay", FINE("/%C3%BC%zz%", "/%C3%BC%zz%") },
	{ "two bytes", FINE("/\xc3\xbc", "/%C3%BC") },
	{ "three", FINE("/\xe2\x82\xac", "/%E2%82%AC") },
	{ "four", FINE("/\xf0\x9f\x8d\x8e", "/%F0%9F%8D%8E") },
	{ "one beside the other", FINE("/a\xd0\xb6\xd0\xb6z?\xd0\xb6", "/a%D0%B6%D0%B6z?%D0%B6") },
	{ "in a host", FINE("http://b\xc3\xbc" "cher.example/", "http://b%C3%BCcher.example/") },
	{ "the first byte", FINE("\xc3\xbc", "%C3%BC") },
	{ "the least of two bytes", FINE("/\xc2\x80", "/%C2%80") },
	{ "the last of two bytes", FINE("/\xdf\xbf", "/%DF%BF") },
	{ "the least of three", FINE("/\xe0\xa0\x80", "/%E0%A0%80") },
	{ "before the surrogates", FINE("/\xed\x9f\xbf", "/%ED%9F%BF") },
	{ "behind them", FINE("/\xee\x80\x80", "/%EE%80%80") },
	{ "a noncharacter is a character", FINE("/\xef\xbf\xbf", "/%EF%BF%BF") },
	{ "the least of four", FINE("/\xf0\x90\x80\x80", "/%F0%90%80%80") },
	{ "the last of all", FINE("/\xf4\x8f\xbf\xbf", "/%F4%8F%BF%BF") },
	{ "controls are the parser's affair", FINE("/\x01\x7f\xc3\xbc", "/\x01\x7f%C3%BC") },
	{ "a byte alone", "GET /\xc3 HTTP/1.1", NULL },
	{ "a byte alone before another character", "GET /\xc3(", NULL },
	{ "a byte alone at the line's end", "GET /\xc3\r\n", NULL },
	{ "a byte that goes on alone", "GET /\x80", NULL },
	{ "Latin-1", "GET /\xfc" "ber HTTP/1.1", NULL },
	{ "never a byte of UTF-8", "GET /\xff", NULL },
	{ "too long for its character", "GET /\xc0\xaf", NULL },
	{ "too long, three bytes", "GET /\xe0\x9f\xbf", NULL },
	{ "too long, four bytes", "GET /\xf0\x8f\xbf\xbf", NULL },
	{ "a surrogate", "GET /\xed\xa0\x80", NULL },
	{ "beyond Unicode", "GET /\xf4\x90\x80\x80", NULL },
	{ "five bytes", "GET /\xf8\x88\x80\x80\x80", NULL },
	{ "two of three", "GET /\xe2\x82 ", NULL },
	{ "good, then bad", "GET /\xc3\xbc\xff", NULL },
	{ "empty lines before", "\r\n\r\nGET /\xc3\xbc" REST, "\r\n\r\nGET /%C3%BC" REST },
	{ "no version", "GET /\xc3\xbc\r\nHost: \xc3\xbc\r\n\r\n", "GET /%C3%BC\r\nHost: \xc3\xbc\r\n\r\n" },
	{ "nothing but the target", "GET /\xc3\xbc", "GET /%C3%BC" },
	{ "in a method it stays", "G\xc3\xbcT /a" REST, "G\xc3\xbcT /a" REST },
	{ "behind the target it stays", "GET /a HTTP\xff/1.1\r\n", "GET /a HTTP\xff/1.1\r\n" },
	{ "two blanks: the second is the target's end", "GET  /\xc3\xbc" REST, "GET  /\xc3\xbc" REST },
	{ "nothing", "", "" },
};

/* Gives the request in pieces, as a connection would. Returns what it became, the caller's to free; NULL: refused. */
static char *read_in_pieces(const char *request, size_t step, size_t *len)
{
	struct raw_target t = { 0 };
	size_t left = strlen(request), parsed = 0;
	char *in = NULL;

	while (left) {
		size_t n = left < step ? left : step;
		struct raw_part part;
		char *grown = malloc(parsed + n);

		memcpy(grown, in ? in : "", parsed);
		memcpy(grown + parsed, request, n);
		free(in);
		in = grown;
		request += n;
		left -= n;
		if (!raw_target_read(&t, in + parsed, n, &part)) {
			free(in);
			return NULL;
		}
		CU_ASSERT(part.at + part.len <= n && part.beyond <= part.len);
		if (part.beyond) {
			in = realloc(in, parsed + n + 2 * part.beyond);
			raw_target_encode(in + parsed, n, &part);
			n += 2 * part.beyond;
		}
		parsed += n;
	}
	*len = parsed;
	return in ? in : calloc(1, 1);
}

static void requests(void)
{
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t step = 1; step <= strlen(cases[i].request) + 1; step++) {
			size_t len = 0;
			char *got = read_in_pieces(cases[i].request, step, &len);

			UNIT_ROW(!got == !cases[i].want, "%s, in pieces of %zu", cases[i].rule, step);
			UNIT_ROW(!got || !cases[i].want || (len == strlen(cases[i].want) && !memcmp(got, cases[i].want, len)), "%s, in pieces of %zu: %.*s",
				cases[i].rule, step, (int)len, got);
			free(got);
		}
}

UNIT_SUITE(raw_target, { "requests", requests })
