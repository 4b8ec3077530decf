/* Authorities: reading, judging and showing them; see ca.h. */
#include "proxy/net/ca_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proxy/net/tls_context.h"
#include "proxy/net/tls_pem.h"

enum { CA_RSA_BITS_MIN = 2048, CA_ABOVE_MAX = 8 };

int ca_fail(struct ca_why *why, enum ca_file file, const char *format, ...)
{
	unsigned long e = ERR_peek_error();
	const char *reason = e ? ERR_reason_error_string(e) : NULL;
	va_list arguments;

	why->file = file;
	va_start(arguments, format);
	vsnprintf(why->text, sizeof why->text, format, arguments);
	va_end(arguments);
	size_t n = strlen(why->text);
	if (e)
		snprintf(why->text + n, sizeof why->text - n, ": %s", reason ? reason : "unknown error");
	ERR_clear_error();
	return -1;
}

int64_t ca_time(const ASN1_TIME *t)
{
	struct tm tm;

	return ASN1_TIME_to_tm(t, &tm) ? (int64_t)timegm(&tm) : 0;
}

/* ---- reading ---- */

static const char *const ca_file_names[] = { "", "certificate", "private key" };

/* The file can be read, and OpenSSL finds nothing in it that serves. */
static int fail_file(struct ca_why *why, enum ca_file file, const char *path)
{
	const char *lacks = tls_pem_lacks(path, file == CA_FILE_KEY ? TLS_PEM_KEY : TLS_PEM_CERTIFICATE);

	if (!lacks)
		return ca_fail(why, file, "%s %s", ca_file_names[file], path);
	ERR_clear_error();
	return ca_fail(why, file, "%s %s", path, lacks);
}

/* The file as OpenSSL reads it; NULL: why. For a key nobody but owner and group may read it, and none but the owner
 * write. */
static BIO *open_file(const char *path, enum ca_file file, struct ca_why *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat about;
	BIO *bio = NULL;

	if (fd < 0 || fstat(fd, &about))
		ca_fail(why, file, "%s %s: %s; write the name of a PEM file that utfeed may read; utfeed ca makes one",
		    ca_file_names[file], path, strerror(errno));
	else if (!S_ISREG(about.st_mode))
		ca_fail(why, file, "%s %s is not a file; write the name of a PEM file", ca_file_names[file], path);
	else if (file == CA_FILE_KEY && about.st_mode & (S_IWGRP | S_IRWXO))
		ca_fail(why, file,
		    "private key %s has the mode %04o, so that others can read or change it; chmod 600 the file, and "
		    "make another pair with utfeed ca if somebody may have read it",
		    path, (unsigned)about.st_mode & 07777);
	else if (!(bio = BIO_new_fd(fd, BIO_CLOSE)))
		ca_fail(why, CA_FILE_NONE, "out of memory");
	if (!bio && fd >= 0)
		close(fd);
	return bio;
}

/* OpenSSL reads descriptors byte by byte; a buffer before them spares the calls. */
static BIO *open_buffered(const char *path, enum ca_file file, struct ca_why *why)
{
	BIO *bio = open_file(path, file, why), *buffer = bio ? BIO_new(BIO_f_buffer()) : NULL;

	if (!bio || !buffer) {
		BIO_free(bio);
		return NULL;
	}
	return BIO_push(buffer, bio);
}

