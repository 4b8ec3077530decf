/* Owns what is done to an origin's body on its way into the object. Content codings are undone, the encoding is
 * decided, UTF-8 is made, and the head is written once the decision is there. Must not know: sockets, parsers.
 * Invariant: the bytes that the object gets are either all the origin's, all decoded, all normalised, or all the gzip
 * of normalised text, as its head says. */
#ifndef UTFEED_PROXY_OBJECT_TRANSFORM_H
#define UTFEED_PROXY_OBJECT_TRANSFORM_H

#include "core/normalise/normalise.h"
#include "proxy/base/log.h"
#include "proxy/coding/content_coding.h"
#include "proxy/http/http_msg.h"
#include "proxy/object/object.h"
#include "proxy/object/response_head.h"

struct loop;

struct transform_options {
	struct loop *loop;                 /* for Date */
	struct log_id id;                  /* of the request that began the fetch */
	bool normalise;                    /* false: every body stays untouched */
	bool respect_no_transform;
	/* A body that is not a feed fails (FAILURE_NO_FEED), and so does a feed that is cut (transform_close.c). None
	 * begins before its window is there. */
	bool needs_feed;
	struct content_coding_codings client_codings;    /* an untouched body keeps a coding named here */
	/* content_type and content_language are filled in by the transform; base is the URL that led to the body;
	 * spares serve the transform, too */
	struct normalise_options encoding;
	struct content_coding_limits limits;
	/* the one client that waits takes normalised text as gzip, from gzip_min bytes on: an object that is not kept
	 * may get it so (object_head.coded) */
	bool takes_gzip;
	uint64_t gzip_min;
	struct response_settings head;
};

enum transform_result {
	TRANSFORM_OK,              /* All input used. */
	TRANSFORM_FULL,            /* The object is full: *used says how many bytes were taken. */
	TRANSFORM_PAUSED,          /* Likewise, but only until the next turn of the loop. */
	TRANSFORM_FAILED,          /* transform_failure() says why. */
	TRANSFORM_UNFED            /* Of transform_feed_whole(): nothing is done, the body is to be fed. */
};

struct transform;
/* Borrows msg and its buffer for as long as it lives. NULL: out of memory. */
struct transform *transform_new(struct object *, const struct http_msg *, const struct transform_options *);
void transform_free(struct transform **);
/* Called before the first byte; writes the head if the origin's head alone decides. */
enum transform_result transform_start(struct transform *);
enum transform_result transform_feed(struct transform *, const uint8_t *in, size_t len, size_t *used);
/* Takes all of a body of which nothing was fed, and finishes. A body that would be held until the decision is not
 * copied for that. */
enum transform_result transform_feed_whole(struct transform *, const uint8_t *in, size_t len);
/* The body's framing leaves it open whether it is complete: a document that is open at its end stays so. */
void transform_leave_end(struct transform *);
/* The document has ended long before the body: the rest would only be dropped, however much it is. */
bool transform_is_over(const struct transform *);
/* Called when the body is complete and all of it was fed, or it is over. Ends the object. */
enum transform_result transform_finish(struct transform *);
const struct failure *transform_failure(const struct transform *);

#endif
