/* Owns a parent proxy as an option value: http://[user:password@]host:port.
 * Must not know: which requests go there.
 * Invariant: no message has a part of the value, which may be a password. */
#include "conf/conf_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PARENTS "; allowed: http://host:port, http://user:password@host:port, or off"

/* Decodes %XX into out, which has room for text. False: there is a stray '%', or a character that RFC 7617 section 2
 * does not allow. */
static bool unescape(const char *text, size_t len, char *out, size_t *out_len)
{
	*out_len = 0;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '%') {
			if (len - i < 3 || url_hex_digit(text[i + 1]) < 0 || url_hex_digit(text[i + 2]) < 0)
				return false;
			c = (unsigned char)(url_hex_digit(text[i + 1]) << 4 | url_hex_digit(text[i + 2]));
			i += 2;
		}
		if (c < 0x20 || c == 0x7f)
			return false;
		out[(*out_len)++] = (char)c;
	}
	return true;
}

/* RFC 4648 section 4 */
static char *base64(const char *bytes, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc((len + 2) / 3 * 4 + 1), *out = text;

	for (size_t i = 0; text && i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		unsigned bits = 0;
		for (size_t j = 0; j < 3; j++)
			bits = bits << 8 | (j < n ? (unsigned char)bytes[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			*out++ = j <= n ? digits[bits >> (18 - 6 * j) & 0x3f] : '=';
	}
	if (text)
		*out = '\0';
	return text;
}

/* Encodes blanks and quotes as %XX, so that the value can stand among the words of an inline route. */
static char *escape_blanks(const char *text, size_t len)
{
	char *escaped = malloc(3 * len + 1), *out = escaped;

	for (size_t i = 0; escaped && i < len; i++) {
		if (text[i] == ' ' || text[i] == '"')
			out += sprintf(out, "%%%02X", (unsigned)text[i]);
		else
			*out++ = text[i];
	}
	if (escaped)
		*out = '\0';
	return escaped;
}

static int read_credentials(struct conf_parent *parent, const char *text, size_t len, struct conf_error *error)
{
	const char *colon = memchr(text, ':', len);
	size_t user_len = colon ? (size_t)(colon - text) : len, n, password_len = 0;
	char *plain = malloc(len + 2);

	if (!plain)
		return conf_fail_memory(error);
	if (!unescape(text, user_len, plain, &n) || memchr(plain, ':', n) ||
	    (colon && !unescape(colon + 1, len - user_len - 1, plain + n + 1, &password_len))) {
		free(plain);
		return conf_fail(error,
		    "user or password has a character that cannot be sent, or a %% that is no %%XX" PARENTS);
	}
	plain[n] = ':';
	parent->credentials = base64(plain, n + 1 + password_len);
	parent->userinfo = escape_blanks(text, len);
	free(plain);
	return parent->credentials && parent->userinfo ? 0 : conf_fail_memory(error);
}

static int parent_read_address(struct conf_parent *parent, const char *text, size_t len, struct conf_error *error)
{
	struct url_host host;

	if (url_parse_host(text, len, &host) != URL_OK)
		return conf_fail(error, "the host or the port of the proxy is not valid" PARENTS);
	if (!host.port_given)
		return conf_fail(error, "has no port, which curl takes for 1080 and others for 80" PARENTS);
	parent->ipv6 = host.ipv6;
	parent->port = host.port;
	parent->host = strndup(text + host.host.at, host.host.len);
	for (char *at = parent->host; at && *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return parent->host ? 0 : conf_fail_memory(error);
}

static int read_parent(struct conf_parent *parent, const char *text, struct conf_error *error)
{
	const char *scheme = strstr(text, "://"), *at;
	size_t len;

	if (scheme && (scheme - text != 4 || strncasecmp(text, "http", 4) != 0))
		return conf_fail(error, "only proxies that speak plain HTTP can be parents" PARENTS);
	text = scheme ? scheme + 3 : text;
	len = strcspn(text, "/?#");
	if (strcmp(text + len, "/") != 0 && text[len])
		return conf_fail(error, "a proxy has no path" PARENTS);
	at = memrchr(text, '@', len);
	if (at && read_credentials(parent, text, (size_t)(at - text), error) != 0)
		return -1;
	return at
	    ? parent_read_address(parent, at + 1, len - (size_t)(at + 1 - text), error)
	    : parent_read_address(parent, text, len, error);
}

/* "host:port" without a scheme is accepted, as by curl. */
int conf_parent_set(const struct conf_row *row, void *member, const struct conf_value *value, struct conf_error *error)
{
	struct conf_parent parent = { .host = NULL };

	(void)row;
	if (*value->text && strcasecmp(value->text, "off") != 0 && read_parent(&parent, value->text, error) != 0) {
		conf_parent_clear(&parent);
		return -1;
	}
	conf_parent_clear(member);
	*(struct conf_parent *)member = parent;
	return 0;
}

static void write_parent(FILE *out, const struct conf_parent *parent, const char *userinfo)
{
	if (parent->host)
		fprintf(out, "http://%s%s%s%s%s:%u", userinfo ? userinfo : "", userinfo ? "@" : "",
		    parent->ipv6 ? "[" : "", parent->host, parent->ipv6 ? "]" : "", parent->port);
	else
		fputs("off", out);
}

void conf_parent_format(FILE *out, const struct conf_row *row, const void *member)
{
	const struct conf_parent *parent = member;

	(void)row;
	write_parent(out, parent, parent->userinfo);
}

void conf_parent_show(FILE *out, const struct conf_row *row, const void *member)
{
	const struct conf_parent *parent = member;

	(void)row;
	write_parent(out, parent, parent->userinfo ? CONF_HIDDEN : NULL);
}

void conf_parent_clear(void *member)
{
	struct conf_parent *parent = member;

	free(parent->host);
	free(parent->userinfo);
	free(parent->credentials);
	*parent = (struct conf_parent){ .host = NULL };
}
