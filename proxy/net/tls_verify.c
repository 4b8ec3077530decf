/* Verifying peers' certificates; see tls_context_internal.h. */
#include "proxy/net/tls_context_internal.h"

enum { PROVEN_SECONDS = 24 * 3600, DAY = 24 * 3600 };

/* The end of the chain's shortest validity, but a day from now at most. */
static time_t chain_until(STACK_OF(X509) *chain, time_t now)
{
	time_t until = now + PROVEN_SECONDS;

	for (int i = 0; i < sk_X509_num(chain); i++) {
		int days, seconds;

		if (!ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(sk_X509_value(chain, i))))
			return now;
		if (days < PROVEN_SECONDS / DAY && now + days * DAY + seconds < until)
			until = now + days * DAY + seconds;
	}
	return until;
}

int tls_verify(X509_STORE_CTX *x, const SSL *ssl, time_t *proven_until)
{
	time_t now = time(NULL);
	int result;

	if (SSL_get_verify_mode(ssl) == SSL_VERIFY_NONE) {
		*proven_until = now + PROVEN_SECONDS;
		return 1;
	}
	result = X509_verify_cert(x);
	if (result == 1)
		*proven_until = chain_until(X509_STORE_CTX_get0_chain(x), now);
	return result;
}
