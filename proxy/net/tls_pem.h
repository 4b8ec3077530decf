/* Owns telling why a file does not serve as a certificate or a key: what it holds in the place of that.
 * Must not know: OpenSSL, which judges what is in the file. Nothing of a key leaves this module. */
#ifndef UTFEED_PROXY_NET_TLS_PEM_H
#define UTFEED_PROXY_NET_TLS_PEM_H

enum tls_pem { TLS_PEM_CERTIFICATE, TLS_PEM_KEY };

/* Returns the words behind the file's name in a message: the fault of the file, and what to write. NULL: the file holds
 * such a block, or cannot be read. */
const char *tls_pem_lacks(const char *path, enum tls_pem wanted);

#endif
