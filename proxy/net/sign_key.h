/* Owns the Ed25519 keys that messages are signed with: reading them from a PEM file, their public halves, signatures.
 * Must not know: what is signed. The keys of a file never change once read, so that threads share them.
 * Invariant: no function gives a private key away. Sources: RFC 8032, RFC 8410. */
#ifndef UTFEED_PROXY_NET_SIGN_KEY_H
#define UTFEED_PROXY_NET_SIGN_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "proxy/base/slice.h"

enum { SIGN_KEYS_MAX = 8, SIGN_PUBLIC_BYTES = 32, SIGN_SIGNATURE_BYTES = 64, SIGN_DIGEST_BYTES = 32 };

struct sign_keys;
struct sign_keys_why { char text[640]; };

/* All private keys of the file, in their order: at least one, at most SIGN_KEYS_MAX. NULL: why tells what is wrong and
 * what to write. *exposed: its mode lets others than its owner read or change it. */
struct sign_keys *sign_keys_read(const char *path, bool *exposed, struct sign_keys_why *);
void sign_keys_free(struct sign_keys **);
size_t sign_keys_count(const struct sign_keys *);
const unsigned char *sign_keys_public(const struct sign_keys *, size_t i);     /* SIGN_PUBLIC_BYTES */

/* Both return false for want of memory. */
bool sign_keys_sign(const struct sign_keys *, size_t i, struct slice, unsigned char signature[SIGN_SIGNATURE_BYTES])
    __attribute__((warn_unused_result));
/* SHA-256 */
bool sign_digest(struct slice, unsigned char digest[SIGN_DIGEST_BYTES]) __attribute__((warn_unused_result));

#endif
