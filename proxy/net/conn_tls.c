/* TLS on a connection's own socket, by OpenSSL; see tls_context.h for contexts, conn_internal.h for the transport. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/container_of.h"
#include "proxy/net/ca_internal.h"
#include "proxy/net/conn_internal.h"
#include "proxy/net/loop.h"
#include "proxy/net/tls_context_internal.h"
#include "proxy/net/tls_wire.h"

enum {
	TLS_RECORD_BYTES = SSL3_RT_MAX_PLAIN_LENGTH,
	/* Key updates, tickets, requests to renegotiate: OpenSSL takes them as long as they come, all in one call. */
	IDLE_MAX = 256
};

struct conn_tls {
	struct conn *conn;
	struct conn_tls *outer;        /* the TLS that this TLS goes through; NULL: none */
	struct tls_context *context;
	SSL *ssl;                      /* NULL: the handshake has not begun */
	struct leaf *leaf;             /* one reference: the certificate for this client; NULL: the context's */
	struct tls_waiter waiter;      /* waits for the context before that; wakes task */
	/* begins the handshake; sends what of it waited for bytes that did not come; reports CONN_READABLE for bytes
	 * that OpenSSL holds */
	struct task task;              /* a slice while a client's handshake is under way: one of them in a turn */
	struct tls_wire wire;
	bool up;                       /* the handshake is done */
	bool more;                     /* the last read left bytes, or the end, with OpenSSL */
	bool over;                     /* reading has ended; end says how */
	bool broken;                   /* no close_notify may be sent */
	bool closing;                  /* our close_notify is sent */
	bool is_turn;                  /* of a client: the task that it waited for has come */
	unsigned idle;                 /* records and messages that came since the last byte for the owner */
	int end;                       /* CONN_EOF or CONN_FAILED */
	struct failure failure;
	time_t proven_until;           /* see tls_sessions.h; 0: nothing was verified or resumed */
	SSL_SESSION *offered;          /* borrowed from the SSL, to be compared only; NULL: none */
	bool anew;                     /* no session is to be offered */
	bool narrow;                   /* a session is offered, and no version newer than its own */
	const char *host;              /* NULL: the peer is a client */
	char peer[];                   /* the way, a blank, the host: by this sessions are kept */
};

/* ---- outcomes ---- */

static const struct tls_blame too_long = { FAILURE_TLS_PROTOCOL, "the first message is too long" };

/* Before a call of OpenSSL: what SSL_get_error() looks at tells of this call alone. */
static void tls_begin(void)
{
	if (ERR_peek_error())          /* to clear what is empty takes longer */
		ERR_clear_error();
	errno = 0;
}

/* Of an origin: what it gave to resume must not stand in the way of the next connection, and after a failure within TLS
 * it is not to be used (RFC 5246 section 7.2.2). That a connection just ended is no such failure. */
static void tls_forget_sessions(struct conn_tls *t)
{
	if (t->host && (t->up ? t->failure.error != FAILURE_NONE : t->offered != NULL))
		tls_context_forget_sessions(t->context, t->peer);
}

/* The result of a call of OpenSSL that returned n. With CONN_AGAIN *need says what it waits for. */
static int tls_outcome(struct conn *c, int n, uint8_t *need)
{
	struct conn_tls *t = c->tls;
	int err = errno, error = SSL_get_error(t->ssl, n);

	*need = 0;
	if (t->wire.refused)
		tls_blame(t->ssl, &too_long);
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
		*need = error == SSL_ERROR_WANT_READ ? CONN_NEED_READ : CONN_NEED_WRITE;
		return CONN_AGAIN;
	}
	if (error == SSL_ERROR_ZERO_RETURN && t->up && !tls_blamed(t->ssl))
		return CONN_EOF;
	t->broken = true;
	c->err = EPROTO;
	if (error == SSL_ERROR_SSL || tls_blamed(t->ssl)) {
		tls_explain(t->ssl, ERR_peek_error(), t->up, &t->failure);
		t->over = true;
		t->end = CONN_FAILED;
	} else if (error == SSL_ERROR_SYSCALL && err) {
		c->err = err;
		failure_set(&t->failure, FAILURE_NONE, "%s%s", strerror(err), t->up ? "" : " during the TLS handshake");
	} else
		failure_set(&t->failure, FAILURE_NONE, "closed during the TLS handshake");
	tls_forget_sessions(t);
	ERR_clear_error();
	return CONN_FAILED;
}

