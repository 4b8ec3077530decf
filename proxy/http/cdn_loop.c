/* CDN-Loop; see cdn_loop.h. */
#include "proxy/http/cdn_loop.h"

#include <ctype.h>
#include <string.h>

#include "conf/url.h"

/* cdn-id: a pseudonym, which is a token (RFC 9110 section 5.6.2), or a host that may have a port. */
static bool loop_is_id(struct slice id)
{
	static const char signs[] = "!#$%&'*+-.^_`|~";
	struct url_host host;

	for (size_t i = 0; i < id.len; i++)
		if (!isalnum((unsigned char)id.at[i]) && !memchr(signs, id.at[i], sizeof signs - 1))
			return url_parse_host(id.at, id.len, &host) == URL_OK;
	return id.len;
}

/* Whether every quoted string ends, and nothing is in the text that no field should have. */
static bool loop_quotes_end(struct slice s)
{
	bool quoted = false;

	for (size_t i = 0; i < s.len; i++) {
		if (((unsigned char)s.at[i] < ' ' && s.at[i] != '\t') || s.at[i] == 0x7f)
			return false;
		if (quoted && s.at[i] == '\\')
			i++;
		else
			quoted ^= s.at[i] == '"';
	}
	return !quoted;
}

/* The next well-formed member, and its cdn-id. */
static bool loop_next(const struct http_msg *m, struct http_list *it, struct slice *member, struct slice *id)
{
	struct slice parameters;

	while (http_msg_next_member(m, H_CDN_LOOP, it, member)) {
		*id = slice_until(*member, ';', &parameters);
		if (loop_is_id(*id) && (!parameters.at || loop_quotes_end(parameters)))
			return true;
	}
	return false;
}

unsigned cdn_loop_count(const struct http_msg *m, const char *name)
{
	struct http_list it = { 0, 0 };
	struct slice member, id;
	unsigned n = 0;

	while (loop_next(m, &it, &member, &id))
		n += slice_is(id, name);
	return n;
}

void cdn_loop_add(struct text *t, const struct http_msg *m, const char *name)
{
	struct http_list it = { 0, 0 };
	struct slice member, id;
	const char *before = "CDN-Loop: ";

	while (loop_next(m, &it, &member, &id)) {
		text_puts(t, before);
		text_add(t, member.at, member.len);
		before = ", ";
	}
	if (name) {
		text_puts(t, before);
		text_puts(t, name);
	}
	if (name || *before == ',')
		text_puts(t, "\r\n");
}
