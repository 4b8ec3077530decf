/* The groups and ciphers that a context speaks; see tls_context_internal.h.
 * A key exchange is one on an elliptic curve, or RSA where old peers know no other. Finite-field Diffie-Hellman (DHE,
 * and the ffdhe groups of TLS 1.3) is never spoken: by it a peer that does no work makes utfeed work for a tenth of a
 * second.
 * OpenSSL's own order begins with AES-256 and SHA-384. Those with AES-128-GCM and SHA-256 come first here, as from
 * browsers. They protect no less, because nobody can try 2^128 keys. They halve the time that a handshake spends on
 * hashing, because processors have instructions for SHA-256. OpenSSL and its system-wide configuration decide which
 * groups and ciphers may be spoken at all. */
#include "proxy/net/tls_context_internal.h"

#include "proxy/base/text.h"

/* The best list that OpenSSL knows all of. In the first, * asks for a key of each group in the first message. */
static const char *const group_lists[] = { "*X25519MLKEM768:*X25519:P-256:P-384", "X25519:P-256:P-384",
	"P-256:P-384" };

enum { GROUP_LISTS = sizeof group_lists / sizeof *group_lists };

static int set_groups(SSL_CTX *ctx)
{
	int i = 0;

	while (i < GROUP_LISTS && !SSL_CTX_set1_groups_list(ctx, group_lists[i]))
		i++;
	ERR_clear_error();             /* of the lists that it does not know */
	return i < GROUP_LISTS ? 0 : -1;
}

static bool is_tls_1_3(const SSL_CIPHER *c)
{
	return SSL_CIPHER_get_kx_nid(c) == NID_kx_any;
}

/* With a key of this connection alone: in TLS 1.3 every key is. */
static bool is_forward_secret(const SSL_CIPHER *c)
{
	return SSL_CIPHER_get_kx_nid(c) == NID_kx_ecdhe || is_tls_1_3(c);
}

bool tls_is_strong(const SSL_CIPHER *c)
{
	return is_forward_secret(c) && SSL_CIPHER_is_aead(c);
}

static bool is_spoken(const SSL_CIPHER *c, enum tls_ciphers which)
{
	if (which == TLS_CIPHERS_STRONG)
		return tls_is_strong(c);
	return is_forward_secret(c) || SSL_CIPHER_get_kx_nid(c) == NID_kx_rsa;
}

static bool is_first(const SSL_CIPHER *c)
{
	return is_forward_secret(c) && SSL_CIPHER_get_cipher_nid(c) == NID_aes_128_gcm;
}

/* The ciphers of one list. */
struct choice { enum tls_ciphers which; bool tls_1_3; };

static void add_ciphers(struct text *list, const STACK_OF(SSL_CIPHER) *ciphers, struct choice of, bool first)
{
	for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); i++) {
		const SSL_CIPHER *c = sk_SSL_CIPHER_value(ciphers, i);

		if (is_tls_1_3(c) == of.tls_1_3 && is_first(c) == first && is_spoken(c, of.which))
			text_printf(list, "%s%s", list->len ? ":" : "", SSL_CIPHER_get_name(c));
	}
}

/* The names of one kind as OpenSSL reads them. NULL: out of memory. */
static char *ordered(const SSL_CTX *ctx, struct choice of)
{
	const STACK_OF(SSL_CIPHER) *ciphers = SSL_CTX_get_ciphers(ctx);
	struct text list = { 0 };
	size_t len;

	add_ciphers(&list, ciphers, of, true);
	add_ciphers(&list, ciphers, of, false);
	text_add(&list, "", 1);
	return text_take(&list, &len);
}

static int set_ciphers(SSL_CTX *ctx, enum tls_ciphers which)
{
	char *newer = ordered(ctx, (struct choice){ which, true });
	char *older = ordered(ctx, (struct choice){ which, false });
	bool set = newer && older && SSL_CTX_set_ciphersuites(ctx, newer) &&
	    (!*older || SSL_CTX_set_cipher_list(ctx, older));

	free(newer);
	free(older);
	return set ? 0 : -1;
}

int tls_ciphers_set(SSL_CTX *ctx, enum tls_ciphers which)
{
	return set_groups(ctx) || set_ciphers(ctx, which) ? -1 : 0;
}
