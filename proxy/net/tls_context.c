/* Contexts of OpenSSL and their making, at once or later; see tls_context.h. */
#include "proxy/net/tls_context_internal.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proxy/base/log.h"
#include "proxy/net/loop.h"
#include "proxy/net/tls_pem.h"
#include "proxy/net/tls_sessions.h"
#include "proxy/net/tls_verdicts.h"

enum { TLS_SECURITY_LEVEL = 2 };        /* 112 bits: RSA 2048, no SHA-1 signatures */

static const struct tls_why out_of_memory = { TLS_FILE_NONE, "out of memory" };

struct tls_context {
	atomic_uint refs;              /* one of its maker, one of each connection */
	bool verify;                   /* the setting of a context made later */
	/* have locks of their own; NULL: a server's */
	struct tls_sessions *sessions;
	struct tls_verdicts *verdicts;
	pthread_mutex_t lock;          /* guards what follows */
	SSL_CTX *ssl;                  /* NULL: not made yet; once made it stays */
	bool making, has_maker;
	pthread_t maker;
	struct tls_why why;            /* why the last attempt to make it failed */
	LIST_HEAD(, tls_waiter) waiters;
};

/* ---- memory ---- */

/* Set where an allocation of OpenSSL failed: it makes a context that lacks what it had no memory for (ciphers, for
 * example) and does not tell. */
static _Thread_local bool memory_refused;

static void on_free(void *memory, const char *file, int line)
{
	(void)file, (void)line;
	free(memory);
}

/* For a size of 0 this frees the memory, as OpenSSL's own function does. */
static void *on_realloc(void *memory, size_t bytes, const char *file, int line)
{
	void *new = NULL;

	if (!bytes)
		on_free(memory, file, line);
	else if (!(new = realloc(memory, bytes)))
		memory_refused = true;
	return new;
}

static void *on_malloc(size_t bytes, const char *file, int line)
{
	void *memory = bytes ? malloc(bytes) : NULL;

	(void)file, (void)line;
	if (!memory && bytes)
		memory_refused = true;
	return memory;
}

/* Called with the first context of the process, before OpenSSL allocates any memory. */
static void memory_watch(void)
{
	CRYPTO_set_mem_functions(on_malloc, on_realloc, on_free);
}

/* ---- made ---- */

/* What OpenSSL's security level refuses. */
static const char *why_advice(unsigned long e)
{
	switch (ERR_GET_REASON(e)) {
	case SSL_R_EE_KEY_TOO_SMALL:
	case SSL_R_CA_KEY_TOO_SMALL:
		return "; write one whose key is of ECDSA, or of RSA with 2048 bits or more";
	case SSL_R_CA_MD_TOO_WEAK:
		return "; write one that is signed with SHA-256";
	default:
		return "";
	}
}

static int why_set(struct tls_why *why, enum tls_file file, const char *name)
{
	static const char *const what[TLS_FILES] = { "TLS", "certificate authorities", "certificate", "private key" };
	unsigned long e = ERR_peek_error();
	bool unread = ERR_SYSTEM_ERROR(e);
	const char *reason = unread ? strerror(ERR_GET_REASON(e)) : ERR_reason_error_string(e);
	const char *lacks = *name && !unread ?
	    tls_pem_lacks(name, file == TLS_FILE_KEY ? TLS_PEM_KEY : TLS_PEM_CERTIFICATE) : NULL;

	why->file = file;
	if (lacks)
		snprintf(why->text, sizeof why->text, "%s %s", name, lacks);
	else
		snprintf(why->text, sizeof why->text, "%s%s%s: %s%s", what[file], *name ? " " : "", name,
		    reason ? reason : "unknown error",
		    !*name ? "" : unread ? "; write the name of a PEM file that utfeed may read" : why_advice(e));
	ERR_clear_error();
	return -1;
}

int tls_no_password(char *buf, int size, int writing, void *asked)
{
	(void)buf, (void)size, (void)writing;
	*(bool *)asked = true;
	return 0;                      /* the default of OpenSSL would ask on the terminal */
}

