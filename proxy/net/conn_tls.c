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

	/* Begins the handshake; sends held bytes of it; reports CONN_READABLE for bytes that OpenSSL holds. It is a
	 * slice while a client's handshake is under way: one of them runs in a turn. */
	struct task task;
	struct tls_wire wire;
	bool up;                       /* the handshake is done */
	bool more;                     /* the last read left bytes, or the end, with OpenSSL */
	bool over;                     /* reading has ended; end says how */
	bool broken;                   /* no close_notify may be sent */
	bool closing;                  /* our close_notify is sent. */
	bool is_turn;                  /* Of a client: the task that it waited for has come */
	unsigned idle;                 /* records and messages that came since the last byte for the owner */
	int end;                       /* CONN_EOF or CONN_FAILED */
	struct failure failure;
	time_t proven_until;           /* see tls_sessions.h; 0: nothing was verified or resumed. */
	SSL_SESSION *offered;          /* Borrowed from the SSL, to be compared only; NULL: none. */
	bool anew;                     /* No session is offered */
	bool offers_h2;                /* HTTP/2 is, before HTTP/1.1 */
	bool narrow;                   /* a session is, and no version newer than its own */
	const char *host;              /* NULL: the peer is a client */
	char peer[];                   /* the way, a blank, the host: the key of sessions */
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
static void tls_forget_sessions(struct conn_tls *tls)
{
	if (tls->host && (tls->up ? tls->failure.error != FAILURE_NONE : tls->offered != NULL))
		tls_context_forget_sessions(tls->context, tls->peer);
}

/* The result of a call of OpenSSL that returned n. With CONN_AGAIN *need says what it waits for. */
static int tls_outcome(struct conn *conn, int n, uint8_t *need)
{
	struct conn_tls *tls = conn->tls;
	int err = errno, error = SSL_get_error(tls->ssl, n);

	*need = 0;
	if (tls->wire.refused)
		tls_blame(tls->ssl, &too_long);
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
		*need = error == SSL_ERROR_WANT_READ ? CONN_NEED_READ : CONN_NEED_WRITE;
		return CONN_AGAIN;
	}
	if (error == SSL_ERROR_ZERO_RETURN && tls->up && !tls_blamed(tls->ssl))
		return CONN_EOF;
	tls->broken = true;
	conn->err = EPROTO;
	if (error == SSL_ERROR_SSL || tls_blamed(tls->ssl)) {
		tls_explain(tls->ssl, ERR_peek_error(), tls->up, &tls->failure);
		tls->over = true;
		tls->end = CONN_FAILED;
	} else if (error == SSL_ERROR_SYSCALL && err) {
		conn->err = err;
		failure_set(&tls->failure, FAILURE_NONE, "%s%s", strerror(err),
		    tls->up ? "" : " during the TLS handshake");
	} else
		failure_set(&tls->failure, FAILURE_NONE, "closed during the TLS handshake");
	tls_forget_sessions(tls);
	ERR_clear_error();
	return CONN_FAILED;
}

static bool tls_pending(const struct conn *conn)
{
	const struct conn_tls *tls = conn->tls;

	return tls->more && (tls->over || SSL_has_pending(tls->ssl) || tls_wire_pending(&tls->wire));
}

static void tls_resume(struct conn *conn)
{
	loop_defer(conn->loop, &conn->tls->task);
}

/* Sends what waits. Where the socket takes no more, or refuses it, the owner's next read tells. */
static void tls_flush(struct conn *conn)
{
	if (tls_wire_flush(&conn->tls->wire) == 1) {
		conn->need = CONN_NEED_WRITE;
		conn_arm(conn);
	}
}

/* What came since the last read may be read. */
static void tls_refill(struct conn_tls *tls)
{
	tls->wire.drained = false;
	if (tls->outer)
		tls->outer->wire.drained = false;
}

/* more: as of conn_writev_more(). */
static void tls_expect_more(struct conn_tls *tls, bool more)
{
	tls->wire.more = more;
	if (tls->outer)
		tls->outer->wire.more = more;
}

