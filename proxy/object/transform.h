/* Owns what stands between an origin's body bytes and the object: content codings undone, encoding decided, UTF-8 made,
 * the head written when the decision is there. Must not know: sockets, parsers.
 * Invariant: bytes the object gets are either all the origin's, all decoded, or all normalised, as its head says. */
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
	struct loop *loop;                 /* for the date */
	struct log_id id;                  /* of the request that it is fetched for */
	bool normalise;                    /* off: everything untouched */
	bool respect_no_transform;
	struct content_coding_codings client_codings;    /* an untouched body keeps a coding that the client takes */
	struct normalise_options encoding; /* content_type is filled in by the stage */
	struct content_coding_limits limits;
	struct response_settings head;
};

enum transform_result {
	TRANSFORM_OK,              /* all input used */
	TRANSFORM_FULL,            /* the object is full: *used says how much was taken */
	TRANSFORM_PAUSED,          /* likewise, but all there is to wait for is the next turn of the loop */
	TRANSFORM_FAILED           /* failure filled in */
};

struct transform;
/* Borrows msg and its buffer for its life. NULL: out of memory. */
struct transform *transform_new(struct object *, const struct http_msg *, const struct transform_options *);
void transform_free(struct transform **);
/* Before the first byte: writes the head where the origin's head alone decides. */
enum transform_result transform_start(struct transform *, struct failure *);
enum transform_result transform_feed(struct transform *, const uint8_t *in, size_t len, size_t *used, struct failure *);
/* The body is complete and all of it was fed. Ends the object. */
enum transform_result transform_finish(struct transform *, struct failure *);

#endif
