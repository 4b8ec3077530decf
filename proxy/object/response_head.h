/* Owns the response head that a client gets: whether a field of the origin's stays, goes or is written anew. This
 * depends on what was done to the body and on who chose the origin. Pure: heads in, head out. Must not know: sockets,
 * objects' readers.
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

/* Who chose the origin, and so how far its fields count for the client and for servers in front of utfeed. */
enum response_way {
	RESPONSE_CHOSEN,       /* The operator chose the origin: a route. */
	RESPONSE_FORWARDED,    /* The client chose it, and knows it for that origin: forward proxy. */
	/* The client takes it for another origin: the gateway, or a redirect led to another origin. */
	RESPONSE_FOREIGN
};

struct response_settings {
	enum response_way way;
	const char *via;               /* utfeed's pseudonym in Via */
	const char *date;              /* now, as IMF-fixdate; used if the origin sent no Date */
	char etag_suffix[ETAG_SUFFIX_MAX];
	const char *url;               /* At which the response was found, redirects followed; NULL: not known. */
	bool redirected;               /* Redirects led there. */
	bool etag_ours;                /* The request's If-None-Match named a tag of ours: a 304 is about our bytes. */
	bool etag_gzip;                /* The same, of the gzip form of our bytes. */
	bool gzip;                     /* Clients may get normalised text as gzip. */
	enum normalise_output output;
	bool keeps_type;               /* of a normalised body: its type stays, with another charset */
	bool varies;                   /* the origin's coding was undone, or would be for another client */
};

/* Why the body stays untouched, if the head alone decides that. VREASON_NONE: the body has to be examined. */
enum verdict_reason response_untouched(const struct http_msg *, bool normalise, bool respect_no_transform);

/* Builds the head without X-Encoding-Rule, which may still change: it is added when the head is sent. One reference.
 * NULL: out of memory. */
struct object_head *response_head_build(const struct http_msg *, enum response_body, const struct response_settings *);

/* Writes an interim response as clients get it (RFC 9110 section 15.2), the blank line included. Of a 103 only those
 * fields stay that are hints of the final head's (RFC 8297 section 2). */
void response_interim(struct text *, const struct http_msg *);

/* Fills the object with a response of our own. fields: complete lines or "", Content-Type is
 * the first of them, unless the body is plain text. A Content-Security-Policy of theirs replaces the sandbox, and a
 * Cache-Control no-store. text: the body. */
int response_own(struct object *, int status, const char *fields, const char *date, const char *text, size_t len)
    __attribute__((warn_unused_result));

/* Tells a browser how to treat a body that comes from another site than it seems. CSP Level 3 section 6.4.2 "sandbox":
 * no scripts, no forms, an origin of its own. Fetch Standard section 3.6 "nosniff": no guessing of another type. */
#define RESPONSE_NOSNIFF "X-Content-Type-Options: nosniff\r\n"
#define RESPONSE_SANDBOX "Content-Security-Policy: sandbox\r\n" RESPONSE_NOSNIFF

const char *http_reason_phrase(int status);

#endif
