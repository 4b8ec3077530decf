/* The order in which ciphers are offered to origins; see tls_context_internal.h.
 * OpenSSL's own begins with AES-256 and SHA-384. Those with AES-128-GCM and SHA-256 come first here, as from browsers:
 * of no less use to anybody who cannot try 2^128 keys, and half of a handshake's hashing, for which processors have
 * instructions. What is offered stays what OpenSSL, and its system-wide configuration, allow. */
#include "proxy/net/tls_context_internal.h"

#include "proxy/base/text.h"

/* With a key of this connection alone: in TLS 1.3 every key is. */
static bool is_first(const SSL_CIPHER *c)
{
	int exchange = SSL_CIPHER_get_kx_nid(c);

	return SSL_CIPHER_get_cipher_nid(c) == NID_aes_128_gcm &&
	    (exchange == NID_kx_ecdhe || exchange == NID_kx_any);
}

static bool is_tls_1_3(const SSL_CIPHER *c)
{
	return SSL_CIPHER_get_kx_nid(c) == NID_kx_any;
}

static void add_ciphers(struct text *list, const STACK_OF(SSL_CIPHER) *ciphers, bool tls_1_3, bool first)
{
	for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); i++) {
		const SSL_CIPHER *c = sk_SSL_CIPHER_value(ciphers, i);

		if (is_tls_1_3(c) == tls_1_3 && is_first(c) == first)
			text_printf(list, "%s%s", list->len ? ":" : "", SSL_CIPHER_get_name(c));
	}
}

/* The names of one kind as OpenSSL reads them. NULL: out of memory. */
static char *ordered(const SSL_CTX *ctx, bool tls_1_3)
{
	const STACK_OF(SSL_CIPHER) *ciphers = SSL_CTX_get_ciphers(ctx);
	struct text list = { 0 };
	size_t len;

	add_ciphers(&list, ciphers, tls_1_3, true);
	add_ciphers(&list, ciphers, tls_1_3, false);
	text_add(&list, "", 1);
	return text_take(&list, &len);
}

int tls_ciphers_order(SSL_CTX *ctx)
{
	char *newer = ordered(ctx, true), *older = ordered(ctx, false);
	bool set = newer && older && SSL_CTX_set_ciphersuites(ctx, newer) &&
	    (!*older || SSL_CTX_set_cipher_list(ctx, older));

	free(newer);
	free(older);
	return set ? 0 : -1;
}