/* cert: the file of the certificate, for messages. */
static int ctx_read_key(SSL_CTX *ctx, const char *key, const char *cert, struct tls_why *why)
{
	bool encrypted = false, failed;

	SSL_CTX_set_default_passwd_cb(ctx, tls_no_password);
	SSL_CTX_set_default_passwd_cb_userdata(ctx, &encrypted);
	failed = SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(ctx) != 1;
	SSL_CTX_set_default_passwd_cb(ctx, NULL);
	SSL_CTX_set_default_passwd_cb_userdata(ctx, NULL);
	if (!failed)
		return 0;
	bool is_other = ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_VALUES_MISMATCH ||
	    ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_TYPE_MISMATCH;
	why_set(why, TLS_FILE_KEY, key);
	if (encrypted)
		snprintf(why->text, sizeof why->text,
		    "private key %s is encrypted, and there is nobody to ask for its password; write it without one by "
		    "openssl pkey",
		    key);
	else if (is_other)
		snprintf(why->text, sizeof why->text,
		    "private key %s is not the key of certificate %s; write the two files of one pair", key, cert);
	return -1;
}

static void ctx_set_client(SSL_CTX *ctx, const struct tls_settings *settings)
{
	/* What conn_tls_on_certificate() says counts in any case: also of a peer that need not prove who it is, absurd
	 * keys are refused. */
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_cert_verify_callback(ctx, conn_tls_on_certificate, settings->verify ? ctx : NULL);
	/* A certificate's names are read where RFC 9525 puts them, not from the subject. */
	X509_VERIFY_PARAM_set_hostflags(SSL_CTX_get0_param(ctx),
	    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, conn_tls_on_session);
}

static const char *system_path(const char *variable, const char *by_default)
{
	const char *value = getenv(variable);

	return value ? value : by_default;
}

void tls_context_system_paths(void (*f)(void *arg, const char *list), void *arg)
{
	f(arg, system_path(X509_get_default_cert_file_env(), X509_get_default_cert_file()));
	f(arg, system_path(X509_get_default_cert_dir_env(), X509_get_default_cert_dir()));
	f(arg, X509_get_default_cert_area());
}

/* Trusts the system's authorities. A file of them that exists and cannot be read whole is an error: OpenSSL's own
 * default would silently leave some of them out. */
static int ctx_trust_system(SSL_CTX *ctx, struct tls_why *why)
{
	const char *file = system_path(X509_get_default_cert_file_env(), X509_get_default_cert_file());

	if (!access(file, F_OK) && !SSL_CTX_load_verify_file(ctx, file))
		return why_set(why, TLS_FILE_CA, file);
	return SSL_CTX_set_default_verify_dir(ctx) ? 0 : why_set(why, TLS_FILE_CA, "");
}

/* OpenSSL reads the extensions of a certificate at its first use, and a certificate for which it then has no memory
 * stays invalid for ever. So they are read now. */
static void ctx_read_extensions(SSL_CTX *ctx)
{
	STACK_OF(X509_OBJECT) *trusted = X509_STORE_get0_objects(SSL_CTX_get_cert_store(ctx));

	for (int i = 0; i < sk_X509_OBJECT_num(trusted); i++) {
		X509 *certificate = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(trusted, i));

		if (certificate)               /* NULL: a revocation list */
			X509_check_purpose(certificate, -1, 0);
	}
}

static int ctx_read_files(SSL_CTX *ctx, const struct tls_settings *settings, struct tls_why *why)
{
	const char *key = *settings->key ? settings->key : settings->cert;

	if (settings->verify && *settings->ca_file && !SSL_CTX_load_verify_file(ctx, settings->ca_file))
		return why_set(why, TLS_FILE_CA, settings->ca_file);
	if (settings->verify && !*settings->ca_file && ctx_trust_system(ctx, why))
		return -1;
	ctx_read_extensions(ctx);
	if (!*settings->cert)
		return 0;
	if (SSL_CTX_use_certificate_chain_file(ctx, settings->cert) != 1)
		return why_set(why, TLS_FILE_CERT, settings->cert);
	if (ctx_read_key(ctx, key, settings->cert, why)) {
		if (!*settings->key)
			why->file = TLS_FILE_CERT;
		return -1;
	}
	return 0;
}

/* Old versions sign by SHA-1 and MD5, which no level above 0 accepts. */
static int ctx_set_version(SSL_CTX *ctx, const struct tls_settings *settings)
{
	static const int versions[] = { [TLS_VERSION_DEFAULT] = TLS1_2_VERSION, [TLS_VERSION_1_0] = TLS1_VERSION,
		[TLS_VERSION_1_1] = TLS1_1_VERSION, [TLS_VERSION_1_2] = TLS1_2_VERSION,
		[TLS_VERSION_1_3] = TLS1_3_VERSION };
	int min = versions[settings->side == TLS_SERVER ? settings->min : TLS_VERSION_DEFAULT];

	SSL_CTX_set_security_level(ctx, min < TLS1_2_VERSION ? 0 : TLS_SECURITY_LEVEL);
	return SSL_CTX_set_min_proto_version(ctx, min) ? 0 : -1;
}

