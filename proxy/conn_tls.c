/* TLS on a connection's own socket, by OpenSSL; see conn_tls.h for contexts, conn_internal.h for the transport.
 * The only file that knows OpenSSL. */
#include "conn_tls.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "conn_internal.h"
#include "loop.h"
#include "owner.h"
#include "tls_sessions.h"

enum {
	TLS_SESSIONS_MAX = 1024,
	TLS_RECORD_BYTES = SSL3_RT_MAX_PLAIN_LENGTH,
	TLS_SECURITY_LEVEL = 2         /* 112 bits: RSA 2048, no SHA-1 signatures */
};

/* RFC 7301: a byte of length, then the name */
static const unsigned char alpn[] = "\x08http/1.1\x08http/1.0";
enum { ALPN_CLIENT_BYTES = 9, ALPN_BYTES = sizeof alpn - 1 };

struct tls_context {
	atomic_uint refs;              /* one is its maker's, each connection has one */
	enum tls_side side;
	SSL_CTX *ssl;
	pthread_mutex_t lock;          /* guards sessions */
	struct tls_sessions *sessions;
};

struct conn_tls {
	struct conn *conn;
	struct tls_context *context;
	SSL *ssl;
	struct task task;              /* says CONN_READABLE for bytes that the socket no longer has */
	bool up;                       /* the handshake is done */
	bool more;                     /* the last read filled its buffer, or held back how reading ended */
	bool over;                     /* reading ended, as `end` says */
	bool broken;                   /* no close_notify may follow */
	bool closing;                  /* ours is sent */
	int end;
	struct proxy_failure failure;
	char peer[];                   /* "host:port": whose sessions these are */
};

/* ---- contexts ---- */

static int why_set(struct tls_why *why, enum tls_file file, const char *name)
{
	static const char *const what[TLS_FILES] = { "TLS", "certificate authorities", "certificate", "private key" };
	const char *reason = ERR_reason_error_string(ERR_peek_error());

	why->file = file;
	snprintf(why->text, sizeof why->text, "%s%s%s: %s", what[file], *name ? " " : "", name, reason ? reason : "unknown error");
	ERR_clear_error();
	return -1;
}

static int no_password(char *buf, int size, int writing, void *arg)
{
	(void)buf, (void)size, (void)writing, (void)arg;
	return 0;                      /* OpenSSL's own would ask on the terminal */
}

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in, unsigned in_len, void *arg)
{
	(void)ssl, (void)arg;
	if (SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_len, alpn, ALPN_BYTES, in, in_len) == OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_OK;
	return SSL_TLSEXT_ERR_ALERT_FATAL;             /* RFC 7301 section 3.2 */
}

static void tls_keep_session(struct conn_tls *t, SSL_SESSION *session)
{
	unsigned char *bytes = NULL;
	int len = i2d_SSL_SESSION(session, &bytes);

	if (len <= 0)
		return;
	pthread_mutex_lock(&t->context->lock);
	tls_sessions_put(t->context->sessions, t->peer, bytes, (size_t)len);
	pthread_mutex_unlock(&t->context->lock);
}

static int on_session(SSL *ssl, SSL_SESSION *session)
{
	if (SSL_get_app_data(ssl))             /* not so for a lent one */
		tls_keep_session(SSL_get_app_data(ssl), session);
	return 0;
}

static void ctx_set_client(SSL_CTX *ctx, const struct tls_settings *c)
{
	SSL_CTX_set_verify(ctx, c->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
	/* Names are looked for where RFC 9525 has them, not in the subject */
	X509_VERIFY_PARAM_set_hostflags(SSL_CTX_get0_param(ctx), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	SSL_CTX_set_alpn_protos(ctx, alpn, ALPN_CLIENT_BYTES);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, on_session);
}

static int ctx_read_files(SSL_CTX *ctx, const struct tls_settings *c, struct tls_why *why)
{
	const char *key = *c->key ? c->key : c->cert;

	if (c->verify && !(*c->ca_file ? SSL_CTX_load_verify_file(ctx, c->ca_file) : SSL_CTX_set_default_verify_paths(ctx)))
		return why_set(why, TLS_FILE_CA, c->ca_file);
	if (!*c->cert)
		return 0;
	if (SSL_CTX_use_certificate_chain_file(ctx, c->cert) != 1)
		return why_set(why, TLS_FILE_CERT, c->cert);
	if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(ctx) != 1) {
		why_set(why, TLS_FILE_KEY, key);
		if (!*c->key)
			why->file = TLS_FILE_CERT;
		return -1;
	}
	return 0;
}

