/* Owns the response head a client gets: which of the origin's fields stay, which go, which are written anew, by what
 * was done to the body and by who chose the origin. Pure: heads in, head out. Must not know: sockets, objects' readers.
 * Source: RFC 9110 sections 7.6, 7.7; utfeed-operating(7), HEADER FIELDS. */
#ifndef UTFEED_PROXY_OBJECT_RESPONSE_HEAD_H
#define UTFEED_PROXY_OBJECT_RESPONSE_HEAD_H

#include "core/normalise/normalise.h"
#include "proxy/http/etag.h"
#include "proxy/http/http_msg.h"
#include "proxy/object/object.h"

enum response_body {
	RESPONSE_RAW,          /* the origin's bytes */
	RESPONSE_DECODED,      /* content coding undone, otherwise the origin's bytes */
	RESPONSE_NORMALISED
};

/* Whose word the origin's fields are to those in front of utfeed. */
enum response_way {
	RESPONSE_CHOSEN,       /* the operator chose the origin: a route */
	RESPONSE_FORWARDED,    /* a client did, and takes it for that origin: a forward proxy's */
	/* it is not what the client takes it for: by the gateway, or where a redirect led to another origin */
	RESPONSE_FOREIGN
};

struct response_settings {
	enum response_way way;
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

/* Without X-Encoding-Rule, which may still change: whoever sends the head adds it. One reference. NULL: out of
 * memory. */
struct object_head *response_head_build(const struct http_msg *, enum response_body, const struct response_settings *);

/* An interim response as clients get it (RFC 9110 section 15.2), the blank line included. Only those fields of a 103
 * stay that are hints of the final head's (RFC 8297 section 2). */
void response_interim(struct text *, const struct http_msg *);

/* A response of our own. fields: complete lines or "". text: its body. */
int response_own(struct object *, int status, const char *fields, const char *date, const char *text, size_t len)
    __attribute__((warn_unused_result));

/* What a browser makes of a body that is not from the site it takes it for: no scripts, no forms, an origin of its own,
 * and no guess of another type (CSP Level 3 section 6.4.2 "sandbox", Fetch Standard section 3.6 "nosniff"). */
#define RESPONSE_SANDBOX "Content-Security-Policy: sandbox\r\nX-Content-Type-Options: nosniff\r\n"

const char *http_reason_phrase(int status);

#endif
