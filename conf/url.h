/* Owns splitting an absolute http or https URL into its parts.
 * Must not know: clients, routes, names of real hosts.
 * Invariant: parts are offsets into the text as it came; nothing is decoded, lower-cased or made up.
 * Source: RFC 3986 sections 3.1-3.5, RFC 9110 section 4.2. */
#ifndef UTFEED_CONF_URL_H
#define UTFEED_CONF_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum url_scheme { URL_HTTP, URL_HTTPS };

struct url_part { size_t at, len; };

struct url {
	enum url_scheme scheme;
	bool ipv6;                  /* host was written in brackets; the part has none */
	bool port_given;
	uint16_t port;              /* never 0; the scheme's default where none was given */
	struct url_part host;       /* never empty */
	struct url_part authority;  /* host and port as written, without user information */
	struct url_part path;       /* empty or begins with '/' */
	struct url_part query;      /* without '?' */
	bool has_query;
	/* path, '?' and query together, as in a request line; where the path is empty the caller adds "/" */
	struct url_part target;
};

enum url_error {
	URL_OK = 0, URL_TOO_LONG, URL_NO_SCHEME, URL_BAD_SCHEME, URL_USERINFO, URL_BAD_HOST, URL_BAD_PORT,
	URL_BAD_CHARACTER, URL_FRAGMENT
};

enum { URL_MAX_BYTES = 65536, URL_MAX_HOST = 253 /* RFC 1035 section 2.3.4, as text */ };

/* Splits a URL without user information and fragment, with path and query of visible ASCII without backslash.
 * Percent-encoding is not decoded. */
enum url_error url_parse(const char *text, size_t len, struct url *);
const char *url_error_text(enum url_error);

/* Whether something stands behind http:// or https:// in the text, whatever it is. */
bool url_is_http(const char *text, size_t len);

/* The value of a hexadecimal digit; -1: it is none. */
int url_hex_digit(char);

uint16_t url_default_port(enum url_scheme);
const char *url_scheme_name(enum url_scheme);   /* "http", "https" */

/* Reads "host", "host:port" or "[::1]:port" (a Host field, RFC 9110 section 7.2). port 0: none is given. */
struct url_host { struct url_part host; bool ipv6; bool port_given; uint16_t port; };
enum url_error url_parse_host(const char *text, size_t len, struct url_host *);

/* Whether text is strictly RFC 3986's path-absolute: pchar and '/', complete %XX, beginning with '/'. */
bool url_path_valid(const char *text, size_t len);
/* Whether the path has a segment that any server may read as ".." or "." (%2e, %2f, backslash, "..;"): behind an
 * origin's path it could leave that path (RFC 3986 section 5.2.4). */
bool url_path_has_dots(const char *text, size_t len);

#endif