static bool tls_pending(const struct conn *c)
{
	const struct conn_tls *t = c->tls;

	return t->more && (t->over || SSL_has_pending(t->ssl) || tls_wire_pending(&t->wire));
}

static void tls_resume(struct conn *c)
{
	loop_defer(c->loop, &c->tls->task);
}

/* Sends what waits. Where the socket takes no more, or refuses it, the owner's next read tells. */
static void tls_flush(struct conn *c)
{
	if (tls_wire_flush(&c->tls->wire) == 1) {
		c->need = CONN_NEED_WRITE;
		conn_arm(c);
	}
}

/* What came since the last read may be read. */
static void tls_refill(struct conn_tls *t)
{
	t->wire.drained = false;
	if (t->outer)
		t->outer->wire.drained = false;
}

/* more: as of conn_writev_more(). */
static void tls_expect_more(struct conn_tls *t, bool more)
{
	t->wire.more = more;
	if (t->outer)
		t->outer->wire.more = more;
}

static void tls_on_task(struct task *task)
{
	struct conn_tls *t = container_of(task, struct conn_tls, task);
	struct conn *c = t->conn;

	/* The context is made, or making it has failed; or a step of a client's handshake may be done now. */
	if (c->connecting) {
		t->is_turn = true;
		conn_handshake(c);
		return;
	}
	tls_flush(c);
	if (c->want_read && tls_pending(c))
		c->on_event(c->arg, CONN_READABLE);
}

static const struct failure *tls_failure(const struct conn *c)
{
	return c->tls->failure.details[0] ? &c->tls->failure : NULL;
}

/* ---- the transport ---- */

bool conn_tls_count(SSL *ssl)
{
	struct conn_tls *t = SSL_get_app_data(ssl);

	return !t || ++t->idle <= IDLE_MAX;    /* NULL: a lent SSL (tls_context_lend()) */
}

int conn_tls_on_session(SSL *ssl, SSL_SESSION *session)
{
	struct conn_tls *t = SSL_get_app_data(ssl);

	if (t)                         /* as above */
		tls_context_keep_session(t->context, t->peer, session, t->proven_until);
	return 0;
}

int conn_tls_on_certificate(X509_STORE_CTX *x, void *verify)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(x, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct conn_tls *t = SSL_get_app_data(ssl);

	if (!tls_judge_chain(x, ssl))
		return 0;
	if (!t)                        /* as above */
		return verify ? X509_verify_cert(x) : 1;
	switch (tls_verify(x, verify, t->context, t->peer, &t->proven_until)) {
	case TLS_VERIFIED_BEFORE:
		stats_add(loop_stats(t->conn->loop), STAT_TLS_CHAINS_KNOWN, 1);
		return 1;
	case TLS_VERIFIED:
		return 1;
	default:
		return 0;
	}
}

/* In TLS 1.2 a session may be used again, and what a resumed connection was given in its place comes by no callback. */
static void tls_on_resumed(struct conn_tls *t)
{
	const SSL_SESSION *session = SSL_get_session(t->ssl);

	if (session != t->offered && SSL_version(t->ssl) == TLS1_2_VERSION)
		tls_context_keep_session(t->context, t->peer, session, t->proven_until);
}

/* An origin that gave a session of TLS 1.2 speaks nothing newer, as far as is known: a key for TLS 1.3, the dearest
 * part of a resumed handshake, is not made for it. If it does by now, it says so (tls_is_wide()) or refuses: that fails
 * the handshake, and is what conn_was_too_narrow() is for. -1: OpenSSL refuses. */
static int tls_offer(struct conn_tls *t)
{
	t->proven_until = tls_context_offer_session(t->context, t->peer, t->ssl);
	t->offered = SSL_get_session(t->ssl);
	t->narrow = t->offered && SSL_SESSION_get_protocol_version(t->offered) == TLS1_2_VERSION &&
	    tls_may_be_newer(t->ssl);
	return t->narrow && !SSL_set_max_proto_version(t->ssl, TLS1_2_VERSION) ? -1 : 0;
}