/* NULL: why says it. */
static SSL_CTX *ctx_make(const struct tls_settings *c, struct tls_why *why)
{
	SSL_CTX *ctx = SSL_CTX_new(c->side == TLS_SERVER ? TLS_server_method() : TLS_client_method());

	if (!ctx || !SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION)) {
		why_set(why, TLS_FILE_NONE, "");
		SSL_CTX_free(ctx);
		return NULL;
	}
	SSL_CTX_set_security_level(ctx, TLS_SECURITY_LEVEL);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_read_ahead(ctx, 1);
	SSL_CTX_set_default_passwd_cb(ctx, no_password);
	if (c->side == TLS_SERVER) {
		SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);       /* tickets need no memory of ours */
		SSL_CTX_set_alpn_select_cb(ctx, on_alpn, NULL);
	} else
		ctx_set_client(ctx, c);
	if (ctx_read_files(ctx, c, why)) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	return ctx;
}

struct tls_context *tls_context_new(const struct tls_settings *s, struct tls_why *why)
{
	struct tls_context *c = calloc(1, sizeof *c);

	*why = (struct tls_why){ TLS_FILE_NONE, "out of memory" };
	if (!c)
		return NULL;
	atomic_init(&c->refs, 1);
	pthread_mutex_init(&c->lock, NULL);
	c->side = s->side;
	c->sessions = tls_sessions_new(TLS_SESSIONS_MAX);
	if (!c->sessions || !(c->ssl = ctx_make(s, why)))
		tls_context_unref(&c);
	return c;
}

void tls_context_unref(struct tls_context **cp)
{
	struct tls_context *c = *cp;

	*cp = NULL;
	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1)
		return;
	SSL_CTX_free(c->ssl);
	tls_sessions_free(&c->sessions);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* ---- failures ---- */

/* Alerts that say there is no version or cipher in common (RFC 8446 section 6.2): the protocol's failure, not a verdict on us. */
static bool alert_is_protocol(int alert)
{
	return alert == SSL_AD_HANDSHAKE_FAILURE || alert == SSL_AD_PROTOCOL_VERSION || alert == SSL_AD_INSUFFICIENT_SECURITY;
}

static void tls_classify(struct conn_tls *t, unsigned long e)
{
	const char *reason = ERR_reason_error_string(e);
	int code = ERR_GET_LIB(e) == ERR_LIB_SSL ? ERR_GET_REASON(e) : 0, alert = code - SSL_AD_REASON_OFFSET;

	if (!reason)
		reason = "unknown error";
	if (code == SSL_R_CERTIFICATE_VERIFY_FAILED)
		proxy_failure_set(&t->failure, PROXY_ERROR_TLS_CERTIFICATE, "%s",
		    X509_verify_cert_error_string(SSL_get_verify_result(t->ssl)));
	else if (code == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		proxy_failure_set(&t->failure, PROXY_ERROR_NONE, "closed %s", t->up ? "without close_notify" : "during the TLS handshake");
	else if (alert >= 0)
		proxy_failure_set(&t->failure, alert_is_protocol(alert) ? PROXY_ERROR_TLS_PROTOCOL : PROXY_ERROR_TLS_ALERT,
		    "alert %d, %s", alert, reason);
	else
		proxy_failure_set(&t->failure, PROXY_ERROR_TLS_PROTOCOL, "%s", reason);
}

/* What OpenSSL's call that returned n comes to; *need: what it waits for, with CONN_AGAIN. */
static int tls_outcome(struct conn *c, int n, uint8_t *need)
{
	struct conn_tls *t = c->tls;
	int err = errno, error = SSL_get_error(t->ssl, n);

	*need = 0;
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
		*need = error == SSL_ERROR_WANT_READ ? CONN_NEED_READ : CONN_NEED_WRITE;
		return CONN_AGAIN;
	}
	if (error == SSL_ERROR_ZERO_RETURN && t->up)
		return CONN_EOF;
	t->broken = true;
	c->err = EPROTO;
	if (error == SSL_ERROR_SSL)
		tls_classify(t, ERR_peek_error());
	else if (error == SSL_ERROR_SYSCALL && err) {
		c->err = err;
		proxy_failure_set(&t->failure, PROXY_ERROR_NONE, "%s%s", strerror(err), t->up ? "" : " during the TLS handshake");
	} else
		proxy_failure_set(&t->failure, PROXY_ERROR_NONE, "closed during the TLS handshake");
	ERR_clear_error();
	return CONN_FAILED;
}

