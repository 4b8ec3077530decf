/* Owns the cases of proxy/net/tls_alpn.c: which protocol a server's context chooses of those that a client offers. Must not know: sockets.
 * Invariant: each row names its rule; both sides come to the same protocol. */
#include "proxy/net/ca_internal.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define OFFER(text) { text, sizeof(text) - 1 }
#define BOTH OFFER("\x08http/1.1\2h2")

struct offer { const char *at; size_t len; };

static struct ca *ca;
static struct leaf *leaves[CA_KINDS];

static FILE *opened(char path[32])
{
	int fd = mkstemp(strcpy(path, "/tmp/utfeed-test-XXXXXX"));
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	return file;
}

/* A certificate for keys of each kind. */
static void make_leaves(void)
{
	struct ca_wish wish = { .kind = CA_ECDSA, .days = 2, .now_s = time(NULL) };
	struct ca_why why = { CA_FILE_NONE, "" };
	struct leaf_keys *keys = leaf_keys_new();
	char cert[32], key[32];
	FILE *cert_file = opened(cert), *key_file = opened(key);

	UNIT_ROW(!ca_make(&wish, fileno(cert_file), fileno(key_file), &why), "%s", why.text);
	fclose(cert_file);
	fclose(key_file);
	ca = ca_read(cert, key, &why);
	unlink(cert);
	unlink(key);
	UNIT_ROW(ca != NULL && keys, "%s", why.text);
	for (enum ca_kind kind = 0; ca && kind < CA_KINDS; kind++)
		if (!(leaves[kind] = leaf_make(ca, keys, kind, "localhost", wish.now_s, &why)))
			CU_FAIL_FATAL("leaf");
	leaf_keys_free(&keys);
}

static void drop_leaves(void)
{
	for (enum ca_kind kind = 0; kind < CA_KINDS; kind++)
		leaf_unref(&leaves[kind]);
	ca_unref(&ca);
}

/* A client of one version and, in TLS 1.2 and before, one cipher; NULL: any. */
static SSL *client(SSL_CTX *ctx, int version, const char *cipher, struct offer offer)
{
	SSL *ssl = SSL_new(ctx);

	CU_ASSERT_PTR_NOT_NULL_FATAL(ssl);
	SSL_set_security_level(ssl, 0);
	SSL_set_cipher_list(ssl, cipher ? cipher : "ALL");
	SSL_set_min_proto_version(ssl, version);
	SSL_set_max_proto_version(ssl, version);
	SSL_set_alpn_protos(ssl, (const unsigned char *)offer.at, (unsigned)offer.len);
	SSL_set_connect_state(ssl);
	return ssl;
}

static SSL *server(struct tls_context *context, enum ca_kind kind)
{
	struct tls_why why;
	SSL *ssl = tls_context_open(context, &why);

	CU_ASSERT_PTR_NOT_NULL_FATAL(ssl);
	CU_ASSERT(!leaf_use(leaves[kind], ssl));
	SSL_set_accept_state(ssl);
	return ssl;
}

/* "h2", "http/1", "refused" (by an alert that ends the handshake), or "split" if the two sides differ. Frees both. */
static const char *agreed(SSL *a, SSL *b)
{
	BIO *one, *other;
	const char *got = "refused";

	CU_ASSERT_FATAL(BIO_new_bio_pair(&one, 1 << 15, &other, 1 << 15) == 1);
	SSL_set_bio(a, one, one);
	SSL_set_bio(b, other, other);
	for (int turn = 0; turn < 8; turn++) {
		SSL_do_handshake(a);
		SSL_do_handshake(b);
	}
	if (SSL_is_init_finished(a) && SSL_is_init_finished(b))
		got = tls_alpn_chosen(a) != tls_alpn_chosen(b) ? "split" : tls_alpn_chosen(b) == CONN_HTTP_2 ? "h2" : "http/1";
	SSL_free(a);
	SSL_free(b);
	ERR_clear_error();
	return got;
}

static struct tls_context *server_context(enum tls_ciphers ciphers, enum tls_version min, bool h2)
{
	const struct tls_settings settings = { .side = TLS_SERVER, .ciphers = ciphers, .ca_file = "", .cert = "", .key = "", .min = min, .h2 = h2 };
	struct tls_why why;
	struct tls_context *context = tls_context_new(&settings, &why);

	CU_ASSERT_PTR_NOT_NULL_FATAL(context);
	return context;
}