static void tls_on_task(struct task *task)
{
	struct conn_tls *tls = container_of(task, struct conn_tls, task);
	struct conn *conn = tls->conn;

	/* The context is made, or making it has failed; or a step of a client's handshake may be done now. */
	if (conn->connecting) {
		tls->is_turn = true;
		conn_handshake(conn);
		return;
	}
	tls_flush(conn);
	if (conn->want_read && tls_pending(conn))
		conn->on_event(conn->arg, CONN_READABLE);
}

static const struct failure *tls_failure(const struct conn *conn)
{
	return conn->tls->failure.details[0] ? &conn->tls->failure : NULL;
}

/* ---- the transport ---- */

bool conn_tls_count(SSL *ssl)
{
	struct conn_tls *tls = SSL_get_app_data(ssl);

	return !tls || ++tls->idle <= IDLE_MAX;    /* NULL: a lent SSL (tls_context_lend()) */
}

int conn_tls_on_session(SSL *ssl, SSL_SESSION *session)
{
	struct conn_tls *tls = SSL_get_app_data(ssl);

	if (tls)                         /* as above */
		tls_context_keep_session(tls->context, tls->peer, session, tls->proven_until);
	return 0;
}

int conn_tls_on_certificate(X509_STORE_CTX *x, void *verify)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(x, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct conn_tls *tls = SSL_get_app_data(ssl);

	if (!tls_judge_chain(x, ssl))
		return 0;
	if (!tls)                        /* as above */
		return verify ? X509_verify_cert(x) : 1;
	switch (tls_verify(x, verify, tls->context, tls->peer, &tls->proven_until)) {
	case TLS_VERIFIED_BEFORE:
		stats_add(loop_stats(tls->conn->loop), STAT_TLS_CHAINS_KNOWN, 1);
		return 1;
	case TLS_VERIFIED:
		return 1;
	default:
		return 0;
	}
}

/* In TLS 1.2 a session may be used again, and what a resumed connection was given in its place comes by no callback. */
static void tls_on_resumed(struct conn_tls *tls)
{
	const SSL_SESSION *session = SSL_get_session(tls->ssl);

	if (session != tls->offered && SSL_version(tls->ssl) == TLS1_2_VERSION)
		tls_context_keep_session(tls->context, tls->peer, session, tls->proven_until);
}

/* An origin that gave a session of TLS 1.2 speaks nothing newer, as far as is known: a key for TLS 1.3, the dearest
 * part of a resumed handshake, is not made for it. If it does by now, it says so (tls_is_wide()) or refuses: that fails
 * the handshake, and is what conn_was_too_narrow() is for. -1: OpenSSL refuses. */
static int tls_offer(struct conn_tls *tls)
{
	tls->proven_until = tls_context_offer_session(tls->context, tls->peer, tls->ssl);
	tls->offered = SSL_get_session(tls->ssl);
	tls->narrow = tls->offered && SSL_SESSION_get_protocol_version(tls->offered) == TLS1_2_VERSION &&
	    tls_may_be_newer(tls->ssl);
	return tls->narrow && !SSL_set_max_proto_version(tls->ssl, TLS1_2_VERSION) ? -1 : 0;
}

static int tls_open(struct conn *conn)
{
	struct conn_tls *tls = conn->tls;
	struct tls_why why;

	if (!(tls->ssl = tls_context_open(tls->context, &why)) || tls_wire_attach(&tls->wire, tls->ssl) ||
	    (tls->host && tls_expect(tls->ssl, tls->host)) || (tls->offers_h2 && tls_alpn_offer_h2(tls->ssl))) {
		conn->err = ENOMEM;
		failure_set(&tls->failure, FAILURE_PROXY_INTERNAL_ERROR, "%s", why.text);
		return -1;
	}
	if (tls->leaf && leaf_use(tls->leaf, tls->ssl)) {
		conn->err = ENOMEM;
		failure_set(&tls->failure, FAILURE_PROXY_INTERNAL_ERROR, "the certificate cannot be used");
		return -1;
	}
	SSL_set_app_data(tls->ssl, tls);
	if (tls->host)
		SSL_set_connect_state(tls->ssl);
	else
		SSL_set_accept_state(tls->ssl);
	return tls->host && !tls->anew ? tls_offer(tls) : 0;
}

