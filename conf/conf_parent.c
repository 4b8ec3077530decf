/* Owns a parent proxy as an option value: http://[user:password@]host:port, or socks5h:// instead.
 * Must not know: which requests go there.
 * Invariant: no message has a part of the value, which may be a password. */
#include "conf/conf_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PARENTS "; write http://host:port, http://user:password@host:port, the same with socks5h://, or off"

enum { SOCKS_PORT = 1080 /* RFC 1928 section 3 */, SOCKS_WORD_MAX = 255 /* RFC 1929 section 2 */ };

/* The kinds come first, then the schemes that utfeed refuses, with the reason. */
static const struct { const char *name, *refused; } parent_schemes[] = {
	[CONF_PARENT_HTTP] = { "http", NULL },
	[CONF_PARENT_SOCKS] = { "socks5h", NULL },
	{ "socks5", "with socks5 utfeed would look names up, so DNS would learn of them; write socks5h, and the proxy "
	    "looks them up" },
};

/* Why utfeed refuses a value of that scheme; NULL: it takes it. */
static const char *find_scheme(const char *scheme, size_t len, enum conf_parent_kind *kind)
{
	for (size_t i = 0; i < sizeof parent_schemes / sizeof *parent_schemes; i++)
		if (strlen(parent_schemes[i].name) == len && !strncasecmp(scheme, parent_schemes[i].name, len)) {
			*kind = (enum conf_parent_kind)i;
			return parent_schemes[i].refused;
		}
	return "only proxies that speak plain HTTP, or SOCKS5 (socks5h), can be parents";
}

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

/* The credentials of RFC 7617 section 2: "user:password" in base64. */
static char *http_credentials(const char *user, size_t user_len, const char *password, size_t password_len)
{
	char *plain = malloc(user_len + 1 + password_len), *text;

	if (!plain)
		return NULL;
	memcpy(plain, user, user_len);
	plain[user_len] = ':';
	memcpy(plain + user_len + 1, password, password_len);
	text = base64(plain, user_len + 1 + password_len);
	free(plain);
	return text;
}

/* The request of RFC 1929 section 2. */
static char *socks_credentials(const char *user, size_t user_len, const char *password, size_t password_len)
{
	char *request;

	return asprintf(&request, "\1%c%.*s%c%.*s", (int)user_len, (int)user_len, user, (int)password_len,
	    (int)password_len, password) < 0 ? NULL : request;
}

static bool socks_takes(size_t len)
{
	return len && len <= SOCKS_WORD_MAX;
}

/* text: "user:password" or "user", escaped. words: room for it. */
static int read_credentials_in(struct conf_parent *parent, const char *text, size_t len, char *words,
    struct conf_error *error)
{
	const char *colon = memchr(text, ':', len);
	size_t user_escaped = colon ? (size_t)(colon - text) : len, user_len, password_len = 0;
	bool socks = parent->kind == CONF_PARENT_SOCKS;
	char *password = words + user_escaped;

	if (!unescape(text, user_escaped, words, &user_len) || (!socks && memchr(words, ':', user_len)) ||
	    (colon && !unescape(colon + 1, len - user_escaped - 1, password, &password_len)))
		return conf_fail(error,
		    "user or password has a character that cannot be sent, or a %% without two digits behind it"
		    PARENTS);
	if (socks && (!socks_takes(user_len) || !socks_takes(password_len)))
		return conf_fail(error, "SOCKS5 takes a user and a password of 1 to %d bytes each" PARENTS,
		    SOCKS_WORD_MAX);
	parent->credentials = socks
	    ? socks_credentials(words, user_len, password, password_len)
	    : http_credentials(words, user_len, password, password_len);
	parent->userinfo = escape_blanks(text, len);
	return parent->credentials && parent->userinfo ? 0 : conf_fail_memory(error);
}

static int read_credentials(struct conf_parent *parent, const char *text, size_t len, struct conf_error *error)
{
	char *words = malloc(len + 1);
	int failed = words ? read_credentials_in(parent, text, len, words, error) : conf_fail_memory(error);

	free(words);
	return failed;
}

static int parent_read_address(struct conf_parent *parent, const char *text, size_t len, struct conf_error *error)
{
	struct url_host host;

	if (url_parse_host(text, len, &host) != URL_OK)
		return conf_fail(error, "the host or the port of the proxy is not valid" PARENTS);
	if (!host.port_given && parent->kind == CONF_PARENT_HTTP)
		return conf_fail(error, "has no port, which curl takes for 1080 and others for 80" PARENTS);
	parent->ipv6 = host.ipv6;
	parent->port = host.port_given ? host.port : SOCKS_PORT;
	parent->host = conf_copy_lower(text + host.host.at, host.host.len);
	return parent->host ? 0 : conf_fail_memory(error);
}

static int read_parent(struct conf_parent *parent, const char *text, struct conf_error *error)
{
	const char *scheme = strstr(text, "://"), *at;
	const char *why = scheme ? find_scheme(text, (size_t)(scheme - text), &parent->kind) : NULL;
	size_t len;

	if (why)
		return conf_fail(error, "%s%s", why, strstr(why, "; ") ? "" : PARENTS);
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
		fprintf(out, "%s://%s%s%s%s%s:%u", parent_schemes[parent->kind].name, userinfo ? userinfo : "",
		    userinfo ? "@" : "", parent->ipv6 ? "[" : "", parent->host, parent->ipv6 ? "]" : "", parent->port);
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
	write_parent(out, parent, !parent->userinfo ? NULL :
	    parent->kind == CONF_PARENT_SOCKS ? CONF_HIDDEN ":" CONF_HIDDEN : CONF_HIDDEN);
}

void conf_parent_clear(void *member)
{
	struct conf_parent *parent = member;

	free(parent->host);
	free(parent->userinfo);
	free(parent->credentials);
	*parent = (struct conf_parent){ .host = NULL };
}
