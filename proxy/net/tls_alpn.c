/* Which protocol is spoken over TLS, as both sides agree on it (ALPN, RFC 7301); see tls_context_internal.h. */
#include "proxy/net/tls_context_internal.h"

#include <string.h>

/* A byte of length, then the name */
static const unsigned char alpn[] = "\x02h2\x08http/1.1\x08http/1.0";
enum { ALPN_H2_BYTES = 3, ALPN_CLIENT_BYTES = 9, ALPN_BYTES = sizeof alpn - 1 };

/* HTTP/2 needs TLS 1.2 at least, and RFC 9113 appendix A lists the ciphers that it must not have: all that lack forward
 * secrecy or authenticated encryption. No version before 1.2 has ciphers with both. */
static bool may_be_h2(const SSL *ssl)
{
	return tls_is_strong(SSL_get_pending_cipher(ssl));
}

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
    unsigned in_len, void *h2)
{
	unsigned skipped = h2 && may_be_h2(ssl) ? 0 : ALPN_H2_BYTES;
	unsigned char *chosen;

	if (SSL_select_next_proto(&chosen, out_len, alpn + skipped, ALPN_BYTES - skipped, in, in_len) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;     /* RFC 7301 section 3.2 */
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

void tls_alpn_set(SSL_CTX *ctx, const struct tls_settings *settings)
{
	if (settings->side == TLS_SERVER)
		SSL_CTX_set_alpn_select_cb(ctx, on_alpn, settings->h2 ? ctx : NULL);
	else
		SSL_CTX_set_alpn_protos(ctx, alpn + ALPN_H2_BYTES, ALPN_CLIENT_BYTES);
}

int tls_alpn_offer_h2(SSL *ssl)
{
	return SSL_set_alpn_protos(ssl, alpn, ALPN_H2_BYTES + ALPN_CLIENT_BYTES);
}

enum conn_protocol tls_alpn_chosen(const SSL *ssl)
{
	const unsigned char *name;
	unsigned len;

	SSL_get0_alpn_selected(ssl, &name, &len);
	return len == ALPN_H2_BYTES - 1 && !memcmp(name, alpn + 1, len) ? CONN_HTTP_2 : CONN_HTTP_1;
}
