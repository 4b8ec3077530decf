/* Making certificates: authorities and leaves; see ca.h. This file alone builds what X.509 (RFC 5280) has in them. */
#include "proxy/net/ca_internal.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	CA_BACKDATE_S = 3600,          /* clients whose clock is late accept it all the same */
	DAY_S = 86400,
	LEAF_DAYS = 7,
	LEAF_RENEW_S = DAY_S,          /* a leaf with less time left is made anew */
	SERIAL_BITS = 126,             /* RFC 5280 section 4.1.2.2: positive, at most 20 octets */
	COMMON_NAME_MAX = 64,          /* RFC 5280 appendix A.1, ub-common-name */
	NAME_MAX_BYTES = 253,
	RSA_BITS = 2048
};

struct leaf_keys { EVP_PKEY *of[CA_KINDS]; };

/* ---- names ---- */

/* An address, with its mask where it is a block. Returns the bytes: 4 or 16, twice as many with a mask; 0: it is
 * not an address. */
static int read_address(const char *text, bool block, unsigned char out[2 * sizeof(struct in6_addr)])
{
	const char *slash = block ? strchr(text, '/') : NULL;
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char ip[INET6_ADDRSTRLEN];

	if (len >= sizeof ip)
		return 0;
	memcpy(ip, text, len);
	ip[len] = '\0';
	int bytes = inet_pton(AF_INET, ip, out) == 1 ? 4 : inet_pton(AF_INET6, ip, out) == 1 ? 16 : 0;
	if (!bytes || !block)
		return bytes;
	int bits = slash ? atoi(slash + 1) : bytes * 8;
	if (slash && (strspn(slash + 1, "0123456789") != strlen(slash + 1) || !slash[1] || bits > bytes * 8))
		return 0;
	for (int i = 0; i < bytes; i++) {
		int left = bits - i * 8;

		out[bytes + i] = left >= 8 ? 0xff : left <= 0 ? 0 : (unsigned char)(0xff << (8 - left));
		out[i] &= out[bytes + i];
	}
	return bytes * 2;
}

/* Labels of letters, digits, '-' and '_': nothing that could mean something else within a certificate, no wildcard. */
static bool is_leaf_name(const char *name)
{
	size_t label = 0, len = strlen(name);

	for (size_t i = 0; i <= len; i++) {
		if (i == len || name[i] == '.') {
			if (!label || label > 63)
				return false;
			label = 0;
		} else if (isalnum((unsigned char)name[i]) || name[i] == '-' || name[i] == '_')
			label++;
		else
			return false;
	}
	return len <= NAME_MAX_BYTES;
}

bool ca_is_name(const char *name, bool block)
{
	unsigned char address[2 * sizeof(struct in6_addr)];

	return read_address(name, block, address) || is_leaf_name(name);
}

/* block: the address gets its mask, as RFC 5280 section 4.2.1.10 has it. */
static GENERAL_NAME *general_name(const char *name, bool block)
{
	unsigned char address[2 * sizeof(struct in6_addr)];
	int bytes = read_address(name, block, address);
	GENERAL_NAME *g = GENERAL_NAME_new();
	ASN1_STRING *text = ASN1_STRING_type_new(bytes ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);

	if (!g || !text || !ASN1_STRING_set(text, bytes ? (const void *)address : name, bytes ? bytes : -1)) {
		GENERAL_NAME_free(g);
		ASN1_STRING_free(text);
		return NULL;
	}
	GENERAL_NAME_set0_value(g, bytes ? GEN_IPADD : GEN_DNS, text);
	return g;
}

static int add_alternative_name(X509 *x, const char *name, bool critical)
{
	GENERAL_NAMES *names = GENERAL_NAMES_new();
	GENERAL_NAME *g = general_name(name, false);
	bool there = names && g && sk_GENERAL_NAME_push(names, g) > 0;

	if (!there)
		GENERAL_NAME_free(g);
	int added = there ? X509_add1_ext_i2d(x, NID_subject_alt_name, names, critical, X509V3_ADD_DEFAULT) : 0;
	GENERAL_NAMES_free(names);
	return added == 1 ? 0 : -1;
}

static int add_subtree(STACK_OF(GENERAL_SUBTREE) **list, const char *name)
{
	GENERAL_SUBTREE *tree = GENERAL_SUBTREE_new();

	if (!*list)
		*list = sk_GENERAL_SUBTREE_new_null();
	if (tree && *list) {
		GENERAL_NAME_free(tree->base);
		if ((tree->base = general_name(name, true)) && sk_GENERAL_SUBTREE_push(*list, tree) > 0)
			return 0;
	}
	GENERAL_SUBTREE_free(tree);
	return -1;
}

/* Permits only the names and addresses of the wish. A list of permitted names alone leaves all addresses allowed, and
 * the other way round (RFC 5280 section 4.2.1.10). So if the wish has no address all addresses are excluded, and if it
 * has no name all names are. */
