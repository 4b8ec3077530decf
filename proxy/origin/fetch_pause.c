/* Owns what a fetch asks backoff before each of its requests, and what it tells of each answer: which status or failure
 * pauses what.
 * Must not know: how pauses are remembered. Invariant: of each fetch that was let go backoff hears what came of it, or
 * that nothing did. */
#include "proxy/origin/fetch_internal.h"

#include <stdatomic.h>
#include <string.h>

#include "proxy/http/pause_fields.h"

/* What a failure pauses. MOVED: only the URL where the fetch began, if redirects led on from there. */
enum fetch_pauses { PAUSES_NOTHING, PAUSES_URL, PAUSES_HOST, PAUSES_MOVED };

/* The pause of a URL that led to a place where another request asks first behind a pause. */
enum { UNDECIDED_S = 1 };

static const enum fetch_pauses failure_pauses[FAILURE_COUNT] = {
	[FAILURE_CONNECTION_REFUSED] = PAUSES_HOST,
	[FAILURE_DNS_TIMEOUT] = PAUSES_URL,
	[FAILURE_DNS_ERROR] = PAUSES_URL,
	[FAILURE_CONNECTION_TERMINATED] = PAUSES_URL,
	[FAILURE_CONNECTION_TIMEOUT] = PAUSES_URL,
	[FAILURE_CONNECTION_READ_TIMEOUT] = PAUSES_URL,
	[FAILURE_CONNECTION_WRITE_TIMEOUT] = PAUSES_URL,
	[FAILURE_TLS_CERTIFICATE] = PAUSES_URL,
	[FAILURE_TLS_PROTOCOL] = PAUSES_URL,
	[FAILURE_TLS_ALERT] = PAUSES_URL,
	[FAILURE_HTTP_RESPONSE_INCOMPLETE] = PAUSES_URL,
	[FAILURE_HTTP_HEADER_SIZE] = PAUSES_URL,
	[FAILURE_HTTP_BODY_SIZE] = PAUSES_URL,
	[FAILURE_HTTP_TRANSFER_CODING] = PAUSES_URL,
	[FAILURE_HTTP_CONTENT_CODING] = PAUSES_URL,
	[FAILURE_HTTP_RESPONSE_TIMEOUT] = PAUSES_URL,
	[FAILURE_HTTP_PROTOCOL_ERROR] = PAUSES_URL,
	[FAILURE_UNASKED] = PAUSES_URL,
	[FAILURE_NO_FEED] = PAUSES_URL,
	[FAILURE_PARENT_REFUSED] = PAUSES_URL,
	[FAILURE_IP_PROHIBITED] = PAUSES_MOVED,
	[FAILURE_LOOP_DETECTED] = PAUSES_MOVED,
	[FAILURE_OWN_LISTENER] = PAUSES_MOVED,
	[FAILURE_REQUEST_DENIED] = PAUSES_MOVED,
	[FAILURE_PAUSED] = PAUSES_MOVED,
};

/* ---- asking ---- */

static struct slice fetch_url(const struct fetch *f)
{
	return (struct slice){ f->url.bytes, f->url.len - 1 };
}

enum backoff_answer fetch_may_ask(struct fetch *f)
{
	static atomic_uint_fast64_t last;
	struct backoff_terms terms = f->request.terms;
	enum backoff_answer answer;

	f->asked.url = fetch_url(f);
	f->asked.parent = parent_number(f->parent);
	f->asked.changes = strcmp(f->request.method, "GET") != 0;
	/* The interval holds for the URL that the client asked for, once: where its redirects lead is not the client's
	 * choice. */
	if (f->asked.id)
		terms.url_interval_ms = 0;
	else
		f->asked.id = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	answer = backoff_ask(f->pool->backoff, &f->asked, &terms, loop_now_ms(fetch_loop(f)), &f->failure);
	f->asked.again |= answer != BACKOFF_WAIT;
	return answer;
}

/* ---- telling ---- */

static bool fetch_tells(struct fetch *f)
{
	f->asked.url = fetch_url(f);
	return f->request.terms.pauses && !f->asked.changes && f->asked.id && !f->url.failed;
}

/* Whether redirects led on from the request with which the fetch began, and that request. Every client would make it
 * first. */
static bool fetch_has_first(const struct fetch *f, struct backoff_request *first)
{
	if (!f->trail.n)
		return false;
	*first = f->asked;
	first->url = (struct slice){ f->trail.urls[0], strlen(f->trail.urls[0]) };
	if (f->begun_ms)
		first->asked_ms = f->begun_ms;
	return true;
}

