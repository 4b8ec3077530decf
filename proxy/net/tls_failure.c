/* What went wrong with TLS, in words; see tls_context_internal.h. */
#include "proxy/net/tls_context_internal.h"

#include <pthread.h>

static int blame_index = -1;           /* of an SSL's data */

static void blame_prepare(void)
{
	blame_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
}

void tls_blame(SSL *ssl, const struct tls_blame *why)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, blame_prepare);
	/* If memory for it runs out, the message has OpenSSL's own words. */
	SSL_set_ex_data(ssl, blame_index, (void *)(uintptr_t)why);
}

const struct tls_blame *tls_blamed(const SSL *ssl)
{
	return blame_index < 0 ? NULL : SSL_get_ex_data(ssl, blame_index);
}

const char *tls_refusal(const SSL *ssl)
{
	const struct tls_blame *blamed = tls_blamed(ssl);

	return blamed ? blamed->text : X509_verify_cert_error_string(SSL_get_verify_result(ssl));
}

/* With these alerts the peer says that it found no common version or cipher (RFC 8446 section 6.2). They count as
 * protocol errors, not as alerts. */
static bool alert_is_protocol(int alert)
{
	return alert == SSL_AD_HANDSHAKE_FAILURE || alert == SSL_AD_PROTOCOL_VERSION ||
	    alert == SSL_AD_INSUFFICIENT_SECURITY;
}

void tls_explain(const SSL *ssl, unsigned long e, bool up, struct failure *failure)
{
	const struct tls_blame *blamed = tls_blamed(ssl);
	const char *reason = ERR_reason_error_string(e);
	int code = ERR_GET_LIB(e) == ERR_LIB_SSL ? ERR_GET_REASON(e) : 0, alert = code - SSL_AD_REASON_OFFSET;

	if (!reason)
		reason = "unknown error";
	if (blamed)
		failure_set(failure, blamed->error, "%s", blamed->text);
	else if (code == SSL_R_CERTIFICATE_VERIFY_FAILED)
		failure_set(failure, FAILURE_TLS_CERTIFICATE, "%s", tls_refusal(ssl));
	else if (code == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		failure_set(failure, FAILURE_NONE, "closed %s",
		    up ? "without close_notify" : "during the TLS handshake");
	else if (alert >= 0 && alert <= UINT8_MAX)
		failure_set(failure, alert_is_protocol(alert) ? FAILURE_TLS_PROTOCOL : FAILURE_TLS_ALERT,
		    "alert %d, %s", alert, reason);
	else
		failure_set(failure, FAILURE_TLS_PROTOCOL, "%s", reason);
}
