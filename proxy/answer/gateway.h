/* Owns the URL under which a client reaches the gateway, for answers whose URLs lead there (Location, the option
 * rewrite).
 * Must not know: feeds, what is rewritten. Invariant: what it writes for a request stands in the key of what is stored
 * for it, or is not stored, so that no client's Host shapes what another one gets. */
#ifndef UTFEED_PROXY_ANSWER_GATEWAY_H
#define UTFEED_PROXY_ANSWER_GATEWAY_H

#include "conf/conf.h"
#include "proxy/answer/context.h"
#include "proxy/base/text.h"
#include "proxy/http/request.h"
#include "proxy/http/target.h"

/* Whether URLs of answers to such a request may lead through the gateway. */
static inline bool gateway_leads(const struct target *target)
{
	return target->route->rewrite != CONF_REWRITE_OFF && target->mode != TARGET_FORWARD;
}

/* Appends the URL by which the client reached utfeed, as its Host says. False: it named none, and nothing was
 * written. */
bool gateway_add_reached(struct text *, const struct request_context *, const struct request *);
/* Appends the gateway's URL, without a slash at its end; nothing if it is not known. */
void gateway_add_own(struct text *, const struct request_context *, const struct request *, const struct target *);
/* Appends the name and password of the client's own URL, unless gateway-url ends in some. They may stand in a head for
 * this client alone, and never in what is stored, nor in a key. */
static inline void gateway_add_token(struct text *t, const struct request *request)
{
	struct slice token = request_token(request);

	if (!t->len || t->bytes[t->len - 1] != '@')
		text_add(t, token.at, token.len);
}
/* As gateway_add_own(); nothing if the URLs of answers do not lead there. */
void gateway_add_url(struct text *, const struct request_context *, const struct request *, const struct target *);

#endif
