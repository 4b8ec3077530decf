/* Owns reading a client's name and password: from the value of Authorization or Proxy-Authorization, and from the first
 * segment of a path, for clients that send nothing but URLs: /NAME:PASSWORD@/https://host/path.
 * Must not know: whose they are, whether they count. Pure.
 * Invariant: neither has a control character, so that both are texts of C. Source: RFC 7617. */
#ifndef UTFEED_PROXY_HTTP_CREDENTIALS_H
#define UTFEED_PROXY_HTTP_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>

#include "proxy/base/slice.h"

enum { CREDENTIALS_NAME_MAX = 255, CREDENTIALS_PASSWORD_MAX = 511 };

struct credentials {
	size_t name_len, password_len;         /* at least 1 each */
	/* terminated */
	char name[CREDENTIALS_NAME_MAX + 1], password[CREDENTIALS_PASSWORD_MAX + 1];
};

/* False: the value is of another scheme, or RFC 7617 does not allow it. */
bool credentials_read_basic(struct credentials *, struct slice value);

/* How many bytes of the path are such a segment, with the slash before it; 0: none. A colon and the @ may be
 * percent-encoded. */
size_t credentials_token(struct slice path);
/* False: it cannot be the name and password of anybody. */
bool credentials_read_token(struct credentials *, struct slice token);

bool credentials_same(const struct credentials *, const struct credentials *);
/* Overwrites them. */
void credentials_forget(struct credentials *);

#endif
