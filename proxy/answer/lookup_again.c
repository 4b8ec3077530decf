/* Owns asking anew once a lookup is DONE. The response is for other requests, was abandoned, for example because
 * another process has stored one meanwhile, or can no longer be read from its beginning. Or the origin is slow while a
 * feed is kept. Must not know: how the steps go on.
 * Invariant: a response that failed for all waiting clients is not asked for again by each of them. */
#include "proxy/answer/lookup_internal.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/object/audience.h"

static void lookup_let_go(struct answer *a)
{
	struct lookup *lookup = &a->lookup;

	a->source = SOURCE_PAST;
	a->status.collapsed = false;
	lookup->plain = false;
	entry_unref(&lookup->entry);
	entry_unref(&lookup->part);
	free(lookup->parts);
	lookup->parts = NULL;
}

/* Asks the stores anew, from the URL's own key on. */
static void lookup_ask_again(struct answer *a)
{
	lookup_let_go(a);
	a->lookup.key_len = a->lookup.primary_len;
	lookup_restart(a, LOOKUP_FIND);
}

/* The generation of the index of variants in memory that has these names. */
static uint64_t lookup_generation(struct answer *a, const char *names)
{
	struct entry *index = cache_peek(a->ctx->cache, a->lookup.key, a->lookup.primary_len);
	uint64_t n = CACHE_GENERATION_NONE;

	if (index && index->vary && !strcmp(index->vary, names))
		n = index->generation;
	entry_unref(&index);
	return n;
}

/* The collapsed response is for another variant: this request asks for its own. It may wait for others again, unless
 * the fields that the response varies by keep changing. */
static void lookup_ask_for_variant(struct answer *a, const char *names)
{
	enum { CHANGES_MAX = 3 };

	lookup_let_go(a);
	a->lookup.generation = lookup_generation(a, names);
	if (++a->lookup.others > CHANGES_MAX)
		a->lookup.company = COMPANY_NONE;
	if (lookup_set_variant(a, names))
		lookup_restart(a, LOOKUP_FIND);
}

/* Whether a stored response may answer this request in the place of an origin's error. Each request decides that by its
 * own directives, not by those of the request that began the fetch. */
static bool lookup_takes_substitute(const struct answer *a, const struct object *o)
{
	const struct filled *told = filled_of(o);

	return object_phase(o) != OBJECT_SUBSTITUTED || told->kept || told->shared ||
	    (told->fwd_status == 304 && !told->failure) ||
	    freshness_if_error(&told->freshness, a->lookup.cc, answer_now(a));
}

bool lookup_again(struct answer *a, const struct object *o)
{
	bool collapsed = a->source == SOURCE_COLLAPSED;
	const struct audience *to = collapsed || a->lookup.plain ? object_audience(o) : NULL;

	if (object_phase(o) == OBJECT_WAITING) {
		if (!a->lookup.late)
			return false;
		lookup_ask_again(a);
		return true;
	}
	if (to && !to->own && !audience_admits(to, lookup_sent(a))) {
		lookup_ask_for_variant(a, to->vary);
		return true;
	}
	bool abandoned = object_phase(o) == OBJECT_FAILED && object_failure(o)->error == FAILURE_ABANDONED;
	if (!collapsed && !abandoned)
		return false;
	bool own = (to && to->own) || !lookup_takes_substitute(a, o);
	if (!own && !abandoned)
		return false;
	if (abandoned) {
		a->lookup.looks++;
		a->asks = false;
	}
	if (own)
		a->lookup.company = COMPANY_NONE;
	/* After a 304 that was for one client, the stores are asked again: the response may be stored without what was
	 * for that client. So they are where a feed is kept, which may have been purged meanwhile. */
	if (own && object_phase(o) != OBJECT_SUBSTITUTED && !lookup_has_kept(a)) {
		lookup_let_go(a);
		a->lookup.key_len = a->lookup.primary_len;
		lookup_restart(a, lookup_miss(a));
	} else
		lookup_ask_again(a);
	return true;
}

/* The object is taken out of those in flight: the next request begins a fetch of its own, which others may join. */
void lookup_late(struct answer *a, struct object *o)
{
	cache_in_flight_end(a->ctx->cache, &a->lookup.busy, o);
	lookup_ask_again(a);
}
