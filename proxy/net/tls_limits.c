/* Limits on the work that a peer can make OpenSSL do; see tls_context_internal.h. A stranger's hello and an origin's
 * certificates are checked before any arithmetic is done with them.
 * Keys: the authorities of the public web sign with RSA of 2048 to 4096 bits and the exponent 65537, or with ECDSA on
 * the curves of NIST (CA/Browser Forum, Baseline Requirements, section 6.1.5). Chains there have two to four
 * certificates of 1 to 3 KB. The limits leave private authorities twice that. */
#include "proxy/net/tls_context_internal.h"

#include <string.h>

enum {
	CHAIN_BYTES_MAX = 32 << 10,
	CHAIN_MAX = 10,                /* certificates that a peer shows */
	DEPTH_MAX = 6,                 /* between its own and the root */
	RSA_BITS_MAX = 8192,
	/* the work of RSA with RSA_BITS_MAX bits: the square of its words, for each bit of the exponent 65537 */
	RSA_WORK_MAX = (RSA_BITS_MAX / 64) * (RSA_BITS_MAX / 64) * 17,
	/* names times constraints on names, each in bytes: OpenSSL tries each with each */
	NAMES_WORK_MAX = 8 << 20
};

/* ---- hellos ---- */

/* Lists whose members OpenSSL compares with each other, one by one. */
static const struct list { unsigned type; size_t bytes; struct tls_blame blame; } lists[] = {
	{ TLSEXT_TYPE_supported_groups, 512, { FAILURE_TLS_PROTOCOL, "the hello names too many groups" } },
	{ TLSEXT_TYPE_signature_algorithms, 1 << 10, { FAILURE_TLS_PROTOCOL, "the hello names too many signatures" } },
	{ TLSEXT_TYPE_key_share, 8 << 10, { FAILURE_TLS_PROTOCOL, "the hello has too many keys" } },
	{ TLSEXT_TYPE_psk, 4 << 10, { FAILURE_TLS_PROTOCOL, "the hello has too many tickets" } },
};

static const struct tls_blame many_suites = { FAILURE_TLS_PROTOCOL, "the hello names too many ciphers" };

enum { SUITES_BYTES_MAX = 2 << 10 };

static const struct tls_blame *judge_hello(SSL *ssl)
{
	const unsigned char *at;
	size_t len;

	if (SSL_client_hello_get0_ciphers(ssl, &at) > SUITES_BYTES_MAX)
		return &many_suites;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (SSL_client_hello_get0_ext(ssl, lists[i].type, &at, &len) == 1 && len > lists[i].bytes)
			return &lists[i].blame;
	return NULL;
}

static int on_hello(SSL *ssl, int *alert, void *arg)
{
	const struct tls_blame *why = judge_hello(ssl);

	(void)arg;
	if (!why)
		return SSL_CLIENT_HELLO_SUCCESS;
	tls_blame(ssl, why);
	*alert = SSL_AD_ILLEGAL_PARAMETER;
	return SSL_CLIENT_HELLO_ERROR;
}

/* ---- certificates ---- */

static const struct tls_blame many = { FAILURE_TLS_CERTIFICATE, "too many certificates" };
static const struct tls_blame unreadable = { FAILURE_TLS_CERTIFICATE, "a certificate's key cannot be read" };
static const struct tls_blame absurd_rsa = { FAILURE_TLS_CERTIFICATE, "a certificate's RSA key is of absurd size" };
static const struct tls_blame odd_curve = { FAILURE_TLS_CERTIFICATE, "a certificate's key is on an unusual curve" };
static const struct tls_blame odd_key = { FAILURE_TLS_CERTIFICATE, "a certificate's key is of an unusual kind" };
static const struct tls_blame many_names = { FAILURE_TLS_CERTIFICATE, "too many names and constraints on names" };

static const struct tls_blame *judge_rsa(const EVP_PKEY *key)
{
	BIGNUM *exponent = NULL;
	int bits = EVP_PKEY_get_bits(key), words = bits / 64;
	bool good = bits <= RSA_BITS_MAX && EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent) &&
	    BN_num_bits(exponent) * words * words <= RSA_WORK_MAX;

	BN_free(exponent);
	return good ? NULL : &absurd_rsa;
}

/* A certificate must name its curve, as all certificates of the web do. A curve that it describes instead may be
 * invalid, or one that OpenSSL computes slowly. */
static const struct tls_blame *judge_curve(const EVP_PKEY *key)
{
	static const char *const names[] = { SN_X9_62_prime256v1, SN_secp384r1, SN_secp521r1 };
	char name[32];
	int described = 0;

	if (EVP_PKEY_get_group_name(key, name, sizeof name, NULL) != 1 ||
	    (EVP_PKEY_get_int_param(key, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &described) == 1 &&
	        described))
		return &odd_curve;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return NULL;
	return &odd_curve;
}

