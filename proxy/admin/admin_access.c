/* Who may ask the admin listener for what; see admin_internal.h. A browser on the same machine is the liar to think of:
 * a web page can make it send requests here, by a name that the page's DNS points here (DNS rebinding), or as a form of
 * another site (cross-site request forgery). */
#include <string.h>

#include "conf/conf.h"
#include "proxy/admin/admin_internal.h"
#include "proxy/http/served_host.h"

enum { ACCESS_TOKEN_MAX = 1024 };

/* The first field of that name, which is none of headers.def; at NULL where there is none. */
static struct slice access_field(const struct http_msg *m, const char *name)
{
	for (size_t i = 0; i < m->n_fields; i++)
		if (slice_is(http_field_name(m, &m->fields[i]), name))
			return http_field_value(m, &m->fields[i]);
	return (struct slice){ NULL, 0 };
}

static bool access_host_is_ours(const struct conf *conf, const struct http_msg *m, bool secure)
{
	struct slice host = http_msg_get(m, H_HOST);
	struct url_host asked = { .port_given = false };

	if (http_msg_count(m, H_HOST) > 1)
		return false;
	if (!host.len)
		return true;
	return url_parse_host(host.at, host.len, &asked) == URL_OK && served_host(conf, host.at, &asked, secure);
}

/* Whether a browser says that the request comes from a page of another site. Sources: Fetch, "Origin" and Fetch
 * Metadata; RFC 6454 section 7. */
static bool access_is_foreign(const struct http_msg *m)
{
	struct slice site = access_field(m, "sec-fetch-site"), origin = access_field(m, "origin"),
	             host = http_msg_get(m, H_HOST);

	if (site.at && !slice_is(site, "same-origin") && !slice_is(site, "none"))
		return true;
	return origin.at &&
	    (origin.len < host.len + 3 || memcmp(origin.at + origin.len - host.len, host.at, host.len) != 0 ||
	        memcmp(origin.at + origin.len - host.len - 3, "://", 3) != 0);
}

/* Compares in a time that tells nothing of where the texts differ. */
static bool access_same(const char *given, size_t len, const char *token)
{
	size_t n = strlen(token);
	unsigned char differs = len != n;

	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(given[i] ^ token[n ? i % n : 0]);
	return !differs;
}

static int access_base64_digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Decodes base64 (RFC 4648 section 4). Returns the length; 0 where it is none or does not fit. */
static size_t access_unbase64(struct slice text, char *out, size_t cap)
{
	unsigned bits = 0, n_bits = 0;
	size_t n = 0;

	while (text.len && text.at[text.len - 1] == '=')
		text.len--;
	for (size_t i = 0; i < text.len; i++) {
		int digit = access_base64_digit(text.at[i]);

		if (digit < 0 || n == cap)
			return 0;
		bits = bits << 6 | (unsigned)digit;
		n_bits += 6;
		if (n_bits >= 8) {
			n_bits -= 8;
			out[n++] = (char)(bits >> n_bits & 0xff);
		}
	}
	return n;
}

/* Basic, for browsers: the password is the token, whatever the user is called (RFC 7617 section 2). */
static bool access_basic(struct slice credentials, const char *token)
{
	char plain[ACCESS_TOKEN_MAX];
	size_t n = access_unbase64(credentials, plain, sizeof plain);
	const char *colon = memchr(plain, ':', n);

	return colon && access_same(colon + 1, n - (size_t)(colon + 1 - plain), token);
}

static bool access_token_is_right(const struct http_msg *m, const char *token)
{
	struct slice rest, scheme = slice_until(http_msg_get(m, H_AUTHORIZATION), ' ', &rest);

	if (http_msg_count(m, H_AUTHORIZATION) != 1 || !rest.at)
		return false;
	rest = slice_trim(rest);
	if (slice_is(scheme, "bearer"))
		return access_same(rest.at, rest.len, token);
	return slice_is(scheme, "basic") && access_basic(rest, token);
}

int admin_refusal(const struct conf *conf, const struct http_msg *m, const struct admin_page *page, bool secure)
{
	if (!access_host_is_ours(conf, m, secure))
		return 421;
	if (*conf->admin_token && !admin_page_is_open(page) && !access_token_is_right(m, conf->admin_token))
		return 401;
	return admin_page_changes(page) && access_is_foreign(m) ? 403 : 0;
}