static SSL_CTX *ctx_assemble(const struct tls_settings *settings, struct tls_why *why)
{
	SSL_CTX *ctx = SSL_CTX_new(settings->side == TLS_SERVER ? TLS_server_method() : TLS_client_method());

	if (!ctx || ctx_set_version(ctx, settings) || tls_ciphers_set(ctx, settings->ciphers)) {
		why_set(why, TLS_FILE_NONE, "");
		SSL_CTX_free(ctx);
		return NULL;
	}
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ctx,
	    SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_read_ahead(ctx, 1);
	tls_limits_set(ctx, settings->side);
	tls_alpn_set(ctx, settings);
	if (settings->side == TLS_SERVER) {
		SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);       /* tickets need no memory of ours */
		SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
	} else {
		ctx_set_client(ctx, settings);
	}
	if (ctx_read_files(ctx, settings, why)) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	return ctx;
}

/* NULL: why tells the reason. */
static SSL_CTX *ctx_make(const struct tls_settings *settings, struct tls_why *why)
{
	SSL_CTX *ctx;

	memory_refused = false;
	if ((ctx = ctx_assemble(settings, why)) && memory_refused) {
		SSL_CTX_free(ctx);
		*why = out_of_memory;
		return NULL;
	}
	return ctx;
}

static struct tls_context *context_new(enum tls_side side)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct tls_context *context = calloc(1, sizeof *context);

	pthread_once(&once, memory_watch);
	if (!context)
		return NULL;
	atomic_init(&context->refs, 1);
	pthread_mutex_init(&context->lock, NULL);
	LIST_INIT(&context->waiters);
	if (side == TLS_CLIENT &&
	    (!(context->sessions = tls_resume_new()) || !(context->verdicts = tls_verdicts_new())))
		tls_context_unref(&context);
	return context;
}

struct tls_context *tls_context_new(const struct tls_settings *settings, struct tls_why *why)
{
	struct tls_context *context = context_new(settings->side);

	*why = out_of_memory;
	if (context && !(context->ssl = ctx_make(settings, why)))
		tls_context_unref(&context);
	return context;
}

struct tls_context *tls_context_new_later(bool verify)
{
	struct tls_context *context = context_new(TLS_CLIENT);

	if (context)
		context->verify = verify;
	return context;
}

void tls_context_ref(struct tls_context *context)
{
	atomic_fetch_add_explicit(&context->refs, 1, memory_order_relaxed);
}

void tls_context_unref(struct tls_context **cp)
{
	struct tls_context *context = *cp;

	*cp = NULL;
	if (!context || atomic_fetch_sub_explicit(&context->refs, 1, memory_order_acq_rel) > 1)
		return;
	if (context->has_maker)
		pthread_join(context->maker, NULL);
	SSL_CTX_free(context->ssl);
	tls_sessions_free(&context->sessions);
	tls_verdicts_free(&context->verdicts);
	pthread_mutex_destroy(&context->lock);
	free(context);
}

/* ---- dates ---- */

enum tls_validity tls_validity(const X509 *certificate, char said[TLS_DATE_MAX])
{
	const ASN1_TIME *from = X509_get0_notBefore(certificate), *until = X509_get0_notAfter(certificate);
	bool early = X509_cmp_current_time(from) > 0, late = X509_cmp_current_time(until) < 0;
	char date[sizeof "YYYY-MM-DD HH:MM"] = "?";
	struct tm tm;

	if (ASN1_TIME_to_tm(early ? from : until, &tm))
		strftime(date, sizeof date, "%Y-%m-%d %H:%M", &tm);
	snprintf(said, TLS_DATE_MAX, "%s %s UTC", early ? "is not valid before" : "expired on", date);
	ERR_clear_error();
	return early ? TLS_NOT_YET : late ? TLS_EXPIRED : TLS_VALID;
}

bool tls_context_is_out_of_date(struct tls_context *context, const char *file, struct tls_why *why)
{
	X509 *own = context->ssl ? SSL_CTX_get0_certificate(context->ssl) : NULL;
	STACK_OF(X509) *chain = NULL;
	char said[TLS_DATE_MAX];
	int i = 0;

	if (!own)
		return false;
	why->file = TLS_FILE_CERT;
	if (tls_validity(own, said) != TLS_VALID) {
		snprintf(why->text, sizeof why->text, "certificate %s %s; renew it, since clients refuse it", file,
		    said);
		return true;
	}
	SSL_CTX_get0_chain_certs(context->ssl, &chain);
	while (i < sk_X509_num(chain) && tls_validity(sk_X509_value(chain, i), said) == TLS_VALID)
		i++;
	snprintf(why->text, sizeof why->text,
	    "a certificate above the first in %s %s; renew it, since clients refuse it", file, said);
	return i < sk_X509_num(chain);
}

