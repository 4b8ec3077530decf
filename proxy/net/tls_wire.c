/* The bytes of TLS records between OpenSSL and a socket, or another TLS; see tls_wire.h. */
#include "proxy/net/tls_wire.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "proxy/net/tls_context_internal.h"
#include "proxy/net/tls_hello.h"

enum { HELD_MAX = 16 << 10 };

static BIO_METHOD *method;

/* ---- out ---- */

/* False: they are to be sent now, behind those held. */
static bool wire_hold(struct tls_wire *wire, const char *bytes, size_t len)
{
	uint8_t *grown;

	if (!wire->holds || len > HELD_MAX - wire->held_len || !(grown = realloc(wire->held, wire->held_len + len)))
		return false;
	memcpy(grown + wire->held_len, bytes, len);
	wire->held = grown;
	wire->held_len += len;
	return true;
}

/* The result of a call on the outer TLS as of one on a socket: -1 with errno. */
static ssize_t outer_outcome(struct tls_wire *wire, int n)
{
	int err = errno, error = SSL_get_error(wire->outer, n);

	if (n > 0)
		return n;
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
		errno = EAGAIN;
	else
		errno = err && err != EAGAIN ? err : EIO;
	return error == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

/* Of several pieces the outer TLS takes the first. */
static ssize_t wire_sendv(struct tls_wire *wire, struct iovec *iov, size_t n_iov)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = n_iov };
	ssize_t n;

	errno = 0;
	if (wire->outer) {
		n = outer_outcome(wire, SSL_write(wire->outer, iov->iov_base, (int)iov->iov_len));
		return n ? n : -1;
	}
	do
		n = sendmsg(wire->fd, &msg, MSG_NOSIGNAL | (wire->more ? MSG_MORE : 0));
	while (n < 0 && errno == EINTR);
	return n;
}

/* Takes away what was sent of what is held; gives how much was sent of what followed. */
static size_t wire_sent(struct tls_wire *wire, size_t n)
{
	size_t part = n < wire->held_len ? n : wire->held_len;

	wire->held_len -= part;
	if (wire->held_len)
		memmove(wire->held, wire->held + part, wire->held_len);
	else {
		free(wire->held);
		wire->held = NULL;
	}
	return n - part;
}

/* Sends what is held and the bytes behind it; how many of the latter went, or -1 with errno. */
static ssize_t wire_send(struct tls_wire *wire, const char *bytes, size_t len)
{
	struct iovec iov[2] = { { wire->held, wire->held_len }, { (void *)(uintptr_t)bytes, len } };
	ssize_t n = 0;

	while (!n && (wire->held_len || len)) {
		if ((n = wire->held_len ? wire_sendv(wire, iov, len ? 2 : 1) : wire_sendv(wire, iov + 1, 1)) < 0)
			return -1;
		n = (ssize_t)wire_sent(wire, (size_t)n);
		iov[0] = (struct iovec){ wire->held, wire->held_len };
	}
	return n;
}

int tls_wire_flush(struct tls_wire *wire)
{
	if (!wire->held_len || wire_send(wire, NULL, 0) == 0)
		return 0;
	return errno == EAGAIN ? 1 : -1;
}

static int wire_write(BIO *bio, const char *bytes, int len)
{
	struct tls_wire *wire = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	if (wire_hold(wire, bytes, (size_t)len))
		return len;
	ssize_t n = wire_send(wire, bytes, (size_t)len);
	if (n < 0 && errno == EAGAIN)
		BIO_set_retry_write(bio);
	return (int)n;
}

/* ---- in ---- */

int tls_wire_early(struct tls_wire *wire, struct slice bytes)
{
	if (!bytes.len)
		return 0;
	if (!(wire->early = malloc(bytes.len)))
		return -1;
	memcpy(wire->early, bytes.at, bytes.len);
	wire->early_len = bytes.len;
	return 0;
}

bool tls_wire_pending(const struct tls_wire *wire)
{
	return wire->early || (wire->outer && SSL_has_pending(wire->outer));
}

