/* URLs as they are written; see loose_url.h. */
#include "proxy/http/loose_url.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "conf/url.h"

void loose_url_decode(struct text *t, struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		bool escape = text.at[i] == '%' && text.len - i > 2;
		int hi = escape ? url_hex_digit(text.at[i + 1]) : -1, lo = escape ? url_hex_digit(text.at[i + 2]) : -1;

		if (hi >= 0 && lo >= 0) {
			text_add(t, &(char){ (char)(hi << 4 | lo) }, 1);
			i += 2;
		} else
			text_add(t, text.at + i, 1);
	}
}

/* What is left of a text, and what was seen of it. */
struct loose {
	struct slice rest;
	bool escapes;                  /* an escape stands for its character */
	bool encoded;                  /* there was one */
};

/* Takes one character off the text, if it stands there plain or as its escape. */
static bool loose_url_take(struct loose *loose, char plain, const char *escape)
{
	struct slice rest = loose->rest;
	size_t n = rest.len && *rest.at == plain ? 1 :
		loose->escapes && rest.len >= 3 && !strncasecmp(rest.at, escape, 3) ? 3 : 0;

	loose->encoded |= n == 3;
	loose->rest = (struct slice){ rest.at + n, rest.len - n };
	return n;
}

/* Takes a word and the colon behind it off the text. */
static bool take_scheme(struct loose *loose, const char *scheme)
{
	size_t n = strlen(scheme);
	struct loose then = *loose;

	if (loose->rest.len < n || strncasecmp(loose->rest.at, scheme, n))
		return false;
	then.rest = (struct slice){ loose->rest.at + n, loose->rest.len - n };
	if (!loose_url_take(&then, ':', "%3a"))
		return false;
	*loose = then;
	return true;
}

/* Writes what follows the slashes of a URL. */
static void add_rest(struct text *t, struct slice rest, bool encoded)
{
	const char *query = memchr(rest.at, '?', rest.len);
	size_t n = query ? (size_t)(query - rest.at) : rest.len;

	if (encoded && !memchr(rest.at, '/', n)) {
		loose_url_decode(t, (struct slice){ rest.at, n });
		text_add(t, rest.at + n, rest.len - n);
	} else
		text_add(t, rest.at, rest.len);
}

/* The length of a character of a name at the start of the text; a byte beyond ASCII may stand there as its escape. 0:
 * there is none. */
static size_t name_character(struct slice text, bool escapes)
{
	unsigned char c = text.len ? (unsigned char)*text.at : 0;

	if (isalnum(c) || c == '-' || c == '.' || c >= 0x80)
		return 1;
	return escapes && c == '%' && text.len > 2 && url_hex_digit(text.at[1]) >= 8 && url_hex_digit(text.at[2]) >= 0 ?
	    3 : 0;
}

/* The length of a name with a dot at the start of the text, and a slash behind it; 0: there is none. */
static size_t loose_name_length(struct slice text, bool escapes)
{
	size_t n = 0, label = 0, dots = 0, next;
	bool letters = false;

	for (; (next = name_character((struct slice){ text.at + n, text.len - n }, escapes)); n += next) {
		bool dot = text.at[n] == '.', letter = next > 1 || isalpha((unsigned char)text.at[n]) || text.at[n] < 0;

		if (dot && !label)
			return 0;
		dots += dot;
		letters = dot || (letters && letter);
		label = dot ? 0 : label + 1;
	}
	return dots && letters && label > 1 && n < text.len && text.at[n] == '/' ? n : 0;
}

bool loose_url(struct text *t, struct slice text, bool escapes)
{
	struct loose l = { text, escapes, false };
	bool feed = take_scheme(&l, "feed"), https = take_scheme(&l, "https"), http = !https && take_scheme(&l, "http");

	if ((feed || http || https) && loose_url_take(&l, '/', "%2f")) {
		loose_url_take(&l, '/', "%2f");
		text_puts(t, https ? "https://" : "http://");
		add_rest(t, l.rest, l.encoded);
		return true;
	}
	if (feed || http || https || !loose_name_length(text, escapes))
		return false;
	text_puts(t, "https://");
	text_add(t, text.at, text.len);
	return true;
}