static int tls_open(struct conn *c)
{
	struct conn_tls *t = c->tls;
	struct tls_why why;

	if (!(t->ssl = tls_context_open(t->context, &why)) || tls_wire_attach(&t->wire, t->ssl) ||
	    (t->host && tls_expect(t->ssl, t->host))) {
		c->err = ENOMEM;
		failure_set(&t->failure, FAILURE_PROXY_INTERNAL_ERROR, "%s", why.text);
		return -1;
	}
	if (t->leaf && leaf_use(t->leaf, t->ssl)) {
		c->err = ENOMEM;
		failure_set(&t->failure, FAILURE_PROXY_INTERNAL_ERROR, "the certificate cannot be used");
		return -1;
	}
	SSL_set_app_data(t->ssl, t);
	if (t->host)
		SSL_set_connect_state(t->ssl);
	else
		SSL_set_accept_state(t->ssl);
	return t->host && !t->anew ? tls_offer(t) : 0;
}

/* The handshake is done by an older version than both sides speak: the connection ends before any byte of a request. */
static int tls_refuse_narrow(struct conn *c)
{
	struct conn_tls *t = c->tls;

	c->err = EPROTO;
	failure_set(&t->failure, FAILURE_TLS_PROTOCOL, "TLS 1.3 was not offered");
	t->broken = t->over = true;
	t->end = CONN_FAILED;
	tls_forget_sessions(t);
	stats_add(loop_stats(c->loop), STAT_TLS_FAILED, 1);
	return CONN_FAILED;
}

/* The handshake goes on when the peer has answered to what is sent now, an alert maybe. */
static int tls_handshake_later(struct conn *c, int n)
{
	struct conn_tls *t = c->tls;
	int r = tls_outcome(c, n, &c->need);

	if (tls_wire_flush(&t->wire) == 1)
		c->need = CONN_NEED_WRITE;
	if (r == CONN_FAILED)
		stats_add(loop_stats(c->loop), STAT_TLS_FAILED, 1);
	return r;
}

static int tls_handshake(struct conn *c)
{
	struct conn_tls *t = c->tls;
	int n;

	if (t->task.is_slice && !t->is_turn) {
		tls_resume(c);
		c->need = 0;
		return CONN_AGAIN;
	}
	t->is_turn = false;
	if (!t->ssl && tls_open(c))
		return CONN_FAILED;
	tls_begin();
	tls_refill(t);
	t->wire.holds = true;
	n = SSL_do_handshake(t->ssl);
	t->wire.holds = false;
	if (n != 1)
		return tls_handshake_later(c, n);
	if (t->narrow && tls_is_wide(t->ssl))
		return tls_refuse_narrow(c);
	t->up = t->more = true;
	t->task.is_slice = false;
	/* Bytes may have come along with the last message of the handshake, and our last one waits for the owner's. */
	if (tls_pending(c) || t->wire.held_len)
		tls_resume(c);
	stats_add(loop_stats(c->loop), STAT_TLS_HANDSHAKES, 1);
	if (!SSL_session_reused(t->ssl))
		return 0;
	stats_add(loop_stats(c->loop), STAT_TLS_RESUMED, 1);
	if (t->host)
		tls_on_resumed(t);
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
	tls_flush(c);
	tls_refill(t);
	while (!t->over && got < cap) {
		int n, r;

		tls_begin();
		n = SSL_read(t->ssl, (char *)buf + got, cap - got < INT_MAX ? (int)(cap - got) : INT_MAX);
		if (n > 0) {
			got += (size_t)n;
			t->idle = 0;
			c->drained = t->wire.drained && !SSL_has_pending(t->ssl);
			if (c->drained)
				break;
			continue;
		}
		r = tls_outcome(c, n, &need);
		if (r == CONN_AGAIN) {
			if (need == CONN_NEED_WRITE) {         /* OpenSSL has to answer a key update first */
				c->need = need;
				conn_arm(c);
			}
			c->drained = need != CONN_NEED_WRITE;
			return got ? (ssize_t)got : CONN_AGAIN;
		}
		t->over = true;
		t->end = r;
	}
	if (!got && cap)
		return t->end;
	t->more = true;
	if (tls_pending(c))
		tls_resume(c);
	return (ssize_t)got;
}

