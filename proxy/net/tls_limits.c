/* What a peer may make OpenSSL work on; see tls_context_internal.h. A stranger's hello, and an origin's certificates,
 * are looked at before any arithmetic is done with them.
 * Keys: the authorities of the public web sign with RSA of 2048 to 4096 bits and the exponent 65537, or with ECDSA on
 * the curves of NIST (CA/Browser Forum, Baseline Requirements, section 6.1.5). Chains there have two to four
 * certificates of 1 to 3 KB. The limits leave private authorities twice that. */
#include "proxy/net/tls_context_internal.h"

#include <string.h>

enum {
	CHAIN_BYTES_MAX = 32 << 10,
	CHAIN_MAX = 10,                /* certificates that a peer shows */
	DEPTH_MAX = 8,                 /* between its own and the root */
	RSA_BITS_MAX = 8192,
	RSA_EXPONENT_BITS_MAX = 32
};

/* ---- hellos ---- */

/* Lists whose members OpenSSL compares with each other, one by one. */
static const struct limit { unsigned type; size_t bytes; const char *text; } limits[] = {
	{ TLSEXT_TYPE_supported_groups, 512, "the hello names too many groups" },
	{ TLSEXT_TYPE_signature_algorithms, 1024, "the hello names too many signature algorithms" },
	{ TLSEXT_TYPE_key_share, 8 << 10, "the hello has too many keys" },
	{ TLSEXT_TYPE_psk, 4 << 10, "the hello has too many tickets" },
};

enum { SUITES_BYTES_MAX = 2 << 10 };

static const char *judge_hello(SSL *ssl)
{
	const unsigned char *at;
	size_t len;

	if (SSL_client_hello_get0_ciphers(ssl, &at) > SUITES_BYTES_MAX)
		return "the hello names too many ciphers";
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		if (SSL_client_hello_get0_ext(ssl, limits[i].type, &at, &len) == 1 && len > limits[i].bytes)
			return limits[i].text;
	return NULL;
}

static int on_hello(SSL *ssl, int *alert, void *arg)
{
	const char *why = judge_hello(ssl);

	(void)arg;
	if (!why)
		return SSL_CLIENT_HELLO_SUCCESS;
	tls_blame(ssl, why);
	*alert = SSL_AD_ILLEGAL_PARAMETER;
	return SSL_CLIENT_HELLO_ERROR;
}

/* ---- certificates ---- */

static bool is_too_much_rsa(const EVP_PKEY *key)
{
	BIGNUM *exponent = NULL;
	bool bad = EVP_PKEY_get_bits(key) > RSA_BITS_MAX ||
	    !EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent) ||
	    BN_num_bits(exponent) > RSA_EXPONENT_BITS_MAX;

	BN_free(exponent);
	return bad;
}

/* By its name, as all of the web's are: what else a certificate describes may be no curve at all, or one that OpenSSL
 * knows no quick way for. */
static bool is_odd_curve(const EVP_PKEY *key)
{
	static const char *const names[] = { SN_X9_62_prime256v1, SN_secp384r1, SN_secp521r1 };
	char name[32];
	int described = 0;

	if (EVP_PKEY_get_group_name(key, name, sizeof name, NULL) != 1 ||
	    (EVP_PKEY_get_int_param(key, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &described) == 1 &&
	        described))
		return true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return false;
	return true;
}

/* NULL: it may be worked with. */
static const char *chain_judge_key(const EVP_PKEY *key)
{
	static const char *const others[] = { "ED25519", "ED448", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87" };

	if (!key)
		return "a certificate has a key that cannot be read";
	if (EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_is_a(key, "RSA-PSS"))
		return is_too_much_rsa(key) ? "a certificate has an RSA key of absurd size" : NULL;
	if (EVP_PKEY_is_a(key, "EC"))
		return is_odd_curve(key) ? "a certificate has a key on an unusual curve" : NULL;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (EVP_PKEY_is_a(key, others[i]))
			return NULL;
	return "a certificate has a key of an unusual kind";
}

static const char *chain_judge(X509_STORE_CTX *x)
{
	STACK_OF(X509) *came = X509_STORE_CTX_get0_untrusted(x);
	const char *why = NULL;

	if (sk_X509_num(came) > CHAIN_MAX)
		return "too many certificates";
	for (int i = 0; !why && i < sk_X509_num(came); i++)
		why = chain_judge_key(X509_get0_pubkey(sk_X509_value(came, i)));
	return why;
}

bool tls_judge_chain(X509_STORE_CTX *x, SSL *ssl)
{
	const char *why = chain_judge(x);

	if (!why)
		return true;
	tls_blame(ssl, why);
	X509_STORE_CTX_set_error(x, X509_V_ERR_APPLICATION_VERIFICATION);
	return false;
}

/* ---- of a context ---- */

void tls_limits_set(SSL_CTX *ctx, enum tls_side side)
{
	SSL_CTX_set_msg_callback(ctx, conn_tls_on_message);
	if (side == TLS_SERVER) {
		SSL_CTX_set_client_hello_cb(ctx, on_hello, NULL);
		return;
	}
	SSL_CTX_set_max_cert_list(ctx, CHAIN_BYTES_MAX);
	SSL_CTX_set_verify_depth(ctx, DEPTH_MAX);
#ifdef SSL_OP_NO_RX_CERTIFICATE_COMPRESSION
	SSL_CTX_set_options(ctx, SSL_OP_NO_RX_CERTIFICATE_COMPRESSION);
#endif
}