static int add_constraints(X509 *x, const struct ca_wish *wish)
{
	NAME_CONSTRAINTS *c = NAME_CONSTRAINTS_new();
	bool addresses = false, names = false;
	int status = c ? 0 : -1;

	for (size_t i = 0; !status && i < wish->n_names; i++) {
		unsigned char address[2 * sizeof(struct in6_addr)];
		bool is_address = read_address(wish->names[i], true, address);

		addresses |= is_address;
		names |= !is_address;
		status = add_subtree(&c->permittedSubtrees, wish->names[i]);
	}
	if (!status && !addresses)
		status = add_subtree(&c->excludedSubtrees, "0.0.0.0/0") || add_subtree(&c->excludedSubtrees, "::/0");
	if (!status && !names)
		status = add_subtree(&c->excludedSubtrees, "");
	if (!status)
		status = X509_add1_ext_i2d(x, NID_name_constraints, c, 1, X509V3_ADD_DEFAULT) == 1 ? 0 : -1;
	NAME_CONSTRAINTS_free(c);
	return status;
}

/* ---- certificates ---- */

static int add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	int added = e ? X509_add_ext(x, e, -1) : 0;
	X509_EXTENSION_free(e);
	return added == 1 ? 0 : -1;
}

static int set_serial(X509 *x)
{
	BIGNUM *n = BN_new();
	int set = n && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) &&
	    BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));

	BN_free(n);
	return set ? 0 : -1;
}

static int add_to_name(X509_NAME *name, int nid, const char *text)
{
	return X509_NAME_add_entry_by_NID(name, nid, MBSTRING_UTF8, (const unsigned char *)text, -1, -1, 0) ? 0 : -1;
}

/* A key that signs with a digest of its own (Ed25519) is given none. */
static int sign(X509 *x, EVP_PKEY *key)
{
	int id = EVP_PKEY_get_base_id(key);

	return X509_sign(x, key, id == EVP_PKEY_ED25519 || id == EVP_PKEY_ED448 ? NULL : EVP_sha256()) ? 0 : -1;
}

static EVP_PKEY *make_key(enum ca_kind kind)
{
	return kind == CA_RSA ? EVP_RSA_gen(RSA_BITS) : EVP_EC_gen("P-256");
}

static X509 *new_certificate(EVP_PKEY *key, int64_t from_s, int64_t until_s)
{
	X509 *x = X509_new();

	if (x && X509_set_version(x, X509_VERSION_3) && !set_serial(x) &&
	    ASN1_TIME_set(X509_getm_notBefore(x), (time_t)from_s) &&
	    ASN1_TIME_set(X509_getm_notAfter(x), (time_t)until_s) && X509_set_pubkey(x, key))
		return x;
	X509_free(x);
	return NULL;
}

/* ---- authorities ---- */

/* Two authorities never have the same name, because clients find the issuer of a certificate through its name. */
static int name_authority(X509 *x, int64_t now_s)
{
	X509_NAME *subject = X509_get_subject_name(x);
	char name[COMMON_NAME_MAX], date[sizeof "YYYY-MM-DD"] = "";
	unsigned char bytes[4] = { 0 };
	time_t now = (time_t)now_s;
	BIGNUM *n = BN_new();
	struct tm tm;
	bool drawn = n && BN_rand(n, 32, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) && BN_bn2binpad(n, bytes, 4) == 4;

	BN_free(n);
	if (gmtime_r(&now, &tm))
		strftime(date, sizeof date, "%Y-%m-%d", &tm);
	snprintf(name, sizeof name, "utfeed CA %s %02x%02x%02x%02x", date, bytes[0], bytes[1], bytes[2], bytes[3]);
	return !drawn || add_to_name(subject, NID_organizationName, "utfeed interception") ||
	    add_to_name(subject, NID_commonName, name) || !X509_set_issuer_name(x, subject) ? -1 : 0;
}

static X509 *make_root(const struct ca_wish *wish, EVP_PKEY *key)
{
	X509 *x = new_certificate(key, wish->now_s - CA_BACKDATE_S, wish->now_s + (int64_t)wish->days * DAY_S);

	if (x && !name_authority(x, wish->now_s) &&
	    !add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	    !add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	    !add_extension(x, x, NID_ext_key_usage, "serverAuth") &&
	    !add_extension(x, x, NID_subject_key_identifier, "hash") && (!wish->n_names || !add_constraints(x, wish)) &&
	    !sign(x, key))
		return x;
	X509_free(x);
	return NULL;
}

int ca_make(const struct ca_wish *wish, int cert_fd, int key_fd, struct ca_why *why)
{
	EVP_PKEY *key = make_key(wish->kind);
	X509 *cert = key ? make_root(wish, key) : NULL;
	BIO *cert_file = BIO_new_fd(cert_fd, BIO_NOCLOSE), *key_file = BIO_new_fd(key_fd, BIO_NOCLOSE);
	int status = 0;

	if (!cert || !cert_file || !key_file)
		status = ca_fail(why, CA_FILE_NONE, "no authority could be made");
	else if (!PEM_write_bio_PrivateKey(key_file, key, NULL, NULL, 0, NULL, NULL))
		status = ca_fail(why, CA_FILE_KEY, "cannot be written");
	else if (!PEM_write_bio_X509(cert_file, cert))
		status = ca_fail(why, CA_FILE_CERT, "cannot be written");
	BIO_free(cert_file);
	BIO_free(key_file);
	X509_free(cert);
	EVP_PKEY_free(key);
	return status;
}

