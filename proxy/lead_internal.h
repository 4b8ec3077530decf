/* Owns what the parts of lead share: lead.c has the fetch's hooks, what is stored whole and what answers in its place, lead_parts.c
 * what is stored in parts. Must not know: who else fills the cache. Invariant: a lead is its fetch's thread's alone. */
#ifndef UTFEED_PROXY_LEAD_INTERNAL_H
#define UTFEED_PROXY_LEAD_INTERNAL_H

#include "lead.h"

struct lead {
	struct lead_params params;     /* strings and entries are its own */
	char *key, *busy;
	struct http_msg request;
	char *request_bytes;
	struct response_settings head;
	int64_t request_time, response_time;
	struct object *object;         /* the fetch's reference keeps it */
	bool left;                     /* nobody can join any more */
	bool storing;
	bool ranged;                   /* a part was asked for */
	bool normalises;               /* a whole is looked at, and may be changed */
	bool marks;                    /* where it proves to be no feed it may be asked for in parts, which is to be noted */
	struct content_range part;     /* that came and is being stored; total 0: none */
	char *upstream;                /* the head to store */
	size_t upstream_len;
	char *vary;                    /* names; NULL: the response does not vary */
};

static inline enum response_body lead_body(struct object *o)
{
	const struct object_report *r = object_report(o);

	return r->normalised ? RESPONSE_NORMALISED : r->decoded ? RESPONSE_DECODED : RESPONSE_RAW;
}

/* lead.c */
int64_t lead_now(struct lead *);
enum lead_head { LEAD_HEAD, LEAD_HEAD_UNUSABLE /* it is none, or beyond the limits of heads */, LEAD_HEAD_NO_MEMORY };
/* Reads head bytes as a message again. The text must live as long as m. But for LEAD_HEAD m is let go of. */
enum lead_head lead_parse(struct lead *, struct http_msg *m, const char *bytes, size_t len);
/* Puts a response under its key, behind a record of variants where it varies. Takes over what parts hold. NULL: out of memory. */
struct entry *lead_put(struct lead *, struct entry_parts *);
/* The key of the response, or of a part of it. */
void lead_key(struct lead *, bool part, struct text *);
/* RFC 9111 section 3.2: the stored head with the fields of the newer response in the place of its own, but for those that speak of
 * bytes. Its age and date are never the stored ones: what comes without Date was made when it came (RFC 9110 section 6.6.1). */
enum lead_head lead_merge(struct lead *, const struct entry *, const struct http_msg *newer, char **merged, size_t *len);
/* Head and freshness of what is stored with parts->object under parts->upstream. -1: out of memory, parts let go of. */
int lead_finish_parts(struct lead *, struct entry_parts *, struct freshness *);

/* lead_parts.c */
/* Whether a 206 is a part that can be stored; then it is noted. */
bool lead_takes_part(struct lead *, const struct http_msg *);
/* It came complete, as m. NULL: it is not stored. */
struct entry *lead_store_part(struct lead *, const struct http_msg *m, struct object *);
/* A response that is no part: where it tells that its URL may be asked for in parts, or that a stored part is of another one. */
void lead_note_head(struct lead *, const struct http_msg *);
void lead_note_end(struct lead *);

#endif