static void choices(void)
{
	static const struct {
		const char *rule;
		bool h2;
		int version;
		const char *cipher;
		struct offer offer;
		const char *want;
	} rows[] = {
		{ "RFC 7301 3.2: the server's order counts", true, TLS1_3_VERSION, NULL, BOTH, "h2" },
		{ "HTTP/2 alone", true, TLS1_3_VERSION, NULL, OFFER("\2h2"), "h2" },
		{ "HTTP/1.1 alone", true, TLS1_3_VERSION, NULL, OFFER("\x08http/1.1"), "http/1" },
		{ "HTTP/1.0 alone", true, TLS1_3_VERSION, NULL, OFFER("\x08http/1.0"), "http/1" },
		{ "no list: HTTP/1.1", true, TLS1_3_VERSION, NULL, OFFER(""), "http/1" },
		{ "among others", true, TLS1_3_VERSION, NULL, OFFER("\6spdy/3\2h2\2h3"), "h2" },
		{ "RFC 7301 3.2: none of ours", true, TLS1_3_VERSION, NULL, OFFER("\2h3\3h2c"), "refused" },
		{ "the beginning of a name is another name", true, TLS1_3_VERSION, NULL, OFFER("\1h\4h2-1"), "refused" },
		{ "not wanted", false, TLS1_3_VERSION, NULL, BOTH, "http/1" },
		{ "not wanted, and alone", false, TLS1_3_VERSION, NULL, OFFER("\2h2"), "refused" },
		{ "TLS 1.2", true, TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256", BOTH, "h2" },
		{ "RFC 9113 9.2.2: without authenticated encryption", true, TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA", BOTH, "http/1" },
		{ "RFC 9113 9.2.2: and HTTP/2 alone", true, TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA", OFFER("\2h2"), "refused" },
		{ "RFC 9113 9.2: TLS 1.1", true, TLS1_1_VERSION, "ECDHE-ECDSA-AES128-SHA", BOTH, "http/1" },
		{ "RFC 9113 9.2: TLS 1.0", true, TLS1_VERSION, "ECDHE-ECDSA-AES128-SHA", BOTH, "http/1" },
		{ "RFC 9113 9.2: TLS 1.0 and HTTP/2 alone", true, TLS1_VERSION, "ECDHE-ECDSA-AES128-SHA", OFFER("\2h2"), "refused" },
	};
	SSL_CTX *ctx;

	make_leaves();
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct tls_context *context = server_context(TLS_CIPHERS_ALL, TLS_VERSION_1_0, rows[i].h2);
		const char *got;

		CU_ASSERT_PTR_NOT_NULL_FATAL(ctx = SSL_CTX_new(TLS_client_method()));
		got = agreed(client(ctx, rows[i].version, rows[i].cipher, rows[i].offer), server(context, CA_ECDSA));
		UNIT_ROW(!strcmp(got, rows[i].want), "%s: %s", rows[i].rule, got);
		SSL_CTX_free(ctx);
		tls_context_unref(&context);
	}
	drop_leaves();
}

/* RFC 9113 appendix A has every cipher of TLS 1.2 without a key of the connection's own, and every one that is not authenticated encryption. */
static bool is_in_appendix_a(const char *name)
{
	return strncmp(name, "ECDHE-", 6) != 0 || !(strstr(name, "GCM") || strstr(name, "CCM") || strstr(name, "POLY1305"));
}

/* Each cipher that OpenSSL speaks in TLS 1.2, alone: with all that utfeed ever speaks, and with those of tls-listen. */
static void ciphers(void)
{
	static const enum tls_ciphers sets[] = { TLS_CIPHERS_ALL, TLS_CIPHERS_STRONG };
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	CU_ASSERT_PTR_NOT_NULL_FATAL(ctx);
	make_leaves();
	SSL_CTX_set_security_level(ctx, 0);
	SSL_CTX_set_cipher_list(ctx, "ALL:COMPLEMENTOFALL");
	const STACK_OF(SSL_CIPHER) *known = SSL_CTX_get_ciphers(ctx);
	for (size_t set = 0; set < COUNT(sets); set++) {
		struct tls_context *context = server_context(sets[set], TLS_VERSION_1_2, true);
		int chosen = 0, left = 0;

		for (int i = 0; i < sk_SSL_CIPHER_num(known); i++)
			for (enum ca_kind kind = 0; kind < CA_KINDS; kind++) {
				const char *name = SSL_CIPHER_get_name(sk_SSL_CIPHER_value(known, i)), *got;

				if (!strncmp(name, "TLS_", 4))
					continue;
				got = agreed(client(ctx, TLS1_2_VERSION, name, (struct offer)BOTH), server(context, kind));
				chosen += !strcmp(got, "h2");
				left += !strcmp(got, "http/1");
				/* Of those that are refused the server has not got the cipher, or a certificate for it. */
				UNIT_ROW(!strcmp(got, "refused") || !strcmp(got, is_in_appendix_a(name) ? "http/1" : "h2"), "%s: %s", name, got);
			}
		UNIT_ROW(chosen > 0 && (left > 0) == (sets[set] == TLS_CIPHERS_ALL), "set %zu: %d, %d", set, chosen, left);
		tls_context_unref(&context);
	}
	SSL_CTX_free(ctx);
	drop_leaves();
}

UNIT_SUITE(tls_alpn, { "choices", choices }, { "ciphers", ciphers })