static const struct tls_blame *chain_judge_key(const EVP_PKEY *key)
{
	static const char *const others[] = { "ED25519", "ED448", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87" };

	if (!key)
		return &unreadable;
	if (EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_is_a(key, "RSA-PSS"))
		return judge_rsa(key);
	if (EVP_PKEY_is_a(key, "EC"))
		return judge_curve(key);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (EVP_PKEY_is_a(key, others[i]))
			return NULL;
	return &odd_key;
}

static int extension_bytes(const X509 *certificate, int nid)
{
	X509_EXTENSION *extension = X509_get_ext(certificate, X509_get_ext_by_NID(certificate, nid, -1));

	return extension ? ASN1_STRING_length(X509_EXTENSION_get_data(extension)) : 0;
}

static const struct tls_blame *chain_judge(X509_STORE_CTX *x)
{
	STACK_OF(X509) *came = X509_STORE_CTX_get0_untrusted(x);
	const struct tls_blame *why = NULL;
	int names = 0, constraints = 0;

	for (int i = 0; !why && i < sk_X509_num(came); i++) {
		const X509 *certificate = sk_X509_value(came, i);

		why = chain_judge_key(X509_get0_pubkey(certificate));
		names += extension_bytes(certificate, NID_subject_alt_name);
		constraints += extension_bytes(certificate, NID_name_constraints);
	}
	return !why && constraints && names > NAMES_WORK_MAX / constraints ? &many_names : why;
}

bool tls_judge_chain(X509_STORE_CTX *x, SSL *ssl)
{
	const struct tls_blame *why = chain_judge(x);

	if (!why)
		return true;
	tls_blame(ssl, why);
	X509_STORE_CTX_set_error(x, X509_V_ERR_APPLICATION_VERIFICATION);
	return false;
}

/* ---- messages ---- */

enum { MESSAGE_HEAD = 4, LENGTH_BYTES = 3 };

static size_t length_at(const uint8_t *at)
{
	return (size_t)at[0] << 16 | (size_t)at[1] << 8 | at[2];
}

/* Counts the members of a certificate message (RFC 8446 section 4.4.2, RFC 5246 section 7.4.2). Where it is not right
 * the count is of what comes before. */
static int count_certificates(const uint8_t *at, size_t len, bool tls_1_3)
{
	size_t skip = MESSAGE_HEAD + tls_1_3 + LENGTH_BYTES, used = skip;
	int n = 0;

	while (len >= used + LENGTH_BYTES) {
		used += LENGTH_BYTES + length_at(at + used);
		if (tls_1_3 && len >= used + 2)
			used += 2 + ((size_t)at[used] << 8 | at[used + 1]);
		n++;
	}
	return n;
}

/* To read a certificate takes OpenSSL a fifth of a millisecond, and it reads all before it asks. It offers no way to
 * say no earlier, but a message whose length is wrong is refused. at: OpenSSL's own memory of the message. */
static void limit_certificates(SSL *ssl, const void *at, size_t len)
{
	bool tls_1_3 = SSL_version(ssl) == TLS1_3_VERSION;

	if (count_certificates(at, len, tls_1_3) <= CHAIN_MAX)
		return;
	tls_blame(ssl, &many);
	memset((uint8_t *)(uintptr_t)at + MESSAGE_HEAD + tls_1_3, 0, LENGTH_BYTES);
}

static const struct tls_blame flood = { FAILURE_TLS_PROTOCOL, "too many messages of TLS without any data" };

/* OpenSSL calls it for each record and message. */
static void on_message(int sent, int version, int type, const void *at, size_t len, SSL *ssl, void *arg)
{
	(void)version, (void)arg;
	if (sent || (type != SSL3_RT_HEADER && type != SSL3_RT_HANDSHAKE))
		return;
	if (type == SSL3_RT_HANDSHAKE && len > MESSAGE_HEAD && *(const uint8_t *)at == SSL3_MT_CERTIFICATE)
		limit_certificates(ssl, at, len);
	if (conn_tls_count(ssl))
		return;
	tls_blame(ssl, &flood);
	SSL_set_shutdown(ssl, SSL_RECEIVED_SHUTDOWN);  /* OpenSSL reads no more */
}

/* ---- of a context ---- */

void tls_limits_set(SSL_CTX *ctx, enum tls_side side)
{
	SSL_CTX_set_msg_callback(ctx, on_message);
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