/* The handshake is done by an older version than both sides speak: the connection ends before any byte of a request. */
static int tls_refuse_narrow(struct conn *conn)
{
	struct conn_tls *tls = conn->tls;

	conn->err = EPROTO;
	failure_set(&tls->failure, FAILURE_TLS_PROTOCOL, "TLS 1.3 was not offered");
	tls->broken = tls->over = true;
	tls->end = CONN_FAILED;
	tls_forget_sessions(tls);
	stats_add(loop_stats(conn->loop), STAT_TLS_FAILED, 1);
	return CONN_FAILED;
}

/* The handshake goes on when the peer has answered to what is sent now, an alert maybe. */
static int tls_handshake_later(struct conn *conn, int n)
{
	struct conn_tls *tls = conn->tls;
	int r = tls_outcome(conn, n, &conn->need);

	if (tls_wire_flush(&tls->wire) == 1)
		conn->need = CONN_NEED_WRITE;
	if (r == CONN_FAILED)
		stats_add(loop_stats(conn->loop), STAT_TLS_FAILED, 1);
	return r;
}

static int tls_handshake(struct conn *conn)
{
	struct conn_tls *tls = conn->tls;

	if (tls->task.is_slice && !tls->is_turn) {
		tls_resume(conn);
		conn->need = 0;
		return CONN_AGAIN;
	}
	tls->is_turn = false;
	if (!tls->ssl && tls_open(conn))
		return CONN_FAILED;
	tls_begin();
	tls_refill(tls);
	tls->wire.holds = true;
	int n = SSL_do_handshake(tls->ssl);
	tls->wire.holds = false;
	if (n != 1)
		return tls_handshake_later(conn, n);
	if (tls->narrow && tls_is_wide(tls->ssl))
		return tls_refuse_narrow(conn);
	tls->up = tls->more = true;
	tls->task.is_slice = false;
	/* Bytes may have come along with the last message of the handshake, and our last one waits for the owner's. */
	if (tls_pending(conn) || tls->wire.held_len)
		tls_resume(conn);
	stats_add(loop_stats(conn->loop), STAT_TLS_HANDSHAKES, 1);
	if (!SSL_session_reused(tls->ssl))
		return 0;
	stats_add(loop_stats(conn->loop), STAT_TLS_RESUMED, 1);
	if (tls->host)
		tls_on_resumed(tls);
	return 0;
}

static ssize_t tls_read(struct conn *conn, void *buf, size_t cap)
{
	struct conn_tls *tls = conn->tls;
	size_t got = 0;
	uint8_t need;

	tls->more = false;
	if (!tls->up)
		return CONN_FAILED;
	tls_flush(conn);
	tls_refill(tls);
	while (!tls->over && got < cap) {
		int n, r;

		tls_begin();
		n = SSL_read(tls->ssl, (char *)buf + got, cap - got < INT_MAX ? (int)(cap - got) : INT_MAX);
		if (n > 0) {
			got += (size_t)n;
			tls->idle = 0;
			conn->drained = tls->wire.drained && !SSL_has_pending(tls->ssl);
			if (conn->drained)
				break;
			continue;
		}
		r = tls_outcome(conn, n, &need);
		if (r == CONN_AGAIN) {
			if (need == CONN_NEED_WRITE) {         /* OpenSSL has to answer a key update first */
				conn->need = need;
				conn_arm(conn);
			}
			conn->drained = need != CONN_NEED_WRITE;
			return got ? (ssize_t)got : CONN_AGAIN;
		}
		tls->over = true;
		tls->end = r;
	}
	if (!got && cap)
		return tls->end;
	tls->more = true;
	if (tls_pending(conn))
		tls_resume(conn);
	return (ssize_t)got;
}

