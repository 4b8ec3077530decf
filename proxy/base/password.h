/* Owns comparing a password with its hash. Must not know: whose it is.
 * Invariant: it takes as long as the hash asks for, a tenth of a second perhaps: never call it from a loop. Sources:
 * crypt(5), RFC 9106. */
#ifndef UTFEED_PROXY_BASE_PASSWORD_H
#define UTFEED_PROXY_BASE_PASSWORD_H

#include <stdbool.h>
#include <stddef.h>

enum { PASSWORD_MAX = 511 };   /* bytes; crypt(3) takes no longer one */

/* hash: of a kind that client-auth takes. password: len bytes without a zero byte, and one behind them. False also
 * where memory runs out. */
bool password_is(const char *hash, const char *password, size_t len);

#endif
