/* Owns how TLS reads bytes that were taken from the socket before it began: a BIO of OpenSSL that gives them first and
 * reads the socket afterwards, or another TLS that the connection speaks already. Must not know: what the bytes are. */
#include "proxy/net/tls_early.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct early {
	int fd;
	SSL *outer;                    /* read in the place of fd; NULL: none */
	size_t at, len;                /* what is left of the bytes */
	char bytes[];
};

/* The result of a call on the outer TLS, which may have to write as it reads. */
static int early_outcome(BIO *bio, SSL *outer, int n)
{
	BIO_clear_retry_flags(bio);
	switch (SSL_get_error(outer, n)) {
	case SSL_ERROR_WANT_READ:
		BIO_set_retry_read(bio);
		return -1;
	case SSL_ERROR_WANT_WRITE:
		BIO_set_retry_write(bio);
		return -1;
	case SSL_ERROR_ZERO_RETURN:
		BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
		return 0;
	default:
		return n > 0 ? n : -1;
	}
}

static int early_write(BIO *bio, const char *from, int len)
{
	struct early *e = BIO_get_data(bio);
	ssize_t n;

	if (e->outer)
		return early_outcome(bio, e->outer, SSL_write(e->outer, from, len));
	BIO_clear_retry_flags(bio);
	n = send(e->fd, from, (size_t)len, MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		BIO_set_retry_write(bio);
	return (int)n;
}

static int early_read(BIO *bio, char *to, int cap)
{
	struct early *e = BIO_get_data(bio);
	size_t left = e->len - e->at, n = left < (size_t)cap ? left : (size_t)cap;
	ssize_t got;

	BIO_clear_retry_flags(bio);
	if (n) {
		memcpy(to, e->bytes + e->at, n);
		e->at += n;
		return (int)n;
	}
	errno = 0;
	if (e->outer)
		return early_outcome(bio, e->outer, SSL_read(e->outer, to, cap));
	got = recv(e->fd, to, (size_t)cap, 0);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		BIO_set_retry_read(bio);
	else if (!got)
		BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
	return (int)got;
}

static long early_control(BIO *bio, int what, long n, void *arg)
{
	struct early *e = BIO_get_data(bio);

	(void)n, (void)arg;
	switch (what) {
	case BIO_CTRL_PENDING:
		return (long)(e->len - e->at);
	case BIO_CTRL_EOF:
		return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
	case BIO_CTRL_FLUSH:
		return 1;
	default:
		return 0;
	}
}

static int early_free(BIO *bio)
{
	free(BIO_get_data(bio));
	BIO_set_data(bio, NULL);
	return 1;
}

static BIO_METHOD *method;

static void make_method(void)
{
	method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "bytes read before, then the socket");
	if (method &&
	    !(BIO_meth_set_read(method, early_read) && BIO_meth_set_write(method, early_write) &&
	        BIO_meth_set_ctrl(method, early_control) && BIO_meth_set_destroy(method, early_free))) {
		BIO_meth_free(method);
		method = NULL;
	}
}

BIO *tls_early_new(int fd, SSL *outer, struct slice bytes)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct early *e = malloc(sizeof *e + bytes.len);
	BIO *bio;

	pthread_once(&once, make_method);
	if (!e || !method || !(bio = BIO_new(method))) {
		free(e);
		return NULL;
	}
	*e = (struct early){ .fd = fd, .outer = outer, .len = bytes.len };
	if (bytes.len)
		memcpy(e->bytes, bytes.at, bytes.len);
	BIO_set_data(bio, e);
	BIO_set_init(bio, 1);
	return bio;
}
