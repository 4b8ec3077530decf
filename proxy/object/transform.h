/* Owns what stands between an origin's body bytes and the object: content codings undone, encoding decided, UTF-8 made, the head
 * written when the decision is there. Must not know: sockets, parsers.
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

struct stage_options {
	struct loop *loop;                 /* for the date */
	struct log_id id;                  /* of the request that it is fetched for */
	bool normalise;                    /* off: everything untouched */
	bool respect_no_transform;
	struct stage_decode_codings client_codings;    /* an untouched body keeps a coding that the client takes */
	struct normalise_options encoding; /* content_type is filled in by the stage */
	struct stage_decode_limits limits;
	struct response_settings head;
};

enum stage_result {
	STAGE_OK,              /* all input used */
	STAGE_FULL,            /* the object is full: *used says how much was taken */
	STAGE_PAUSED,          /* likewise, but all there is to wait for is the next turn of the loop */
	STAGE_FAILED           /* failure filled in */
};

struct stage;
/* Borrows msg and its buffer for its life. NULL: out of memory. */
struct stage *stage_new(struct object *, const struct http_msg *, const struct stage_options *);
void stage_free(struct stage **);
/* Before the first byte: writes the head where the origin's head alone decides. */
enum stage_result stage_start(struct stage *, struct proxy_failure *);
enum stage_result stage_feed(struct stage *, const uint8_t *in, size_t len, size_t *used, struct proxy_failure *);
/* The body is complete and all of it was fed. Ends the object. */
enum stage_result stage_finish(struct stage *, struct proxy_failure *);

#endif
