/* Owns the answers that utfeed gives by itself: a sentence of plain text under a status, and the answer that tells a
 * client of a failure.
 * Must not know: connections, requests. Invariant: each answer is complete when it is handed out; no byte of it comes
 * from an origin. */
#ifndef UTFEED_PROXY_ANSWER_LOCAL_REPLY_H
#define UTFEED_PROXY_ANSWER_LOCAL_REPLY_H

#include "proxy/answer/context.h"
#include "proxy/base/text.h"
#include "proxy/object/object.h"

/* All give one reference; NULL: out of memory. */

/* fields: further lines of the head, each with its CRLF. details: put in parentheses behind the sentence; "": none. */
struct object *local_reply(const struct request_context *, int status, const char *fields, const char *sentence,
    const char *details);
/* The same with that body as it stands; one that has failed is out of memory. */
struct object *local_reply_body(const struct request_context *, int status, const char *fields,
    const struct text *body);
/* The answer for a client whose request failed before it had an object. */
struct object *local_reply_failure(const struct request_context *, const struct failure *);
/* The answer for a client whose object failed before it had a head. */
struct object *local_reply_failed(const struct request_context *, const struct object *failed);

#endif
