/* Verifying peers' certificates; see tls_context_internal.h.
 * A chain that was found good is good for an hour. The verdict depends on four things. The context has the
 * verdicts, and its authorities and options never change.
 * The peer's name and each certificate, in order, are in the digest. Of the time, the verdict holds the earliest end of
 * a certificate in the chain that was built, its root included. Lists of revoked certificates are not looked at in any
 * case. */
#include "proxy/net/tls_context_internal.h"

#include <string.h>

#include "proxy/net/tls_verdicts.h"

enum { PROVEN_SECONDS = 24 * 3600, DAY = 24 * 3600, YEARS = 1000 };

/* The earliest end of a certificate in the chain. */
static time_t chain_until(STACK_OF(X509) *chain, time_t now)
{
	time_t until = now + (time_t)YEARS * 365 * DAY;

	for (int i = 0; i < sk_X509_num(chain); i++) {
		int days, seconds;

		if (!ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(sk_X509_value(chain, i))))
			return now;
		if (now + (time_t)days * DAY + seconds < until)
			until = now + (time_t)days * DAY + seconds;
	}
	return until;
}

static bool add_certificate(EVP_MD_CTX *hash, const X509 *certificate)
{
	uint8_t digest[TLS_VERDICT_DIGEST_BYTES];

	return X509_digest(certificate, EVP_sha256(), digest, NULL) == 1 &&
	    EVP_DigestUpdate(hash, digest, sizeof digest) == 1;
}

/* The digest of what the verdict depends on. False: out of memory. */
static bool digest_make(X509_STORE_CTX *x, const char *peer, uint8_t digest[TLS_VERDICT_DIGEST_BYTES])
{
	STACK_OF(X509) *came = X509_STORE_CTX_get0_untrusted(x);
	EVP_MD_CTX *hash = EVP_MD_CTX_new();
	bool made = hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 &&
	    EVP_DigestUpdate(hash, peer, strlen(peer) + 1) == 1 &&
	    add_certificate(hash, X509_STORE_CTX_get0_cert(x));

	for (int i = 0; made && i < sk_X509_num(came); i++)
		made = add_certificate(hash, sk_X509_value(came, i));
	made = made && EVP_DigestFinal_ex(hash, digest, NULL) == 1;
	EVP_MD_CTX_free(hash);
	return made;
}

static enum tls_verified verify(X509_STORE_CTX *x, struct tls_context *context, const char *peer, time_t now,
    time_t *until)
{
	uint8_t digest[TLS_VERDICT_DIGEST_BYTES];
	bool digested = digest_make(x, peer, digest);

	if (digested && (*until = tls_verdicts_find(tls_context_verdicts(context), digest, now)))
		return TLS_VERIFIED_BEFORE;
	if (X509_verify_cert(x) != 1)
		return TLS_REFUSED;
	*until = chain_until(X509_STORE_CTX_get0_chain(x), now);
	if (digested)
		tls_verdicts_add(tls_context_verdicts(context), digest, now, *until);
	return TLS_VERIFIED;
}

enum tls_verified tls_verify(X509_STORE_CTX *x, bool wanted, struct tls_context *context, const char *peer,
    time_t *proven_until)
{
	time_t now = time(NULL), until;

	*proven_until = now + PROVEN_SECONDS;
	if (!wanted)
		return TLS_VERIFIED;
	enum tls_verified how = verify(x, context, peer, now, &until);
	if (how != TLS_REFUSED && until < *proven_until)
		*proven_until = until;
	return how;
}
