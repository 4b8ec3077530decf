/* Hides the values of secret parameters; see url_secrets.h. */
#include "proxy/base/url_secrets.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "proxy/base/url_mask.h"

enum { SECRET_NAME_MAX = 64 };         /* a parameter with a longer name is taken for secret */

/* A name is secret if one of its words is in this table: api_key, X-Amz-Signature and accessToken have such words. */
static const char *const secret_words[] = {
	"apikey", "auth", "authkey", "authorization", "bearer", "cookie", "credential", "credentials", "hmac", "jwt",
	"key", "oauth", "otp", "pass", "passcode", "passphrase", "passwd", "password", "pw", "pwd",
	"secret", "session", "sessionid", "sid", "sig", "sign", "signature", "ticket", "token",
};
/* The same of words that end so: authtoken, secretkey. */
static const char *const secret_ends[] = { "token", "secret", "password", "passwd", "signature", "apikey", "accesskey",
	"secretkey", "privatekey", "sessid" };

static bool separates(unsigned char c)
{
	return c == '?' || c == '&' || c == ';' || c == '#';
}

static bool secret_ends_so(const char *word, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !memcmp(word + len - n, end, n);
}

/* word: in lower case. */
static bool secret_word(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof secret_words / sizeof *secret_words; i++)
		if (strlen(secret_words[i]) == len && !memcmp(secret_words[i], word, len))
			return true;
	for (size_t i = 0; i < sizeof secret_ends / sizeof *secret_ends; i++)
		if (secret_ends_so(word, len, secret_ends[i]))
			return true;
	return false;
}

/* Writes the name decoded, a blank before each capital that follows a small letter. Returns its length; SIZE_MAX: it
 * is too long. */
static size_t secret_read_name(char out[SECRET_NAME_MAX], const char *name, size_t len)
{
	bool small = false;
	size_t n = 0;

	for (size_t at = 0; at < len;) {
		struct url_sign s = url_sign_at(name + at, len - at);

		if (n + 2 > SECRET_NAME_MAX)
			return SIZE_MAX;
		if (small && isupper(s.is))
			out[n++] = ' ';
		out[n++] = (char)s.is;
		small = islower(s.is);
		at += s.width;
	}
	return n;
}

static bool secret_name(const char *name, size_t len)
{
	char plain[SECRET_NAME_MAX];
	size_t n = secret_read_name(plain, name, len), start = 0;

	if (n == SIZE_MAX)
		return true;
	for (size_t at = 0; at < n; at++) {
		plain[at] = (char)tolower((unsigned char)plain[at]);
		if (isalnum((unsigned char)plain[at]))
			continue;
		if (secret_word(plain + start, at - start))
			return true;
		start = at + 1;
	}
	return secret_word(plain + start, n - start);
}

/* The bytes of the value that begins at text; a separator of more depth than the name's sign belongs to the value. */
static size_t value_length(const char *text, size_t len, unsigned depth)
{
	size_t at = 0;

	while (at < len) {
		struct url_sign s = url_sign_at(text + at, len - at);

		if (separates(s.is) && s.depth <= depth)
			break;
		at += s.width;
	}
	return at;
}

struct shown {
	char *out;
	size_t len, cap;
};

static void shown_add(struct shown *to, const char *text, size_t len)
{
	if (len > to->cap - 1 - to->len)
		len = to->cap - 1 - to->len;
	memcpy(to->out + to->len, text, len);
	to->len += len;
}

bool url_has_secret_sign(const char *text, size_t len)
{
	if (!len)
		return false;
	if (memchr(text, '=', len) || url_has_userinfo_sign(text, len))
		return true;
	/* "=" is %3D however often it is encoded */
	return memchr(text, '%', len) && (memmem(text, len, "3D", 2) || memmem(text, len, "3d", 2));
}

size_t url_hide_secrets(char *out, size_t cap, const char *text, size_t len)
{
	struct shown to = { out, 0, cap };
	const char *name = NULL;       /* NULL: this is not a name */

	for (size_t at = 0; at < len;) {
		struct url_sign s = url_sign_at(text + at, len - at);
		bool secret = s.is == '=' && name && secret_name(name, (size_t)(text + at - name));

		shown_add(&to, text + at, s.width);
		at += s.width;
		if (separates(s.is))
			name = text + at;
		else if (s.is == '=')
			name = NULL;
		if (secret) {
			shown_add(&to, "***", 3);
			at += value_length(text + at, len - at, s.depth);
		}
	}
	out[to.len] = '\0';
	return to.len;
}

size_t url_show(char out[URL_SHOWN_MAX], const char *text, size_t len)
{
	char masked[URL_SHOWN_MAX];

	return url_hide_secrets(out, URL_SHOWN_MAX, masked, url_mask(masked, sizeof masked, text, len));
}
