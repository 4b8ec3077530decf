/* Owns what the files of a transform share. Text is made in transform.c, and codings are undone in transform_decode.c.
 * Gzip that goes on as it is belongs to transform_pass.c, and gzip that no coding tells of to transform_peel.c. Bodies
 * that end with their connection are judged in transform_close.c. */
#ifndef UTFEED_PROXY_OBJECT_TRANSFORM_INTERNAL_H
#define UTFEED_PROXY_OBJECT_TRANSFORM_INTERNAL_H

#include "core/evidence/container.h"
#include "core/memory/held.h"
#include "proxy/object/transform.h"

enum { TRANSFORM_SLICE = 16 * 1024, TRANSFORM_HEADROOM = 4 };

/* Where the bytes that come go. */
enum transform_input {
	INPUT_ORDINARY,        /* Through the decoder, if there is a coding, and the normaliser. */
	INPUT_PEELED,          /* The first bytes are waited for: they may be gzip that no coding tells of. */
	INPUT_COLLECTED,       /* Gzip goes to pass.raw until all of it is there. */
	INPUT_COMPARED,        /* The normaliser gets pass.plain, and has changed nothing so far. */
	INPUT_READ,            /* It gets pass.plain, and the object gets what it writes. */
	INPUT_REPLAYED,        /* The ordinary way gets pass.raw. */
	INPUT_PASSED           /* The object gets pass.raw. */
};

/* What the object gets. */
enum transform_decision {
	DECISION_OPEN,         /* nothing yet, because it has no head */
	DECISION_TEXT,
	DECISION_UNTOUCHED,    /* the body, perhaps with its coding undone: the normaliser is not needed any more */
	DECISION_RAW           /* the body with its coding: what the normaliser still writes is dropped */
};

/* PENDING: the decoder holds output that found no room, or has more to put out. PAUSED: likewise, in the next turn. */
enum transform_decoder { DECODER_IDLE, DECODER_PENDING, DECODER_PAUSED };

/* What ends the body. */
enum transform_end {
	END_TOLD,              /* Its framing or its coding. */
	END_BY_CLOSE,          /* The connection's end, which may have come too early. */
	END_COMES,             /* Likewise. All of the body is fed, and it has to be a feed. */
	END_HELD               /* Likewise. Head and text wait for close_settle(). */
};

/* A gzip body on its way to a client that takes gzip. */
struct pass {
	uint8_t *raw, *plain;
	size_t raw_len, raw_size;      /* raw_size: of all of it */
	size_t plain_len;
	size_t at;                     /* so much of plain or raw has gone on */
	size_t same;                   /* bytes that the normaliser wrote as in plain, and the object lacks */
	size_t counted;                /* bytes of raw and plain (bodies.h) */
	struct verdict verdict;
};

struct transform {
	struct object *object;
	const struct http_msg *msg;
	struct transform_options options;
	enum transform_input input;
	enum transform_decision decision;
	enum transform_decoder decoder;
	enum content_coding_kind coding;
	bool peeled;                       /* The body is gzip that no coding tells of, and is unpacked. */
	bool end_left;                     /* The normaliser is to add nothing at the end. */
	enum transform_end end;
	struct held last;                  /* END_HELD: what the normaliser wrote */
	bool keeps_raw;                    /* The origin's bytes are in raw: the body may go on with its coding. */
	struct failure failure;            /* Error NONE: the transform has not failed. */
	struct pass pass;
	struct content_coding *decode;     /* NULL: no coding, or it is left as it is */
	struct normaliser *normaliser;     /* NULL: the body stays untouched */
	uint8_t *raw;
	size_t raw_len, raw_cap;
	uint8_t first[GZIP_MAGIC];         /* of a body that is peeled: bytes that may begin gzip */
	size_t first_len;
};

/* transform.c */
void transform_set(struct transform *, enum transform_input, enum transform_decision);
int transform_fail(struct transform *, enum failure_kind, const char *details);        /* always -1 */
int transform_no_memory(struct transform *);                                           /* likewise */
/* Gives the object its head, and decides. -1: the transform has failed. */
int transform_head(struct transform *, const struct verdict *, enum response_body) __attribute__((warn_unused_result));
/* Opens the ordinary way, or the normaliser alone. -1: the transform has failed. */
int transform_open_ordinary(struct transform *) __attribute__((warn_unused_result));
int transform_open_normaliser(struct transform *) __attribute__((warn_unused_result));
/* Takes bytes of the body as they are once its coding is undone. -1: the transform has failed. */
int transform_plain(struct transform *, const uint8_t *, size_t len) __attribute__((warn_unused_result));
/* As transform_feed(), the ordinary way. */
enum transform_result transform_feed_ordinary(struct transform *, const uint8_t *, size_t len, size_t *used);
enum transform_result transform_result(struct transform *, int failed);
/* The body goes on untouched and with its coding: these bytes, which are all that came, go to the object. -1: the
 * transform has failed. */
int transform_turn_raw(struct transform *, const uint8_t *raw, size_t len) __attribute__((warn_unused_result));

/* transform_decode.c. -1: the transform has failed. */
int transform_open_decode(struct transform *) __attribute__((warn_unused_result));
int transform_decode(struct transform *, const uint8_t *, size_t len, size_t *used) __attribute__((warn_unused_result));
int transform_end_decode(struct transform *) __attribute__((warn_unused_result));       /* at the end of the body */

/* transform_peel.c */
/* Whether the first bytes of the body are to be waited for. */
bool peel_applies(const struct transform *);
/* It is known whether the body is gzip: opens the ordinary way. -1: the transform has failed. */
int peel_settle(struct transform *, bool gzip) __attribute__((warn_unused_result));
/* Takes bytes until that is known. */
enum transform_result peel_feed(struct transform *, const uint8_t *, size_t len, size_t *used);
enum transform_result peel_finish(struct transform *);
/* Whether the body may still go on as it came; and does so, with all bytes that came. -1: the transform has failed. */
bool peel_is_open(const struct transform *);
int peel_give_up(struct transform *) __attribute__((warn_unused_result));

/* transform_close.c */
/* Whether the end of the connection is the body's. */
bool close_applies(const struct transform *);
/* All of the body was fed. */
void close_comes(struct transform *);
/* Whether head and text, so decided, wait for close_settle(). */
bool close_waits(struct transform *, const struct verdict *);
/* The normaliser has finished. -1: the transform has failed. */
int close_settle(struct transform *) __attribute__((warn_unused_result));

/* transform_pass.c */
/* Whether the body is held. */
bool pass_begin(struct transform *);
/* As transform_feed(), for a body that is held. */
enum transform_result pass_feed(struct transform *, const uint8_t *, size_t len, size_t *used);
/* Whether the head waits for the end of the body, so decided. */
bool pass_waits(struct transform *, const struct verdict *);
/* Whether the normaliser wrote the same as it got, so that it is kept back. */
bool pass_is_same(struct transform *, const uint8_t *, size_t len);
/* Writes what was kept back. -1: the transform has failed. */
int pass_let_go(struct transform *) __attribute__((warn_unused_result));
/* The normaliser has finished. -1: the transform has failed. */
int pass_settle(struct transform *) __attribute__((warn_unused_result));
/* As transform_turn_raw(), of a body that was held. */
int pass_turn_raw(struct transform *) __attribute__((warn_unused_result));
void pass_free(struct pass *);

#endif
