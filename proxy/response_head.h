/* Owns the response head a client gets: which of the origin's fields stay, which go, which are written anew, by what was done to
 * the body. Pure: heads in, head out. Must not know: sockets, objects' readers.
 * Source: RFC 9110 sections 7.6, 7.7; DESIGN.md sections 1 and 2. */
#ifndef UTFEED_PROXY_RESPONSE_HEAD_H
#define UTFEED_PROXY_RESPONSE_HEAD_H

#include "core/normalise.h"
#include "etag.h"
#include "http_msg.h"
#include "object.h"

enum response_body {
	RESPONSE_RAW,          /* the origin's bytes */
	RESPONSE_DECODED,      /* content coding undone, otherwise the origin's bytes */
	RESPONSE_NORMALISED
};

struct response_settings {
	const char *via;               /* pseudonym */
	const char *date;              /* IMF-fixdate of now, where the origin sent none */
	char etag_suffix[ETAG_SUFFIX_MAX];
	const char *content_location;  /* the URL redirects led to; NULL: none did */
	bool etag_ours;                /* the request's If-None-Match named a tag of ours: a 304 is about our bytes */
	bool etag_gzip;                /* ... in their gzip form */
	bool gzip;                     /* clients may get normalised text as gzip */
	enum normalise_output output;
	bool varies;                   /* the origin's coding was undone, or would be for another client */
};

/* Whether the head alone settles that the body stays untouched, and why. VREASON_NONE: look at the body. */
enum verdict_reason response_untouched(const struct http_msg *, bool normalise, bool respect_no_transform);

/* Without X-Encoding-Rule, which may still change: whoever sends the head adds it. One reference. NULL: out of memory. */
struct object_head *response_head_build(const struct http_msg *, enum response_body, const struct response_settings *);

/* An interim response as clients get it (RFC 9110 section 15.2), the blank line included. Only those fields of a 103 stay that are hints
 * of the final head's (RFC 8297 section 2). */
void response_interim(struct text *, const struct http_msg *);

/* A response of our own. fields: complete lines or "". text: its body. */
int response_own(struct object *, int status, const char *fields, const char *date, const char *text, size_t len);

const char *http_reason_phrase(int status);

#endif
