/* Owns the key directory of Web Bot Auth: its URL, the requests for it, and the JSON of the public keys in it.
 * Must not know: private keys, signatures. Pure, over configuration.
 * Sources: draft-ietf-webbotauth-httpsig-protocol-01 section 5.5, RFC 7638, RFC 8037. */
#ifndef UTFEED_PROXY_HTTP_KEY_DIRECTORY_H
#define UTFEED_PROXY_HTTP_KEY_DIRECTORY_H

#include "conf/conf.h"
#include "proxy/base/text.h"
#include "proxy/http/http_msg.h"

#define KEY_DIRECTORY_PATH "/.well-known/http-message-signatures-directory"
#define KEY_DIRECTORY_CONTENT_TYPE "Content-Type: application/http-message-signatures-directory+json\r\n"

enum { KEY_DIRECTORY_KEY_BYTES = 32 };

/* Whether a request, of any method, is for the directory at the URL that sign-agent names: its Host names that host,
 * and keys are in use. */
bool key_directory_is(const struct conf *, const struct http_msg *);

/* Writes the JSON of which the SHA-256 is the thumbprint of an Ed25519 key. */
void key_directory_write_canonical(struct text *, const unsigned char key[KEY_DIRECTORY_KEY_BYTES]);
/* Writes the key as a member of the directory. id: its thumbprint in base64. */
void key_directory_write_key(struct text *, const unsigned char key[KEY_DIRECTORY_KEY_BYTES], const char *id);

#endif