bool conn_tls_pending(const struct conn *c)
{
	const struct conn_tls *t = c->tls;

	return t->more && (t->over || SSL_has_pending(t->ssl));
}

void conn_tls_resume(struct conn *c)
{
	loop_defer(c->loop, &c->tls->task);
}

static void tls_on_task(struct task *task)
{
	struct conn_tls *t = OWNER_OF(task, struct conn_tls, task);
	struct conn *c = t->conn;

	if (c->want_read && conn_tls_pending(c))
		c->on_event(c->arg, CONN_READABLE);
}

const struct proxy_failure *conn_tls_failure(const struct conn *c)
{
	return c->tls->failure.details[0] ? &c->tls->failure : NULL;
}

/* ---- the transport ---- */

static int tls_handshake(struct conn *c)
{
	struct conn_tls *t = c->tls;
	int n, r;

	ERR_clear_error();
	errno = 0;
	if ((n = SSL_do_handshake(t->ssl)) != 1) {
		if ((r = tls_outcome(c, n, &c->need)) == CONN_FAILED)
			stats_add(loop_stats(c->loop), STAT_TLS_FAILED, 1);
		return r;
	}
	t->up = t->more = true;
	if (conn_tls_pending(c))                /* what came behind its last message */
		conn_tls_resume(c);
	stats_add(loop_stats(c->loop), STAT_TLS_HANDSHAKES, 1);
	if (!SSL_session_reused(t->ssl))
		return 0;
	stats_add(loop_stats(c->loop), STAT_TLS_RESUMED, 1);
	if (t->context->side == TLS_CLIENT && SSL_version(t->ssl) == TLS1_2_VERSION)   /* good for more than once there */
		tls_keep_session(t, SSL_get_session(t->ssl));
	return 0;
}

static ssize_t tls_read(struct conn *c, void *buf, size_t cap)
{
	struct conn_tls *t = c->tls;
	size_t got = 0;
	uint8_t need;

	t->more = false;
	if (!t->up)
		return CONN_FAILED;
	while (!t->over && got < cap) {
		int n, r;

		ERR_clear_error();
		errno = 0;
		n = SSL_read(t->ssl, (char *)buf + got, cap - got < INT_MAX ? (int)(cap - got) : INT_MAX);
		if (n > 0) {
			got += (size_t)n;
			continue;
		}
		r = tls_outcome(c, n, &need);
		if (r == CONN_AGAIN) {
			if (need == CONN_NEED_WRITE) {         /* it has to answer a key update first */
				c->need = need;
				conn_arm(c);
			}
			return got ? (ssize_t)got : CONN_AGAIN;
		}
		t->over = true;
		t->end = r;
	}
	if (!got && cap)
		return t->end;
	t->more = true;
	if (conn_tls_pending(c))
		conn_tls_resume(c);
	return (ssize_t)got;
}

/* One record. Small pieces are gathered, so that a head and its body's beginning share one. */
static ssize_t tls_writev(struct conn *c, const struct iovec *iov, int n_iov, bool more)
{
	struct conn_tls *t = c->tls;
	uint8_t record[TLS_RECORD_BYTES], need;
	const void *from = record;
	size_t len = 0;
	int n, r;

	(void)more;
	if (!t->up || t->broken)
		return CONN_FAILED;
	if (n_iov == 1 || (n_iov && iov[0].iov_len >= sizeof record)) {
		from = iov[0].iov_base;
		len = iov[0].iov_len < sizeof record ? iov[0].iov_len : sizeof record;
	} else
		for (int i = 0; i < n_iov && len < sizeof record; i++) {
			size_t part = iov[i].iov_len < sizeof record - len ? iov[i].iov_len : sizeof record - len;

			memcpy(record + len, iov[i].iov_base, part);
			len += part;
		}
	if (!len)
		return 0;
	ERR_clear_error();
	errno = 0;
	if ((n = SSL_write(t->ssl, from, (int)len)) > 0)
		return n;
	r = tls_outcome(c, n, &need);
	return r == CONN_AGAIN && need == CONN_NEED_WRITE ? CONN_AGAIN : CONN_FAILED;
}