static void fetch_pause_as(struct fetch *f, enum fetch_pauses what, struct backoff_cause cause, uint32_t seconds)
{
	enum backoff_of of = what == PAUSES_HOST ? BACKOFF_OF_HOST
	    : cause.status == 503 && seconds     ? BACKOFF_OF_BUSY
	                                         : BACKOFF_OF_URL;
	uint64_t now_ms = loop_now_ms(fetch_loop(f));
	struct backoff_request first;

	if (what == PAUSES_NOTHING || (what == PAUSES_MOVED && !f->trail.n))
		return;
	f->judged = true;
	if (what != PAUSES_MOVED && backoff_pause(f->pool->backoff, of, &f->asked, &f->request.terms,
	    now_ms, cause, seconds))
		stats_add(loop_stats(fetch_loop(f)), STAT_PAUSES, 1);
	if (fetch_has_first(f, &first))
		backoff_pause(f->pool->backoff, BACKOFF_OF_URL, &first, &f->request.terms, now_ms, cause, seconds);
}

bool fetch_is_refusal(const struct fetch *f)
{
	return f->request.credentials && http_status_refuses(f->msg.status);
}

void fetch_tell_head(struct fetch *f)
{
	int status = f->msg.status;
	bool limits = status == 429 || status == 503;

	if (!fetch_tells(f))
		return;
	uint32_t seconds = limits ? pause_fields_wait_s(&f->msg, loop_wall_ms(fetch_loop(f)) / 1000) : 0;
	if (status == 429) {
		backoff_learn(f->pool->backoff, &f->asked, &f->request.terms, loop_now_ms(fetch_loop(f)),
		    pause_fields_space_ms(&f->msg));
		fetch_pause_as(f, PAUSES_HOST, (struct backoff_cause){ .status = status }, seconds);
	} else if (status >= 500 || (status == 403 && !fetch_is_refusal(f)))
		fetch_pause_as(f, PAUSES_URL, (struct backoff_cause){ .status = status }, seconds);
	else if (status != 403)
		backoff_works(f->pool->backoff, BACKOFF_OF_HOST, &f->asked, &f->request.terms);
}

void fetch_tell_moved(struct fetch *f)
{
	if (fetch_tells(f) && f->trail.n > 2)
		backoff_leave(f->pool->backoff, &f->asked, &f->request.terms, loop_now_ms(fetch_loop(f)));
}

void fetch_tell_failed(struct fetch *f)
{
	enum failure_kind why = f->failure.error;
	enum fetch_pauses what = failure_pauses[why];

	if (!fetch_tells(f) || f->judged)
		return;
	/* A reader that takes nothing holds up the body, and not the origin. */
	if (f->flow == FLOW_WAITS_FOR_ROOM)
		return;
	/* A parent proxy that cannot be reached is not the origin. */
	if (f->parent && f->phase == FETCH_CONNECT && why != FAILURE_PARENT_REFUSED && what != PAUSES_MOVED &&
	    why != FAILURE_TLS_CERTIFICATE && why != FAILURE_TLS_PROTOCOL && why != FAILURE_TLS_ALERT)
		return;
	if (why == FAILURE_PAUSED)
		why = f->failure.before;
	/* Another request may find out any moment that the place works again. So the URL that led there is paused for
	 * a second only: long enough that not every client asks for it meanwhile. */
	fetch_pause_as(f, what, (struct backoff_cause){ f->failure.received_status, why },
	    f->failure.undecided ? UNDECIDED_S : f->failure.retry_after_s);
}

static void fetch_tell_works(struct fetch *f)
{
	struct backoff_request first;

	f->judged = true;
	backoff_works(f->pool->backoff, BACKOFF_OF_URL, &f->asked, &f->request.terms);
	if (fetch_has_first(f, &first))
		backoff_works(f->pool->backoff, BACKOFF_OF_URL, &first, &f->request.terms);
}

void fetch_tell_kept(struct fetch *f)
{
	if (!fetch_tells(f) || f->judged)
		return;
	if (f->msg.status == 304)
		fetch_tell_works(f);
	else if (!fetch_is_refusal(f))
		fetch_pause_as(f, PAUSES_URL, (struct backoff_cause){ .status = f->msg.status }, 0);
}

void fetch_tell_done(struct fetch *f)
{
	if (fetch_tells(f) && !f->judged && !fetch_is_refusal(f))
		fetch_tell_works(f);
}

void fetch_tell_left(struct fetch *f)
{
	struct backoff_request first;

	if (!fetch_tells(f))
		return;
	backoff_leave(f->pool->backoff, &f->asked, &f->request.terms, loop_now_ms(fetch_loop(f)));
	if (fetch_has_first(f, &first))
		backoff_leave(f->pool->backoff, &first, &f->request.terms, loop_now_ms(fetch_loop(f)));
}
