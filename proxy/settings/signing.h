/* Owns what signs requests to origins (Web Bot Auth): the keys of sign-key and the identity of sign-agent. It writes
 * the fields of a signed request, and the directory in which origins find the public keys.
 * Must not know: connections, which requests are signed. All workers share it by the settings that it belongs to.
 * Invariant: a signature covers the authority that is asked, and no request has more than one of ours.
 * Cost: a signature takes about 40 us.
 * Sources: draft-ietf-webbotauth-httpsig-protocol-01, RFC 9421, RFC 9530 section 2. */
#ifndef UTFEED_PROXY_SETTINGS_SIGNING_H
#define UTFEED_PROXY_SETTINGS_SIGNING_H

#include <stdint.h>

#include "proxy/base/text.h"

struct conf;
struct conf_route;
struct signer;
struct signing;

/* The time of a signature, and how long its request may wait before it is sent. */
struct signing_times { int64_t now_s, waits_s; };

/* Reads the keys of all routes. *made is NULL if no request is signed. Warns of a file that others may read. -1: a file
 * cannot be used (logged with the place of the option that names it), or out of memory. */
int signing_new(const struct conf *, struct signing **made) __attribute__((warn_unused_result));
void signing_free(struct signing **);          /* sets it to NULL; it may be NULL already */

/* The signer of the route's requests, which lives as long as the signing. NULL: they are not signed. */
const struct signer *signing_of(const struct signing *, const struct conf_route *);
/* Appends the fields Signature-Agent, Signature-Input and Signature for a request to that authority. The text fails if
 * it cannot be signed. */
void signer_add(const struct signer *, struct text *, const char *authority, const struct signing_times *);
/* Writes the body of the directory, which has each key once, and its fields with a signature by each. The texts fail if
 * they cannot be written. */
void signing_write_directory(const struct signing *, struct text *fields, struct text *body, int64_t now_s);

#endif
