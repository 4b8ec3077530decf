/* Reading forms; see form.h. */
#include "proxy/admin/form.h"

#include <string.h>

#include "conf/url.h"

/* Decodes text, at most cap - 1 bytes of it. False: it does not fit, or has a NUL. A % without two digits stands for
 * itself. */
static bool form_decode(struct slice text, char *out, size_t cap)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i] == '+' ? ' ' : text.at[i];
		bool escape = c == '%' && i + 2 < text.len;
		int hi = escape ? url_hex_digit(text.at[i + 1]) : -1, lo = escape ? url_hex_digit(text.at[i + 2]) : -1;

		if (hi >= 0 && lo >= 0) {
			c = (char)(hi << 4 | lo);
			i += 2;
		}
		if (!c || n + 1 >= cap) {
			out[0] = '\0';
			return false;
		}
		out[n++] = c;
	}
	out[n] = '\0';
	return true;
}

/* Takes the bytes before the next '&'; *rest gets those behind it. */
static struct slice form_member(struct slice *rest)
{
	const char *end = memchr(rest->at, '&', rest->len);
	struct slice member = { rest->at, end ? (size_t)(end - rest->at) : rest->len };

	*rest = end ? (struct slice){ end + 1, rest->len - member.len - 1 } : (struct slice){ NULL, 0 };
	return member;
}

static enum form_result form_find(struct slice form, const char *name, char *out, size_t cap)
{
	while (form.at) {
		struct slice member = form_member(&form);
		const char *eq = memchr(member.at, '=', member.len);
		size_t len = eq ? (size_t)(eq - member.at) : member.len;

		if (len != strlen(name) || memcmp(member.at, name, len))
			continue;
		member = eq ? (struct slice){ eq + 1, member.len - len - 1 } : (struct slice){ "", 0 };
		return form_decode(member, out, cap) ? FORM_FOUND : FORM_TOO_LONG;
	}
	return FORM_ABSENT;
}

enum form_result form_get(struct slice query, struct slice body, const char *name, char *out, size_t cap)
{
	enum form_result r = form_find(query, name, out, cap);

	if (r == FORM_ABSENT)
		r = form_find(body, name, out, cap);
	if (r == FORM_ABSENT)
		out[0] = '\0';
	return r;
}

bool form_number(const char *word, uint64_t most, uint64_t *n)
{
	*n = 0;
	for (const char *at = word; *at; at++) {
		unsigned digit = (unsigned)*at - '0';

		if (digit > 9 || *n > most / 10 || digit > most - *n * 10)
			return false;
		*n = *n * 10 + digit;
	}
	return *word != '\0';
}
