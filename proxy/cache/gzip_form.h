/* Owns making gzip forms of stored bodies: on the first request for one, by the worker that has it, a step a turn of
 * the loop, into an object that everybody who wants it reads, on any worker.
 * Must not know: clients, response heads.
 * Invariants: a stored body is compressed once, however many ask and however slowly they read; a form is kept and
 * counted where its body is, and goes with it; what it gains too little for is not tried again. */
#ifndef UTFEED_PROXY_CACHE_GZIP_FORM_H
#define UTFEED_PROXY_CACHE_GZIP_FORM_H

#include "proxy/cache/cache.h"

TAILQ_HEAD(gzip_form_list, gzip_making);

/* Of one worker. */
struct gzip_forms {
	struct cache *cache;
	struct loop *loop;
	struct task task;
	struct gzip_form_list making;
	bool ended;
};

void gzip_forms_init(struct gzip_forms *, struct cache *, struct loop *);
/* What is in the making is made, nothing is begun any more. */
void gzip_forms_end(struct gzip_forms *);
/* The form of a stored body (DONE and kept) under that key: *form as of object_gzip(). make: begun where there is none
 * yet; of a body of few bytes it is complete at once. */
enum object_gzip gzip_form(struct gzip_forms *, struct object *body, const char *key, size_t len, bool make,
    struct object **form);

#endif