/* Writes one record. Small pieces are gathered, so that a head and the beginning of its body share a record. */
static ssize_t tls_writev(struct conn *conn, struct iovec *iov, int n_iov, bool more)
{
	struct conn_tls *tls = conn->tls;
	uint8_t record[TLS_RECORD_BYTES], need;
	const void *from = record;
	size_t len = 0;
	int n;

	if (!tls->up || tls->broken)
		return CONN_FAILED;
	tls_expect_more(tls, more);
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
	if ((n = SSL_write(tls->ssl, from, (int)len)) > 0)
		return n;
	int r = tls_outcome(conn, n, &need);
	/* No event of the socket tells of a failure within OpenSSL: the task makes the owner read, and the read returns
	 * it. */
	if (tls->over) {
		tls->more = true;
		tls_resume(conn);
	}
	return r == CONN_AGAIN && need == CONN_NEED_WRITE ? CONN_AGAIN : CONN_FAILED;
}

static void tls_shutdown(struct conn *conn)
{
	struct conn_tls *tls = conn->tls;

	if (!tls->up || tls->broken || tls->closing)
		return;
	tls->closing = true;
	tls_expect_more(tls, conn->held = true);    /* it goes along with the end of the connection */
	tls_begin();
	SSL_shutdown(tls->ssl);
	if (tls->outer)
		SSL_shutdown(tls->outer->ssl);
}

static void tls_release(struct conn *conn, struct conn_tls *tls)
{
	tls_context_leave(tls->context, &tls->waiter);
	loop_forget(conn->loop, &tls->task);
	SSL_free(tls->ssl);
	tls_wire_drop(&tls->wire);
	leaf_unref(&tls->leaf);
	ERR_clear_error();
	tls_context_unref(&tls->context);
	assert(task_is_out(&tls->task));
	free(tls);
}

static void tls_free(struct conn *conn)
{
	struct conn_tls *tls = conn->tls, *outer = tls->outer;

	tls_release(conn, tls);             /* it may still point to the outer one */
	if (outer)
		tls_release(conn, outer);
	conn->tls = NULL;
}

static enum conn_protocol tls_protocol(const struct conn *conn)
{
	return tls_alpn_chosen(conn->tls->ssl);
}

static const struct conn_transport conn_tls = {
	tls_handshake, tls_read, tls_writev, tls_shutdown, tls_pending, tls_resume, tls_failure, tls_free, tls_protocol
};

/* ---- starting ---- */

int conn_start_tls(struct conn *conn, struct tls_context *context, const char *host, const char *way)
{
	size_t len = host ? strlen(host) : 0, way_len = host ? strlen(way) : 0;
	struct conn_tls *tls = conn->tls && conn->tls->outer ? NULL : calloc(1, sizeof *tls + way_len + 1 + len + 1);

	if (!tls)
		return -1;
	if (len && host[len - 1] == '.')
		len--;
	if (host) {
		memcpy(tls->peer, way, way_len);
		tls->peer[way_len] = ' ';
		tls->host = memcpy(tls->peer + way_len + 1, host, len);
	}
	tls->conn = conn;
	tls->wire.fd = conn->fd;
	tls_context_ref(context);
	tls->context = context;
	tls->task.run = tls_on_task;
	tls->task.is_slice = tls->wire.gauge.on = !host;
	tls->waiter.loop = conn->loop;
	tls->waiter.task = &tls->task;
	if ((tls->outer = conn->tls)) {     /* its owner reads through this one from now on */
		loop_forget(conn->loop, &tls->outer->task);
		tls->wire.outer = tls->outer->ssl;
	}
	conn->tls = tls;
	conn->transport = conn->keeper = &conn_tls;
	conn->connecting = true;
	conn->need = 0;
	conn_arm(conn);
	if (!tls_context_await(context, &tls->waiter))
		tls_resume(conn);
	return 0;
}

void conn_resume_none(struct conn *conn)
{
	conn->tls->anew = true;
}

void conn_offer_h2(struct conn *conn)
{
	conn->tls->offers_h2 = true;
}

bool conn_was_too_narrow(const struct conn *conn)
{
	return conn->tls && conn->tls->narrow && !conn->tls->up && conn->tls->failure.error == FAILURE_TLS_PROTOCOL;
}

int conn_accept_tls(struct conn *conn, struct tls_context *context, struct leaf *leaf, struct slice early)
{
	if (conn_start_tls(conn, context, NULL, NULL))
		return -1;
	conn->tls->leaf = leaf_ref(leaf);
	return tls_wire_early(&conn->tls->wire, early);
}