static void tls_shutdown(struct conn *c)
{
	struct conn_tls *t = c->tls;

	if (!t->up || t->broken || t->closing)
		return;
	t->closing = true;
	ERR_clear_error();
	SSL_shutdown(t->ssl);
}

static const struct conn_transport conn_tls = { tls_handshake, tls_read, tls_writev, tls_shutdown };

void conn_tls_free(struct conn *c)
{
	struct conn_tls *t = c->tls;

	if (!t)
		return;
	loop_undefer(c->loop, &t->task);
	SSL_free(t->ssl);
	ERR_clear_error();
	tls_context_unref(&t->context);
	free(t);
	c->tls = NULL;
}

/* ---- starting ---- */

static void tls_offer_session(struct conn_tls *t)
{
	const unsigned char *at;
	unsigned char *bytes;
	SSL_SESSION *session;
	size_t len;

	pthread_mutex_lock(&t->context->lock);
	bytes = tls_sessions_take(t->context->sessions, t->peer, &len);
	pthread_mutex_unlock(&t->context->lock);
	at = bytes;
	if (bytes && (session = d2i_SSL_SESSION(NULL, &at, (long)len))) {
		SSL_set_session(t->ssl, session);
		SSL_SESSION_free(session);
	}
	free(bytes);
}

/* Whom the peer must prove to be: a name, which goes into SNI too, or an address, which must not (RFC 6066 section 3). */
static int tls_expect(SSL *ssl, const char *host, size_t len)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	unsigned char address[sizeof(struct in6_addr)];
	char name[256];

	if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1 ? 0 : -1;
	if (len >= sizeof name)
		return -1;
	memcpy(name, host, len);
	name[len] = '\0';
	return SSL_set_tlsext_host_name(ssl, name) == 1 && X509_VERIFY_PARAM_set1_host(param, name, 0) == 1 ? 0 : -1;
}

struct ssl_st *tls_context_lend(struct tls_context *context, const char *host)
{
	SSL *ssl = SSL_new(context->ssl);

	if (!ssl || tls_expect(ssl, host, strlen(host)) || SSL_set_alpn_protos(ssl, NULL, 0)) {
		SSL_free(ssl);
		ERR_clear_error();
		return NULL;
	}
	/* Who waits for the socket must not be waiting for bytes that OpenSSL has read already. */
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
	long result = SSL_get_verify_result(ssl);

	return result == X509_V_OK ? NULL : X509_verify_cert_error_string(result);
}

int conn_start_tls(struct conn *c, struct tls_context *context, const char *host)
{
	size_t len = host ? strlen(host) : 0;
	struct conn_tls *t = calloc(1, sizeof *t + len + sizeof ":65535");

	if (!t)
		return -1;
	t->conn = c;
	atomic_fetch_add_explicit(&context->refs, 1, memory_order_relaxed);
	t->context = context;
	t->task.run = tls_on_task;
	t->ssl = SSL_new(context->ssl);
	if (!t->ssl || !SSL_set_fd(t->ssl, c->fd))
		goto fail;
	SSL_set_app_data(t->ssl, t);
	if (context->side == TLS_CLIENT) {
		if (len && host[len - 1] == '.')
			len--;
		if (tls_expect(t->ssl, host, len))
			goto fail;
		snprintf(t->peer, len + sizeof ":65535", "%.*s:%u", (int)len, host, ntohs(c->address.in.sin_port));
		tls_offer_session(t);
		SSL_set_connect_state(t->ssl);
	} else
		SSL_set_accept_state(t->ssl);
	c->tls = t;
	c->transport = &conn_tls;
	c->connecting = true;
	c->need = context->side == TLS_CLIENT ? CONN_NEED_WRITE : CONN_NEED_READ;
	conn_arm(c);
	return 0;
fail:
	SSL_free(t->ssl);
	ERR_clear_error();
	tls_context_unref(&t->context);
	free(t);
	return -1;
}
