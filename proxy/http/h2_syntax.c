/* What both ways know; see h2_syntax.h. */
#include "proxy/http/h2_syntax.h"

#include <string.h>

#include "proxy/http/http_msg.h"

enum {
	H2_ANYWHERE = H2_IN_NAME | H2_IN_TOKEN | H2_IN_AUTHORITY,
	H2_IN_BOTH = H2_IN_NAME | H2_IN_TOKEN
};

static const uint8_t h2_classes[256] = {
	['a' ... 'z'] = H2_ANYWHERE, ['0' ... '9'] = H2_ANYWHERE, ['A' ... 'Z'] = H2_IN_TOKEN | H2_IN_AUTHORITY,
	['!'] = H2_ANYWHERE, ['$'] = H2_ANYWHERE, ['%'] = H2_ANYWHERE, ['&'] = H2_ANYWHERE, ['\''] = H2_ANYWHERE,
	['*'] = H2_ANYWHERE, ['+'] = H2_ANYWHERE, ['-'] = H2_ANYWHERE, ['.'] = H2_ANYWHERE, ['_'] = H2_ANYWHERE,
	['~'] = H2_ANYWHERE,
	['#'] = H2_IN_BOTH, ['^'] = H2_IN_BOTH, ['`'] = H2_IN_BOTH, ['|'] = H2_IN_BOTH,
	['('] = H2_IN_AUTHORITY, [')'] = H2_IN_AUTHORITY, [','] = H2_IN_AUTHORITY, [':'] = H2_IN_AUTHORITY,
	[';'] = H2_IN_AUTHORITY, ['='] = H2_IN_AUTHORITY, ['['] = H2_IN_AUTHORITY, [']'] = H2_IN_AUTHORITY,
	['@'] = H2_IN_USER,
};

static const uint8_t h2_kinds[H_COUNT] = {
	[H_CONNECTION] = H2_KIND_CONNECTION, [H_KEEP_ALIVE] = H2_KIND_CONNECTION,
	[H_PROXY_CONNECTION] = H2_KIND_CONNECTION, [H_UPGRADE] = H2_KIND_CONNECTION,
	[H_TRANSFER_ENCODING] = H2_KIND_CODING, [H_TE] = H2_KIND_TE, [H_CONTENT_LENGTH] = H2_KIND_LENGTH,
	[H_HOST] = H2_KIND_HOST, [H_COOKIE] = H2_KIND_CRUMB,
};

const char *const h2_pseudo_names[H2_PSEUDOS] = { ":method", ":scheme", ":authority", ":path", ":status" };

bool h2_is(struct slice s, unsigned classes)
{
	for (size_t i = 0; i < s.len; i++)
		if (!(h2_classes[(unsigned char)s.at[i]] & classes))
			return false;
	return s.len;
}

bool h2_equals(struct slice s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.at, text, s.len);
}

static bool h2_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool h2_is_value(struct slice value)
{
	bool bad = value.len && (h2_is_blank(value.at[0]) || h2_is_blank(value.at[value.len - 1]));

	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.at[i];

		bad |= ((c < ' ') & (c != '\t')) | (c == 0x7f);
	}
	return !bad;
}

bool h2_is_path(struct slice path, struct slice method)
{
	if (h2_equals(path, "*"))
		return h2_equals(method, "OPTIONS");
	for (size_t i = 0; i < path.len; i++)
		if ((unsigned char)path.at[i] <= ' ' || path.at[i] == 0x7f)
			return false;
	return path.len && path.at[0] == '/';
}

enum h2_kind h2_kind_of(struct slice name, struct slice value)
{
	unsigned kind = h2_kinds[http_header_id(name.at, name.len)];

	return kind == H2_KIND_TE && slice_is(value, "trailers") ? H2_KIND_LINE : (enum h2_kind)kind;
}

bool h2_read_length(struct slice value, int64_t *length)
{
	int64_t n = 0;

	for (size_t i = 0; i < value.len; i++) {
		int digit = value.at[i] - '0';

		if (digit < 0 || digit > 9 || n > (INT64_MAX - digit) / 10)
			return false;
		n = 10 * n + digit;
	}
	if (!value.len || (*length >= 0 && *length != n))
		return false;
	*length = n;
	return true;
}

int h2_read_status(const char *at)
{
	int status = 0;

	for (size_t i = 0; i < 3; i++) {
		if (at[i] < '0' || at[i] > '9')
			return 0;
		status = 10 * status + at[i] - '0';
	}
	return status >= 100 && status <= 599 && status != 101 ? status : 0;
}
