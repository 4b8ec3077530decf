/* Owns what transform.c (codings undone, text made), transform_hold.c (gzip bodies that may go on as they are) and
 * transform_peel.c (gzip that nothing tells of) share. */
#ifndef UTFEED_PROXY_OBJECT_TRANSFORM_INTERNAL_H
#define UTFEED_PROXY_OBJECT_TRANSFORM_INTERNAL_H

#include "core/evidence/container.h"
#include "proxy/object/transform.h"

enum { TRANSFORM_SLICE = 16 * 1024, TRANSFORM_HEADROOM = 4 };

enum hold_state {
	HOLD_NONE,             /* the body is not held, or is no more */
	HOLD_COLLECTS,         /* until all of it is in raw */
	HOLD_READS,            /* plain has it unpacked, and goes through the normaliser */
	HOLD_REPLAYS           /* raw goes the ordinary way */
};

/* A gzip body on its way to a client that takes gzip. */
struct hold {
	enum hold_state state;
	uint8_t *raw, *plain;
	size_t raw_len, raw_size;      /* raw_size: what there will be */
	size_t plain_len;
	size_t at;                     /* so much of plain or raw has gone on */
	/* What the normaliser wrote the object has not got yet: `same` bytes, which are those of plain. */
	bool watches;
	size_t same;
	size_t counted;                /* bytes of raw and plain (bodies.h) */
	struct verdict verdict;
};

struct transform {
	struct object *object;
	const struct http_msg *msg;
	struct transform_options options;
	enum response_body body;           /* what the object's head says; RAW until decided */
	bool coded;                        /* the object gets the gzip form, of this length */
	size_t coded_len;
	bool undecided;                    /* the object has no head yet */
	/* the body goes out as raw bytes after all: what the normaliser still writes is dropped */
	bool drop_output;
	/* decided, and the body stays untouched: the normaliser is not needed any more */
	bool bypass;
	bool output_pending;               /* the decoder holds output that found no room, or has more to put out */
	bool paused;                       /* the decoder asked for a pause */
	bool fed;                          /* bytes of the body have come */
	bool end_left;                     /* the normaliser is to add nothing at the end */
	bool failed;
	struct failure failure;
	struct hold hold;
	bool unpacks;                      /* a coding is undone */
	bool misnamed;                     /* its Content-Encoding names a coding that utfeed does not know */
	struct content_coding *decode;       /* NULL: no coding, or it is left as it is */
	struct normaliser *normaliser;     /* NULL: the body stays untouched */
	/* the origin's bytes so far, as long as the body may turn out to stay untouched and keep its coding */
	uint8_t *raw;
	size_t raw_len, raw_cap;
	bool keep_raw;
	bool peels;                        /* whether the body is gzip that no coding tells of is not known yet */
	bool peeled;                       /* it is, and is unpacked */
	uint8_t first[GZIP_MAGIC];         /* while it peels: bytes that may begin gzip */
	size_t first_len;
};

/* transform.c */
int transform_fail(struct transform *, enum failure_kind, const char *details);        /* always -1 */
int transform_no_memory(struct transform *);                                           /* likewise */
/* Gives the object its head. -1: the transform has failed. */
int transform_head(struct transform *, const struct verdict *, enum response_body) __attribute__((warn_unused_result));
/* Opens the ordinary way, or the normaliser alone. -1: the transform has failed. */
int transform_open_ordinary(struct transform *) __attribute__((warn_unused_result));
int transform_open_normaliser(struct transform *) __attribute__((warn_unused_result));
/* Takes bytes of the body as they are once its coding is undone. -1: the transform has failed. */
int transform_plain(struct transform *, const uint8_t *, size_t len) __attribute__((warn_unused_result));
/* What transform_feed() does with a body that is not held. */
enum transform_result transform_feed_ordinary(struct transform *, const uint8_t *, size_t len, size_t *used,
    struct failure *);
enum transform_result transform_result(struct transform *, int failed, struct failure *);
/* What is left to do once all of the body went through. */
enum transform_result transform_end(struct transform *, int failed, struct failure *);

/* The body stays untouched and keeps its coding: the bytes remembered go to the object, and those at hand are among
 * them. */
int transform_turn_raw(struct transform *, size_t *used, size_t len) __attribute__((warn_unused_result));

/* transform_peel.c */
/* Whether the first bytes of the body are to be waited for. */
bool peel_applies(const struct transform *);
/* Takes bytes until it is settled (peels is false) what the body is, and opens the ordinary way. */
enum transform_result peel_feed(struct transform *, const uint8_t *, size_t len, size_t *used, struct failure *);
enum transform_result peel_finish(struct transform *, struct failure *);
/* All of a body: true: it has to be fed; or the transform has failed. */
bool peel_feed_whole(struct transform *, const uint8_t *, size_t len);
/* Whether the body may still go on as it came. */
bool peel_is_open(const struct transform *);
/* It does so, as transform_turn_raw() has it. -1: the transform has failed. */
int peel_give_up(struct transform *, size_t *used, size_t len) __attribute__((warn_unused_result));

/* transform_hold.c */
/* Whether the body is to be held. */
bool hold_begin(struct transform *);
/* As transform_feed(), for a body that is held. */
enum transform_result hold_feed(struct transform *, const uint8_t *, size_t len, size_t *used, struct failure *);
/* At the end of the body: what is left to do before the normaliser finishes, and after it has. -1: the transform has
 * failed. */
int hold_finish(struct transform *) __attribute__((warn_unused_result));
int hold_settle(struct transform *) __attribute__((warn_unused_result));
/* The body stays untouched and keeps its coding. -1: the transform has failed. */
int hold_turn_raw(struct transform *) __attribute__((warn_unused_result));
/* What the normaliser decided and wrote: true: it is kept back, or *failed says that the transform has failed. */
bool hold_decided(struct transform *, const struct verdict *);
bool hold_wrote(struct transform *, const uint8_t *, size_t len, int *failed);
/* Writes what was kept back. -1: the transform has failed. */
int hold_let_go(struct transform *) __attribute__((warn_unused_result));
void hold_free(struct hold *);

#endif