/* ---- made later ---- */

static void *tls_context_load(void *arg)
{
	struct tls_context *context = arg;
	const struct tls_settings settings = { .side = TLS_CLIENT, .verify = context->verify, .ca_file = "", .cert = "",
		.key = "" };
	struct tls_why why;
	SSL_CTX *ssl = ctx_make(&settings, &why);
	struct tls_waiter *waiter;

	if (!ssl)
		log_error("tls: %s", why.text);
	pthread_mutex_lock(&context->lock);
	if (!(context->ssl = ssl))
		context->why = why;
	context->making = false;
	while ((waiter = LIST_FIRST(&context->waiters))) {
		LIST_REMOVE(waiter, link);
		waiter->waiting = false;
		loop_wake(waiter->loop, waiter->task);
	}
	pthread_mutex_unlock(&context->lock);
	return NULL;
}

/* Under the lock. A former maker released the lock as the last thing it did, so joining it does not wait. */
static void context_start_making(struct tls_context *context)
{
	if (context->has_maker)
		pthread_join(context->maker, NULL);
	int err = pthread_create(&context->maker, NULL, tls_context_load, context);
	context->has_maker = context->making = !err;
	if (err)
		snprintf(context->why.text, sizeof context->why.text, "no thread to load TLS: %s", strerror(err));
}

bool tls_context_await(struct tls_context *context, struct tls_waiter *waiter)
{
	pthread_mutex_lock(&context->lock);
	if (!context->ssl && !context->making)
		context_start_making(context);
	bool waits = waiter->waiting = context->making;
	if (waits)
		LIST_INSERT_HEAD(&context->waiters, waiter, link);
	pthread_mutex_unlock(&context->lock);
	return waits;
}

void tls_context_leave(struct tls_context *context, struct tls_waiter *waiter)
{
	pthread_mutex_lock(&context->lock);
	if (waiter->waiting)
		LIST_REMOVE(waiter, link);
	waiter->waiting = false;
	pthread_mutex_unlock(&context->lock);
}

/* ---- for connections ---- */

SSL *tls_context_open(struct tls_context *context, struct tls_why *why)
{
	SSL_CTX *ctx;

	*why = out_of_memory;
	pthread_mutex_lock(&context->lock);
	if (!(ctx = context->ssl))
		*why = context->why;
	pthread_mutex_unlock(&context->lock);
	return ctx ? SSL_new(ctx) : NULL;
}

struct tls_sessions *tls_context_sessions(struct tls_context *context)
{
	return context->sessions;
}

struct tls_verdicts *tls_context_verdicts(struct tls_context *context)
{
	return context->verdicts;
}

int tls_expect(SSL *ssl, const char *host)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	unsigned char address[sizeof(struct in6_addr)];
	size_t len = inet_pton(AF_INET, host, address) == 1 ? sizeof(struct in_addr)
	    : inet_pton(AF_INET6, host, address) == 1       ? sizeof address
	                                                    : 0;

	if (len)
		return X509_VERIFY_PARAM_set1_ip(param, address, len) == 1 ? 0 : -1;
	return SSL_set_tlsext_host_name(ssl, host) == 1 && X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 ? 0 : -1;
}

/* ---- lent ---- */

struct ssl_st *tls_context_lend(struct tls_context *context, const char *host)
{
	SSL *ssl = SSL_new(context->ssl);

	if (!ssl || tls_expect(ssl, host) || SSL_set_alpn_protos(ssl, NULL, 0)) {
		SSL_free(ssl);
		ERR_clear_error();
		return NULL;
	}
	/* Without read-ahead: the library waits for the socket, and must not wait for bytes that OpenSSL has read
	 * already. */
	SSL_set_read_ahead(ssl, 0);
	return ssl;
}

void tls_lent_free(struct ssl_st *ssl)
{
	SSL_free(ssl);
	ERR_clear_error();
}

const char *tls_lent_refusal(const struct ssl_st *ssl)
{
	return SSL_get_verify_result(ssl) == X509_V_OK ? NULL : tls_refusal(ssl);
}