/* ---- leaves ---- */

struct leaf_keys *leaf_keys_new(void)
{
	return calloc(1, sizeof(struct leaf_keys));
}

void leaf_keys_free(struct leaf_keys **kp)
{
	struct leaf_keys *keys = *kp;

	*kp = NULL;
	for (enum ca_kind kind = 0; keys && kind < CA_KINDS; kind++)
		EVP_PKEY_free(keys->of[kind]);
	free(keys);
}

/* Old clients look for the name in the subject, newer ones in the extension alone, which is critical where the subject
 * is empty (RFC 5280 section 4.2.1.6). RSA keys encipher, too: in the key exchange of TLS 1.2 and before. */
static int fill_leaf(X509 *x, struct ca *ca, enum ca_kind kind, const char *name)
{
	bool named = strlen(name) <= COMMON_NAME_MAX;

	return (named && add_to_name(X509_get_subject_name(x), NID_commonName, name)) ||
	    !X509_set_issuer_name(x, X509_get_subject_name(ca->cert)) ||
	    add_extension(x, ca->cert, NID_basic_constraints, "critical,CA:FALSE") ||
	    add_extension(x, ca->cert, NID_key_usage,
	        kind == CA_RSA ? "critical,digitalSignature,keyEncipherment" : "critical,digitalSignature") ||
	    add_extension(x, ca->cert, NID_ext_key_usage, "serverAuth") ||
	    add_extension(x, ca->cert, NID_subject_key_identifier, "hash") ||
	    add_extension(x, ca->cert, NID_authority_key_identifier, "keyid") ||
	    add_alternative_name(x, name, !named) || sign(x, ca->key) ? -1 : 0;
}

struct leaf *leaf_make(struct ca *ca, struct leaf_keys *keys, enum ca_kind kind, const char *name, int64_t now_s,
    struct ca_why *why)
{
	int64_t from_s = now_s - CA_BACKDATE_S, until_s = from_s + LEAF_DAYS * DAY_S;
	int64_t ca_until_s = ca_time(X509_get0_notAfter(ca->cert));
	struct leaf *leaf;

	if (ca_until_s <= now_s) {
		ca_fail(why, CA_FILE_CERT, "the authority has expired");
		return NULL;
	}
	if (until_s > ca_until_s)
		until_s = ca_until_s;
	if (!keys->of[kind] && !(keys->of[kind] = make_key(kind))) {
		ca_fail(why, CA_FILE_NONE, "no key could be made");
		return NULL;
	}
	if (!(leaf = calloc(1, sizeof *leaf)) || !ca_is_name(name, false) ||
	    !(leaf->cert = new_certificate(keys->of[kind], from_s, until_s)) || fill_leaf(leaf->cert, ca, kind, name)) {
		if (leaf)
			X509_free(leaf->cert);
		free(leaf);
		ca_fail(why, CA_FILE_NONE, "no certificate could be made");
		return NULL;
	}
	atomic_init(&leaf->refs, 1);
	EVP_PKEY_up_ref(leaf->key = keys->of[kind]);
	leaf->ca = ca_ref(ca);
	leaf->from_s = from_s;
	leaf->until_s = until_s;
	return leaf;
}

struct leaf *leaf_ref(struct leaf *leaf)
{
	atomic_fetch_add_explicit(&leaf->refs, 1, memory_order_relaxed);
	return leaf;
}

void leaf_unref(struct leaf **lp)
{
	struct leaf *leaf = *lp;

	*lp = NULL;
	if (!leaf || atomic_fetch_sub_explicit(&leaf->refs, 1, memory_order_acq_rel) > 1)
		return;
	X509_free(leaf->cert);
	EVP_PKEY_free(leaf->key);
	ca_unref(&leaf->ca);
	free(leaf);
}

/* Where the authority itself ends soon, no leaf gets more time. */
bool leaf_is_good(const struct leaf *leaf, int64_t now_s)
{
	bool whole = leaf->until_s - leaf->from_s == LEAF_DAYS * DAY_S;

	return now_s >= leaf->from_s && now_s < leaf->until_s - (whole ? LEAF_RENEW_S : 0);
}

int leaf_use(struct leaf *leaf, SSL *ssl)
{
	return SSL_use_cert_and_key(ssl, leaf->cert, leaf->key, leaf->ca->above, 1) == 1 ? 0 : -1;
}

X509 *ca_sample(const char *name)
{
	X509 *x = X509_new();

	if (x && !add_alternative_name(x, name, true))
		return x;
	X509_free(x);
	return NULL;
}
