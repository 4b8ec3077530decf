/* The states of an answer, and what its owner asks of it; see answer.h. */
#include "proxy/answer/answer_internal.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "proxy/answer/local_reply.h"
#include "proxy/cache/fill.h"
#include "proxy/cache/purge.h"

/* Bits of the states that may follow. An answer may end at any time. */
#define TO(state) (1u << ANSWER_##state)
static const unsigned answer_next[KIND_COUNT][ANSWER_STATES] = {
	[KIND_OWN] = {
		[ANSWER_NEW] = TO(READY), [ANSWER_READY] = TO(BEGUN) | TO(NEW), [ANSWER_BEGUN] = TO(NEW),
	},
	[KIND_PURGE] = {
		[ANSWER_NEW] = TO(WAIT) | TO(READY), [ANSWER_WAIT] = TO(READY) | TO(NEW),
		[ANSWER_READY] = TO(BEGUN) | TO(NEW), [ANSWER_BEGUN] = TO(NEW),
	},
	[KIND_RELAY] = {
		[ANSWER_NEW] = TO(READY), [ANSWER_READY] = TO(BEGUN) | TO(NEW), [ANSWER_BEGUN] = TO(NEW),
	},
	[KIND_CACHED] = {
		[ANSWER_NEW] = TO(WAIT) | TO(READY), [ANSWER_WAIT] = TO(READY) | TO(NEW),
		[ANSWER_READY] = TO(WAIT) | TO(READY) | TO(BEGUN) | TO(NEW), [ANSWER_BEGUN] = TO(NEW),
	},
};

void answer_enter(struct answer *a, enum answer_state state)
{
	assert(answer_next[a->kind][a->state] >> state & 1);
	a->state = state;
}

void answer_start(struct answer *a, const struct answer_asked *asked)
{
	assert(a->state == ANSWER_NEW);
	memset(a, 0, offsetof(struct answer, freshness));
	a->target.to.path = NULL;
	a->ctx = asked->ctx;
	a->request = asked->request;
	a->ready = asked->ready;
	a->owner = asked->owner;
	dispatch(a, asked);
	answer_enter(a, a->purging || (a->kind == KIND_CACHED && lookup_waits(a)) ? ANSWER_WAIT : ANSWER_READY);
}

void answer_came(struct answer *a)
{
	answer_enter(a, ANSWER_READY);
	a->ready(a->owner);
}

void answer_begin(struct answer *a)
{
	if (a->kind == KIND_CACHED)
		lookup_settle(a);
	answer_enter(a, ANSWER_BEGUN);
}

struct object *answer_take(struct answer *a)
{
	struct object *o = a->object;

	a->object = NULL;
	return o;
}

void answer_refuse(struct answer *a)
{
	if (a->state != ANSWER_WAIT)
		return;
	purge_wait_free(&a->purging);
	answer_enter(a, ANSWER_READY);
}

void answer_end(struct answer *a)
{
	if (a->state == ANSWER_NEW)
		return;
	purge_wait_free(&a->purging);
	if (a->kind == KIND_CACHED)
		lookup_free(a);
	target_free(&a->target);
	object_unref(&a->object);
	object_head_unref(&a->head);
	answer_enter(a, ANSWER_NEW);
	a->kind = KIND_OWN;
}

void answer_free_memory(struct answer *a)
{
	text_free(&a->memory.key);
	text_free(&a->memory.sent);
}

size_t answer_memory(const struct answer *a)
{
	return a->memory.key.cap;
}

bool answer_again(struct answer *a, const struct object *o)
{
	/* Before lookup_again() looks: another worker may give the object its head or its failure behind that. */
	a->judged = object_phase(o) != OBJECT_WAITING;
	if (a->kind != KIND_CACHED || !lookup_again(a, o))
		return false;
	answer_enter(a, lookup_waits(a) ? ANSWER_WAIT : ANSWER_READY);
	return true;
}

void answer_late(struct answer *a, struct object *o)
{
	lookup_late(a, o);
	answer_enter(a, lookup_waits(a) ? ANSWER_WAIT : ANSWER_READY);
}

void answer_set_kept(struct answer *a, int fwd_status)
{
	a->status = (struct cache_status){ .kept = true, .fwd = FWD_STALE, .fwd_status = fwd_status, .detail = "kept" };
}

/* Whether what answers is stored, as far as is known when its head goes out: a body that has outgrown its room by then
 * is not, nor one with bytes behind its end. */
static bool answer_is_stored(const struct filled *told, const struct object *o)
{
	return told->stored && (object_phase(o) == OBJECT_SUBSTITUTED || object_is_retained(o));
}

/* Takes over what the fill tells of the object that answers. */
static void answer_note(struct answer *a, const struct object *o)
{
	const struct filled *told = filled_of(o);

	if (!told)
		return;
	a->status.fwd_status = told->fwd_status;
	a->status.stored = answer_is_stored(told, o);
	a->why = told->failure;
	a->came = told->came;
	if (object_phase(o) != OBJECT_SUBSTITUTED) {
		a->status.detail = told->detail;
		return;
	}
	a->source = SOURCE_SUBSTITUTED;
	a->freshness = told->freshness;
	a->status.collapsed |= told->shared;
	a->asks &= !told->shared;
	if (told->kept)
		answer_set_kept(a, told->fwd_status);
}

struct object_head *answer_head(struct answer *a, struct object_reader *r, bool *stored)
{
	struct object_head *head = a->head;

	if (!a->judged)
		return NULL;
	a->head = NULL;
	*stored = head || object_phase(r->object) == OBJECT_SUBSTITUTED;
	if (head)
		return head;
	if (*stored || object_get_head(r->object))
		answer_note(a, r->object);
	if (*stored)
		object_follow(r, &head);
	else if ((head = object_get_head(r->object)))
		object_head_ref(head);
	return head;
}

bool answer_has_failed(const struct answer *a, const struct object *o)
{
	return a->judged && object_phase(o) == OBJECT_FAILED;
}

struct object *answer_failure(struct answer *a, const struct object *o)
{
	answer_note(a, o);
	return local_reply_failed(a->ctx, o);
}

struct slice answer_url(const struct answer *a, struct text *room)
{
	if (a->url_len)
		return (struct slice){ a->memory.key.bytes, a->url_len };
	destination_url(room, &a->target.to);
	return (struct slice){ room->failed ? NULL : room->bytes, room->len };
}