static int read_above(struct ca *ca, BIO *bio)
{
	X509 *x;

	if (!(ca->above = sk_X509_new_null()) || !X509_up_ref(ca->cert))
		return -1;
	if (sk_X509_push(ca->above, ca->cert) <= 0) {
		X509_free(ca->cert);
		return -1;
	}
	while (sk_X509_num(ca->above) < CA_ABOVE_MAX && (x = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
		if (sk_X509_push(ca->above, x) <= 0) {
			X509_free(x);
			return -1;
		}
	ERR_clear_error();             /* the end of the file is an error to OpenSSL */
	return 0;
}

static int read_certificates(struct ca *ca, const char *path, struct ca_why *why)
{
	BIO *bio = open_buffered(path, CA_FILE_CERT, why);
	int status = 0;

	if (!bio)
		return -1;
	if (!(ca->cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
		status = fail_file(why, CA_FILE_CERT, path);
	else if (read_above(ca, bio))
		status = ca_fail(why, CA_FILE_NONE, "out of memory");
	BIO_free_all(bio);
	return status;
}

static int read_private_key(struct ca *ca, const char *path, struct ca_why *why)
{
	BIO *bio = open_buffered(path, CA_FILE_KEY, why);
	bool encrypted = false;

	if (!bio)
		return -1;
	ca->key = PEM_read_bio_PrivateKey(bio, NULL, tls_no_password, &encrypted);
	BIO_free_all(bio);
	if (ca->key)
		return 0;
	if (!encrypted)
		return fail_file(why, CA_FILE_KEY, path);
	ERR_clear_error();
	return ca_fail(why, CA_FILE_KEY,
	    "private key %s is encrypted, and there is nobody to ask for its password; write it without one by openssl "
	    "pkey",
	    path);
}

/* ---- judging ---- */

static int judge_use(const struct ca *ca, const char *path, struct ca_why *why)
{
	uint32_t flags = X509_get_extension_flags(ca->cert);

	if (!(flags & EXFLAG_CA) || flags & EXFLAG_INVALID)
		return ca_fail(why, CA_FILE_CERT,
		    "certificate %s is not an authority's (basicConstraints without CA:TRUE); utfeed ca makes one",
		    path);
	if (!(X509_get_key_usage(ca->cert) & KU_KEY_CERT_SIGN))
		return ca_fail(why, CA_FILE_CERT,
		    "certificate %s may sign no certificates (keyUsage without keyCertSign); utfeed ca makes one that "
		    "may",
		    path);
	if (!(X509_get_extended_key_usage(ca->cert) & XKU_SSL_SERVER))
		return ca_fail(why, CA_FILE_CERT,
		    "certificate %s may sign none for servers (extendedKeyUsage without serverAuth); utfeed ca makes "
		    "one that may",
		    path);
	return 0;
}

static int judge_dates(const struct ca *ca, const char *path, struct ca_why *why)
{
	char said[TLS_DATE_MAX];
	enum tls_validity validity = tls_validity(ca->cert, said);

	if (validity == TLS_VALID)
		return 0;
	return ca_fail(why, CA_FILE_CERT, "certificate %s %s; %s", path, said,
	    validity == TLS_NOT_YET ? "is the clock right?"
	    : "make another with utfeed ca, and have clients trust that one");
}

static int judge_key(const struct ca *ca, const char *cert, const char *path, struct ca_why *why)
{
	if (X509_check_private_key(ca->cert, ca->key) != 1) {
		ERR_clear_error();
		return ca_fail(why, CA_FILE_KEY,
		    "private key %s is not the key of certificate %s; write the two files of one pair, as utfeed ca "
		    "makes them", path, cert);
	}
	if (EVP_PKEY_get_base_id(ca->key) == EVP_PKEY_RSA && EVP_PKEY_get_bits(ca->key) < CA_RSA_BITS_MIN)
		return ca_fail(why, CA_FILE_KEY,
		    "private key %s has %d bits, and clients want %d; utfeed ca --rsa makes one", path,
		    EVP_PKEY_get_bits(ca->key), CA_RSA_BITS_MIN);
	return 0;
}

static struct ca *ca_new(struct ca_why *why)
{
	struct ca *ca = calloc(1, sizeof *ca);

	if (ca)
		atomic_init(&ca->refs, 1);
	else
		ca_fail(why, CA_FILE_NONE, "out of memory");
	return ca;
}

struct ca *ca_read_certificate(const char *cert, struct ca_why *why)
{
	struct ca *ca = ca_new(why);

	if (ca && read_certificates(ca, cert, why))
		ca_unref(&ca);
	return ca;
}

struct ca *ca_read(const char *cert, const char *key, struct ca_why *why)
{
	struct ca *ca = ca_read_certificate(cert, why);

	if (ca && (judge_use(ca, cert, why) || judge_dates(ca, cert, why) || read_private_key(ca, key, why) ||
	        judge_key(ca, cert, key, why)))
		ca_unref(&ca);
	return ca;
}

struct ca *ca_ref(struct ca *ca)
{
	atomic_fetch_add_explicit(&ca->refs, 1, memory_order_relaxed);
	return ca;
}

void ca_unref(struct ca **cp)
{
	struct ca *ca = *cp;

	*cp = NULL;
	if (!ca || atomic_fetch_sub_explicit(&ca->refs, 1, memory_order_acq_rel) > 1)
		return;
	sk_X509_pop_free(ca->above, X509_free);
	X509_free(ca->cert);
	EVP_PKEY_free(ca->key);
	free(ca);
}

enum ca_kind ca_kind(const struct ca *ca)
{
	return EVP_PKEY_get_base_id(X509_get0_pubkey(ca->cert)) == EVP_PKEY_RSA ? CA_RSA : CA_ECDSA;
}

const char *ca_refuses(const struct ca *ca, const char *name)
{
	X509 *sample = ca_sample(name);
	int result = sample ? X509_V_OK : X509_V_ERR_OUT_OF_MEM;

	if (sample)                    /* OpenSSL checks the names that it has read, which are those of this call */
		X509_check_purpose(sample, -1, 0);
	for (int i = 0; result == X509_V_OK && i < sk_X509_num(ca->above); i++) {
		NAME_CONSTRAINTS *c =
		    X509_get_ext_d2i(sk_X509_value(ca->above, i), NID_name_constraints, NULL, NULL);

		if (c)
			result = NAME_CONSTRAINTS_check(sample, c);
		NAME_CONSTRAINTS_free(c);
	}
	X509_free(sample);
	ERR_clear_error();
	return result == X509_V_OK ? NULL : X509_verify_cert_error_string(result);
}

/* ---- showing ---- */

void ca_fingerprint(const struct ca *ca, char text[CA_FINGERPRINT_BYTES])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	text[0] = '\0';
	if (!X509_digest(ca->cert, EVP_sha256(), digest, &n))
		return;
	for (unsigned i = 0; i < n; i++)
		snprintf(text + 3 * i, CA_FINGERPRINT_BYTES - 3 * i, i + 1 < n ? "%02X:" : "%02X", digest[i]);
}

static void show_date(FILE *out, const char *before, const ASN1_TIME *t)
{
	char date[sizeof "YYYY-MM-DD HH:MM"] = "?";
	struct tm tm;

	if (ASN1_TIME_to_tm(t, &tm))
		strftime(date, sizeof date, "%Y-%m-%d %H:%M", &tm);
	fprintf(out, "%s%s UTC", before, date);
}

static void show_subtrees(BIO *out, const STACK_OF(GENERAL_SUBTREE) *list, const char *what)
{
	for (int i = 0; i < sk_GENERAL_SUBTREE_num(list); i++) {
		const GENERAL_NAME *base = sk_GENERAL_SUBTREE_value(list, i)->base;
		int type;
		const ASN1_STRING *s = GENERAL_NAME_get0_value(base, &type);

		BIO_printf(out, "%s ", i ? "," : what);
		if (type == GEN_DNS && ASN1_STRING_length(s))
			ASN1_STRING_print_ex(out, s, ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_ESC_MSB);
		else if (type == GEN_DNS)
			BIO_puts(out, "every name");
		else if (type == GEN_IPADD && ASN1_STRING_length(s) == 8)
			for (int j = 0; j < 8; j++)
				BIO_printf(out, j == 4 ? "/%d" : j ? ".%d" : "%d", ASN1_STRING_get0_data(s)[j]);
		else if (type == GEN_IPADD && ASN1_STRING_length(s) == 32)
			for (int j = 0; j < 32; j += 2)
				BIO_printf(out, j == 16 ? "/%x" : j ? ":%x" : "%x",
				    ASN1_STRING_get0_data(s)[j] << 8 | ASN1_STRING_get0_data(s)[j + 1]);
		else
			BIO_puts(out, "another kind of name");
	}
}

static void show_names(const struct ca *ca, BIO *out)
{
	NAME_CONSTRAINTS *c = X509_get_ext_d2i(ca->cert, NID_name_constraints, NULL, NULL);

	BIO_puts(out, "signs for:    ");
	if (!c)
		BIO_puts(out, "any name");
	else if (c->permittedSubtrees)
		show_subtrees(out, c->permittedSubtrees, "only");
	if (c && c->excludedSubtrees)
		show_subtrees(out, c->excludedSubtrees, c->permittedSubtrees ? "; not for" : "not for");
	BIO_puts(out, "\n");
	NAME_CONSTRAINTS_free(c);
}

void ca_show(const struct ca *ca, FILE *out)
{
	const EVP_PKEY *key = X509_get0_pubkey(ca->cert);
	BIO *bio = BIO_new_fp(out, BIO_NOCLOSE);
	char digest[CA_FINGERPRINT_BYTES];

	if (!bio)
		return;
	BIO_puts(bio, "subject:      ");
	X509_NAME_print_ex(bio, X509_get_subject_name(ca->cert), 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB);
	BIO_printf(bio, "\nkey:          %s, %d bits\n", ca_kind(ca) == CA_RSA ? "RSA" : "ECDSA",
	    key ? EVP_PKEY_get_bits(key) : 0);
	(void)BIO_flush(bio);
	show_date(out, "valid:        ", X509_get0_notBefore(ca->cert));
	show_date(out, " to ", X509_get0_notAfter(ca->cert));
	fputc('\n', out);
	show_names(ca, bio);
	(void)BIO_flush(bio);
	ca_fingerprint(ca, digest);
	fprintf(out, "fingerprint:  SHA-256 %s\n", digest);
	BIO_free(bio);
	ERR_clear_error();
}
