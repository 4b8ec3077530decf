/* Owns making the gzip forms of stored bodies. The worker that has the first request for a form begins it. The form is
 * made one step per turn of the loop (per two turns while the sweeper works there), into an object that every client
 * who wants the form reads, on any worker.
 * Must not know: clients, response heads.
 * Invariants: a stored body is compressed once, however many clients ask and however slowly they read. A form is kept
 * and counted with its body, and goes with it. A form that saves too little is not tried again. */
#ifndef UTFEED_PROXY_CACHE_GZIP_FORM_H
#define UTFEED_PROXY_CACHE_GZIP_FORM_H

#include "proxy/cache/cache.h"

TAILQ_HEAD(gzip_form_list, gzip_making);

/* The gzip forms that one worker makes. */
struct gzip_forms {
	struct cache *cache;
	struct loop *loop;
	struct task task;
	struct gzip_form_list making;
	bool ended;
};

void gzip_forms_init(struct gzip_forms *, struct cache *, struct loop *);
/* Completes the forms in the making, and begins no others from now on. */
void gzip_forms_end(struct gzip_forms *);
/* Gives the gzip form of a stored body (DONE and kept) that is stored under that key. For *form see object_gzip().
 * With make, the form is begun if there is none yet. The form of a short body is complete at once. */
enum object_gzip gzip_form(struct gzip_forms *, struct object *body, const char *key, size_t len, bool make,
    struct object **form);

#endif