/* Writes one record. Small pieces are gathered, so that a head and the beginning of its body share a record. */
static ssize_t tls_writev(struct conn *c, struct iovec *iov, int n_iov, bool more)
{
	struct conn_tls *t = c->tls;
	uint8_t record[TLS_RECORD_BYTES], need;
	const void *from = record;
	size_t len = 0;
	int n, r;

	if (!t->up || t->broken)
		return CONN_FAILED;
	tls_expect_more(t, more);
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
	tls_begin();
	if ((n = SSL_write(t->ssl, from, (int)len)) > 0)
		return n;
	r = tls_outcome(c, n, &need);
	/* No event of the socket tells of a failure within OpenSSL: the task makes the owner read, and the read returns
	 * it. */
	if (t->over) {
		t->more = true;
		tls_resume(c);
	}
	return r == CONN_AGAIN && need == CONN_NEED_WRITE ? CONN_AGAIN : CONN_FAILED;
}

static void tls_shutdown(struct conn *c)
{
	struct conn_tls *t = c->tls;

	if (!t->up || t->broken || t->closing)
		return;
	t->closing = true;
	tls_expect_more(t, c->held = true);    /* it goes along with the end of the connection */
	tls_begin();
	SSL_shutdown(t->ssl);
	if (t->outer)
		SSL_shutdown(t->outer->ssl);
}

static void tls_release(struct conn *c, struct conn_tls *t)
{
	tls_context_leave(t->context, &t->waiter);
	loop_forget(c->loop, &t->task);
	SSL_free(t->ssl);
	tls_wire_drop(&t->wire);
	leaf_unref(&t->leaf);
	ERR_clear_error();
	tls_context_unref(&t->context);
	assert(task_is_out(&t->task));
	free(t);
}

static void tls_free(struct conn *c)
{
	struct conn_tls *t = c->tls, *outer = t->outer;

	tls_release(c, t);             /* it may still point to the outer one */
	if (outer)
		tls_release(c, outer);
	c->tls = NULL;
}

static const struct conn_transport conn_tls = {
	tls_handshake, tls_read, tls_writev, tls_shutdown, tls_pending, tls_resume, tls_failure, tls_free
};

/* ---- starting ---- */

int conn_start_tls(struct conn *c, struct tls_context *context, const char *host, const char *way)
{
	size_t len = host ? strlen(host) : 0, way_len = host ? strlen(way) : 0;
	struct conn_tls *t = c->tls && c->tls->outer ? NULL : calloc(1, sizeof *t + way_len + 1 + len + 1);

	if (!t)
		return -1;
	if (len && host[len - 1] == '.')
		len--;
	if (host) {
		memcpy(t->peer, way, way_len);
		t->peer[way_len] = ' ';
		t->host = memcpy(t->peer + way_len + 1, host, len);
	}
	t->conn = c;
	t->wire.fd = c->fd;
	tls_context_ref(context);
	t->context = context;
	t->task.run = tls_on_task;
	t->task.is_slice = t->wire.gauge.on = !host;
	t->waiter.loop = c->loop;
	t->waiter.task = &t->task;
	if ((t->outer = c->tls)) {     /* its owner reads through this one from now on */
		loop_forget(c->loop, &t->outer->task);
		t->wire.outer = t->outer->ssl;
	}
	c->tls = t;
	c->transport = c->keeper = &conn_tls;
	c->connecting = true;
	c->need = 0;
	conn_arm(c);
	if (!tls_context_await(context, &t->waiter))
		tls_resume(c);
	return 0;
}

void conn_resume_none(struct conn *c)
{
	c->tls->anew = true;
}

bool conn_was_too_narrow(const struct conn *c)
{
	return c->tls && c->tls->narrow && !c->tls->up && c->tls->failure.error == FAILURE_TLS_PROTOCOL;
}

int conn_accept_tls(struct conn *c, struct tls_context *context, struct leaf *leaf, struct slice early)
{
	if (conn_start_tls(c, context, NULL, NULL))
		return -1;
	c->tls->leaf = leaf_ref(leaf);
	return tls_wire_early(&c->tls->wire, early);
}
