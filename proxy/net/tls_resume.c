/* OpenSSL's sessions, as a context keeps and offers them; see tls_context_internal.h.
 * A session that is kept belongs to no connection: what OpenSSL notes in a session while a connection uses it, or when
 * one ends badly, is noted in a copy. It holds no certificate either, for on resumption nobody reads that. The first
 * session after a full handshake is written out and read again without it; what a resumed connection receives is a copy
 * of a session that never had one. */
#include "proxy/net/tls_context_internal.h"

#include <string.h>

#include "proxy/net/tls_sessions.h"

enum {
	SESSIONS_MAX = 4096,
	SESSIONS_BYTES_MAX = 4 << 20,
	SESSIONS_OF_PEER = 32,
	SESSION_BYTES = 1024,          /* what OpenSSL allocates for one, beside its ticket and its name */
	TICKET_BYTES_MAX = 16 << 10,   /* longer ones are not kept */
	PEER_TAG = 3                   /* the certificate's, in OpenSSL's encoding of a session */
};

static void session_ref(void *session)
{
	SSL_SESSION_up_ref(session);
}

static void session_unref(void *session)
{
	SSL_SESSION_free(session);
}

struct tls_sessions *tls_resume_new(void)
{
	static const struct tls_sessions_limits limits = { SESSIONS_MAX, SESSIONS_BYTES_MAX, SESSIONS_OF_PEER };
	static const struct tls_session_ops ops = { session_ref, session_unref };

	return tls_sessions_new(&limits, &ops);
}

/* ---- versions ---- */

bool tls_may_be_newer(const SSL *ssl)
{
	long most = SSL_get_max_proto_version((SSL *)(uintptr_t)ssl);  /* 0: no bound; the macro takes no const */

	return (!most || most > TLS1_2_VERSION) && !(SSL_get_options(ssl) & SSL_OP_NO_TLSv1_3);
}

bool tls_is_wide(const SSL *ssl)
{
	static const unsigned char mark[] = { 'D', 'O', 'W', 'N', 'G', 'R', 'D', 1 };
	unsigned char random[SSL3_RANDOM_SIZE];

	return SSL_get_server_random(ssl, random, sizeof random) == sizeof random &&
	    !memcmp(random + sizeof random - sizeof mark, mark, sizeof mark);
}

/* ---- without certificate ---- */

/* Reads the head of an element of DER at *at, which it moves to the contents. -1: there is none of a known length. */
static long der_enter(const unsigned char **at, const unsigned char *end, int *tag, int *class)
{
	long len;

	return end > *at && !(ASN1_get_object(at, &len, tag, class, end - *at) & 0x81) ? len : -1;
}

/* Takes the certificate's element out of the contents of a session's encoding. False: this is no such encoding. */
static bool der_cut_peer(unsigned char *contents, long *len)
{
	const unsigned char *at = contents, *end = contents + *len;

	while (at < end) {
		const unsigned char *from = at;
		int tag, class;
		long inner = der_enter(&at, end, &tag, &class);

		if (inner < 0)
			return false;
		at += inner;
		if (class == V_ASN1_CONTEXT_SPECIFIC && tag == PEER_TAG) {
			memmove(contents + (from - contents), at, (size_t)(end - at));
			*len -= at - from;
			return true;
		}
	}
	return true;
}

/* The same session without the certificate of its peer, as one of its own. NULL: out of memory, or an encoding that
 * this does not know. */
static SSL_SESSION *session_without_peer(const SSL_SESSION *session)
{
	unsigned char *der = NULL, *head;
	int bytes = i2d_SSL_SESSION(session, &der), tag, class;
	const unsigned char *at = der;
	SSL_SESSION *made = NULL;
	long len;

	if (bytes > 0 && (len = der_enter(&at, der + bytes, &tag, &class)) >= 0 && tag == V_ASN1_SEQUENCE) {
		unsigned char *contents = der + (at - der);

		if (der_cut_peer(contents, &len)) {
			/* The head of what is shorter is not longer than it was. */
			int whole = ASN1_object_size(1, (int)len, V_ASN1_SEQUENCE);

			at = head = contents - (whole - len);
			ASN1_put_object(&head, 1, (int)len, V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL);
			made = d2i_SSL_SESSION(NULL, &at, whole);
		}
	}
	OPENSSL_clear_free(der, bytes > 0 ? (size_t)bytes : 0);
	return made;
}

/* ---- kept and offered ---- */

/* Whether it can be kept: what it takes, and until when it may be resumed. proven_until is later than now. */
static bool session_measure(const SSL_SESSION *session, time_t now, time_t proven_until, struct tls_session *kept)
{
	unsigned long lifetime = SSL_SESSION_get_ticket_lifetime_hint(session);
	const char *name = SSL_SESSION_get0_hostname(session);
	const unsigned char *ticket;
	size_t ticket_len = 0;

	SSL_SESSION_get0_ticket(session, &ticket, &ticket_len);
	kept->once = SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION;
	kept->bytes = SESSION_BYTES + ticket_len + (name ? strlen(name) : 0);
	kept->from = now;
	kept->until = kept->proven_until = proven_until;
	/* In TLS 1.2 0 says that it is not known (RFC 5077 section 3.3). */
	if ((kept->once || lifetime) && lifetime < (unsigned long)(proven_until - now))
		kept->until = now + (time_t)lifetime;
	return SSL_SESSION_is_resumable(session) && ticket_len <= TICKET_BYTES_MAX && kept->until > now;
}

void tls_context_keep_session(struct tls_context *context, const char *peer, const SSL_SESSION *session,
    time_t proven_until)
{
	time_t now = time(NULL);
	struct tls_session kept;

	if (proven_until <= now || !session_measure(session, now, proven_until, &kept))
		return;
	kept.session = SSL_SESSION_get0_peer((SSL_SESSION *)session) ? session_without_peer(session)
	                                                             : SSL_SESSION_dup(session);
	if (kept.session)
		tls_sessions_put(tls_context_sessions(context), peer, &kept);
	else
		ERR_clear_error();
}

time_t tls_context_offer_session(struct tls_context *context, const char *peer, SSL *ssl)
{
	struct tls_session kept;
	SSL_SESSION *offered;

	if (!tls_sessions_take(tls_context_sessions(context), peer, time(NULL), &kept))
		return 0;
	offered = kept.once ? kept.session : SSL_SESSION_dup(kept.session);
	bool set = offered && SSL_set_session(ssl, offered);
	if (!kept.once)
		SSL_SESSION_free(kept.session);
	SSL_SESSION_free(offered);
	return set ? kept.proven_until : 0;
}

void tls_context_forget_sessions(struct tls_context *context, const char *peer)
{
	tls_sessions_forget(tls_context_sessions(context), peer);
}