static ssize_t wire_read_early(struct tls_wire *wire, char *bytes, size_t cap)
{
	size_t left = wire->early_len - wire->early_at, n = left < cap ? left : cap;

	memcpy(bytes, wire->early + wire->early_at, n);
	wire->early_at += n;
	if (n == left) {
		free(wire->early);
		wire->early = NULL;
	}
	return (ssize_t)n;
}

static ssize_t wire_receive(struct tls_wire *wire, char *bytes, size_t cap)
{
	ssize_t n;

	errno = 0;
	if (wire->outer)
		return outer_outcome(wire, SSL_read(wire->outer, bytes, (int)cap));
	do
		n = recv(wire->fd, bytes, cap, 0);
	while (n < 0 && errno == EINTR);
	wire->drained = n > 0 && n < (ssize_t)cap;
	return n;
}

/* Takes a byte of the records. True: it belongs to the message. */
static bool gauge_enter(struct tls_gauge *gauge, uint8_t byte)
{
	if (gauge->left) {
		gauge->left--;
		return true;
	}
	gauge->record[gauge->record_len++] = byte;
	if (gauge->record_len == sizeof gauge->record) {
		gauge->left = (size_t)gauge->record[3] << 8 | gauge->record[4];
		gauge->record_len = 0;
	}
	return false;
}

/* Whether these bytes say that the first message is too long. */
static bool gauge_exceeds(struct tls_gauge *gauge, const uint8_t *at, size_t len)
{
	for (size_t i = 0; gauge->on && i < len; i++) {
		if (gauge_enter(gauge, at[i]))
			gauge->message[gauge->message_len++] = at[i];
		gauge->on = gauge->message_len < sizeof gauge->message;
	}
	return !gauge->on && gauge->message_len &&
	    ((size_t)gauge->message[1] << 16 | (size_t)gauge->message[2] << 8 | gauge->message[3]) >
	    TLS_HELLO_BYTES_MAX;
}

static int wire_read(BIO *bio, char *bytes, int cap)
{
	struct tls_wire *wire = BIO_get_data(bio);
	ssize_t n = -1;

	BIO_clear_retry_flags(bio);
	if (wire->early)
		n = wire_read_early(wire, bytes, (size_t)cap);
	else if ((wire->held_len && !wire->outer) || wire->drained)
		errno = EAGAIN;        /* the peer has nothing to answer yet, or nothing more has come */
	else
		n = wire_receive(wire, bytes, (size_t)cap);
	wire->ended = n == 0;
	if (wire->gauge.on && n > 0 && gauge_exceeds(&wire->gauge, (const uint8_t *)bytes, (size_t)n)) {
		wire->refused = true;
		errno = EPROTO;
		return -1;
	}
	if (n < 0 && errno == EAGAIN)
		BIO_set_retry_read(bio);
	return (int)n;
}

/* ---- the BIO ---- */

static long wire_ctrl(BIO *bio, int what, long number, void *pointer)
{
	const struct tls_wire *wire = BIO_get_data(bio);

	(void)number, (void)pointer;
	return what == BIO_CTRL_FLUSH || (what == BIO_CTRL_EOF && wire->ended);
}

static int wire_create(BIO *bio)
{
	BIO_set_init(bio, 1);
	return 1;
}

static void method_make(void)
{
	method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "connection");
	if (method &&
	    !(BIO_meth_set_write(method, wire_write) && BIO_meth_set_read(method, wire_read) &&
	        BIO_meth_set_ctrl(method, wire_ctrl) && BIO_meth_set_create(method, wire_create))) {
		BIO_meth_free(method);
		method = NULL;
	}
}

int tls_wire_attach(struct tls_wire *wire, SSL *ssl)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	BIO *bio;

	pthread_once(&once, method_make);
	if (!method || !(bio = BIO_new(method)))
		return -1;
	BIO_set_data(bio, wire);
	SSL_set_bio(ssl, bio, bio);
	return 0;
}

void tls_wire_drop(struct tls_wire *wire)
{
	free(wire->held);
	free(wire->early);
	wire->held = NULL;
	wire->early = NULL;
	wire->held_len = 0;
}
