/* Names and passwords; see credentials.h. */
#include "proxy/http/credentials.h"

#include <string.h>
#include <strings.h>

#include "conf/url.h"
#include "proxy/base/base64.h"

enum { CREDENTIALS_TEXT_MAX = CREDENTIALS_NAME_MAX + 1 + CREDENTIALS_PASSWORD_MAX };

/* Splits "name:password" at its first colon. */
static bool credentials_split(struct credentials *to, const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	to->name_len = colon ? (size_t)(colon - text) : 0;
	to->password_len = colon ? len - to->name_len - 1 : 0;
	if (!to->name_len || to->name_len > CREDENTIALS_NAME_MAX || !to->password_len ||
	    to->password_len > CREDENTIALS_PASSWORD_MAX)
		return false;
	memcpy(to->name, text, to->name_len);
	to->name[to->name_len] = '\0';
	memcpy(to->password, colon + 1, to->password_len);
	to->password[to->password_len] = '\0';
	return true;
}

bool credentials_read_basic(struct credentials *to, struct slice value)
{
	char text[CREDENTIALS_TEXT_MAX];
	struct slice rest, scheme = slice_until(value, ' ', &rest);
	size_t len = rest.at ? base64_read(slice_trim(rest), text, sizeof text) : 0;
	bool read = slice_is(scheme, "basic") && credentials_split(to, text, len);

	explicit_bzero(text, len);
	return read;
}

/* Whether the text ends with the character, plain or as the escape. */
static bool credentials_end(const char *text, size_t len, char plain, const char *escape)
{
	return (len && text[len - 1] == plain) || (len >= 3 && !strncasecmp(text + len - 3, escape, 3));
}

static bool credentials_have_colon(const char *text, size_t len)
{
	return memchr(text, ':', len) || memmem(text, len, "%3A", 3) || memmem(text, len, "%3a", 3);
}

size_t credentials_token(struct slice path)
{
	size_t len = 1;

	if (path.len < 2 || *path.at != '/')
		return 0;
	while (len < path.len && !strchr("/?#", path.at[len]))
		len++;
	if (len == path.len || path.at[len] != '/' || !credentials_end(path.at, len, '@', "%40") ||
	    !credentials_have_colon(path.at, len))
		return 0;
	return len;
}

/* Takes a character, which may be percent-encoded, off the text. -1: it is none. */
static int credentials_take(struct slice *text)
{
	int high = 0, low = (unsigned char)*text->at;
	size_t width = 1;

	if (*text->at == '%') {
		high = text->len > 2 ? url_hex_digit(text->at[1]) : -1;
		low = text->len > 2 ? url_hex_digit(text->at[2]) : -1;
		width = 3;
	}
	if (high < 0 || low < 0)
		return -1;
	*text = (struct slice){ text->at + width, text->len - width };
	return high << 4 | low;
}

bool credentials_read_token(struct credentials *to, struct slice token)
{
	char text[CREDENTIALS_TEXT_MAX + 2];
	size_t len = 0;
	int c = 0;

	while (token.len && len < sizeof text && (c = credentials_take(&token)) >= 0)
		text[len++] = (char)c;
	/* Between the slash and the @. */
	bool read = !token.len && len > 2 && text[len - 1] == '@' && credentials_split(to, text + 1, len - 2);
	explicit_bzero(text, len);
	return read;
}

bool credentials_same(const struct credentials *given, const struct credentials *other)
{
	return given->name_len == other->name_len && given->password_len == other->password_len &&
	    !memcmp(given->name, other->name, given->name_len) &&
	    !memcmp(given->password, other->password, given->password_len);
}

void credentials_forget(struct credentials *given)
{
	explicit_bzero(given->password, given->password_len);
}
