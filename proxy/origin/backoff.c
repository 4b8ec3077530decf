/* Remembering origins so as not to ask them too often; see backoff.h. Where an entry cannot be allocated the request
 * goes ahead. */
#include "proxy/origin/backoff.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/cidr.h"
#include "proxy/base/hash.h"
#include "proxy/origin/backoff_internal.h"

/* How long after the end of a pause the next one is still twice as long, and an interval is remembered. */
static const uint64_t backoff_memory_ms = 24 * 3600 * 1000, backoff_hour_ms = 3600 * 1000;

struct backoff *backoff_new(void)
{
	struct backoff *p = calloc(1, sizeof *p);

	if (p)
		pthread_mutex_init(&p->lock, NULL);
	return p;
}

void backoff_free(struct backoff **pp)
{
	if (!*pp)
		return;
	backoff_table_clear(&(*pp)->urls);
	backoff_table_clear(&(*pp)->hosts);
	pthread_mutex_destroy(&(*pp)->lock);
	free(*pp);
	*pp = NULL;
}

bool backoff_is_idle(const struct backoff *p)
{
	return !atomic_load_explicit(&p->n, memory_order_relaxed);
}

void backoff_enter(struct backoff *p)
{
	pthread_mutex_lock(&p->lock);
}

void backoff_exit(struct backoff *p)
{
	atomic_store_explicit(&p->n, p->urls.n + p->hosts.n, memory_order_relaxed);
	pthread_mutex_unlock(&p->lock);
}

/* ---- entries ---- */

/* An IPv6 address is written as inet_ntop() writes it, and a name without the dot of the root. */
void backoff_host_of(struct backoff_host *h, struct slice url)
{
	size_t scheme = url.len > 5 && url.at[4] == 's' ? 8 : 7, from = scheme, end = from, to;
	char *at = h->text;
	struct ip ip;

	while (end < url.len && url.at[end] != '/')
		end++;
	to = from;
	if (from < end && url.at[from] == '[') {
		while (to < end && url.at[to] != ']')
			to++;
		from++;
	} else
		while (to < end && url.at[to] != ':')
			to++;
	at += snprintf(at, 9, "%.*s", (int)scheme, url.at);
	if (to > from && ip_parse(url.at + from, to - from, &ip))
		inet_ntop(ip.ipv6 ? AF_INET6 : AF_INET, ip.bytes, at, INET6_ADDRSTRLEN);
	else
		snprintf(at, URL_MAX_HOST + 1, "%.*s", (int)(to - from), url.at + from);
	h->bare = (struct slice){ at, strlen(at) };
	for (size_t i = 0; i < h->bare.len; i++)
		at[i] = (char)tolower((unsigned char)at[i]);
	h->bare.len -= h->bare.len > 1 && at[h->bare.len - 1] == '.';
	to += to < end && url.at[to] == ']';
	snprintf(at + h->bare.len, 8, "%.*s", (int)(end - to), url.at + to);
	h->name = (struct slice){ h->text, strlen(h->text) };
}

static struct backoff_entry *backoff_host_entry(struct backoff *p, const struct backoff_request *r, bool make)
{
	struct backoff_entry *e;
	struct backoff_host h;

	backoff_host_of(&h, r->url);
	e = backoff_table_find(&p->hosts, h.name, r->parent);
	return e || !make ? e : backoff_table_add(&p->hosts, h.name, r->parent, h.bare);
}

static struct backoff_entry *backoff_url_entry(struct backoff *p, const struct backoff_request *r,
    const struct backoff_terms *terms, bool make)
{
	struct backoff_entry *e = backoff_table_find(&p->urls, r->url, terms->way);
	struct backoff_host h;

	if (e || !make)
		return e;
	backoff_host_of(&h, r->url);
	return backoff_table_add(&p->urls, r->url, terms->way, h.bare);
}

static void backoff_tidy(struct backoff_table *t, size_t bucket, uint64_t now_ms)
{
	struct backoff_entry *e, *next;

	for (e = LIST_FIRST(&t->buckets[bucket]); e; e = next) {
		next = LIST_NEXT(e, link);
		if (e->until_ms + backoff_memory_ms <= now_ms && e->asked_ms + backoff_memory_ms <= now_ms &&
		    e->other_until_ms <= now_ms)
			backoff_table_forget(t, e);
	}
}

/* Each call looks through one bucket for what is too long ago to count. */
static void backoff_tidy_some(struct backoff *p, uint64_t now_ms)
{
	p->tidied = (p->tidied + 1) % BACKOFF_BUCKETS;
	backoff_tidy(&p->urls, p->tidied, now_ms);
	backoff_tidy(&p->hosts, p->tidied, now_ms);
}

/* ---- asking ---- */

/* Until when a request waits, and for which entry; NULL: it does not. too_soon: not for a pause. */
struct backoff_wait { uint64_t until_ms; struct backoff_entry *e; enum failure_kind too_soon; };

static void backoff_wait_longer(struct backoff_wait *w, struct backoff_entry *e, uint64_t until_ms,
    enum failure_kind too_soon)
{
	if (until_ms > w->until_ms)
		*w = (struct backoff_wait){ until_ms, e, too_soon };
}

static bool backoff_keeps(const struct backoff_request *r, const struct backoff_entry *e)
{
	return e && e->until_ms && (!r->changes || e->asked_for);
}

/* Until its end a pause holds for all, and then until it is known what came of the first request behind it. */
static void backoff_wait_for(struct backoff_wait *w, const struct backoff_request *r, struct backoff_entry *e,
    uint64_t now_ms)
{
	if (!backoff_keeps(r, e))
		return;
	if (e->until_ms > now_ms)
		backoff_wait_longer(w, e, e->until_ms, FAILURE_NONE);
	else if (e->trial && e->trial != r->id)
		backoff_wait_longer(w, e, e->trial_until_ms, FAILURE_NONE);
}

static void backoff_try(const struct backoff_request *r, struct backoff_entry *e, uint64_t now_ms)
{
	if (!backoff_keeps(r, e) || r->changes)
		return;
	e->trial = r->id;
	e->trial_until_ms = now_ms + BACKOFF_TRIAL_MS;
}

/* What is learned halves with each hour in which nothing was learned. */
static uint64_t backoff_learned_ms(const struct backoff_entry *host, uint64_t now_ms)
{
	uint64_t hours = (now_ms - host->spaced_ms) / backoff_hour_ms;
	uint64_t space = hours < 32 ? host->space_ms >> hours : 0;

	return space < BACKOFF_SPACE_MIN_MS ? 0 : space;
}

static uint64_t backoff_space_ms(const struct backoff_entry *host, const struct backoff_terms *terms, uint64_t now_ms)
{
	if (terms->host_interval_ms != BACKOFF_LEARNED)
		return terms->host_interval_ms;
	return host ? backoff_learned_ms(host, now_ms) : 0;
}

static void backoff_asked(struct backoff_entry *e, uint64_t now_ms)
{
	e->gap_ms = e->asked_ms && now_ms > e->asked_ms ? now_ms - e->asked_ms : 0;
	e->asked_ms = now_ms;
}

static void backoff_explain(const struct backoff_wait *w, uint64_t now_ms, struct failure *f)
{
	const struct backoff_entry *e = w->e;
	const enum failure_kind why = (enum failure_kind)e->why;

	if (w->too_soon)
		failure_set(f, w->too_soon, "asked too soon again");
	else if (e->asked_for)
		failure_set(f, FAILURE_PAUSED, "the origin asked for a pause");
	else if (e->status)
		failure_set(f, FAILURE_PAUSED, "the origin answered %d", (int)e->status);
	else
		failure_set(f, FAILURE_PAUSED, "%s", failure_token(why));
	if (!w->too_soon) {
		f->before = why;
		f->received_status = e->status;
	}
	f->retry_after_s = (unsigned)((w->until_ms - now_ms + 999) / 1000);
}

/* The entries that a request looks at. */
struct backoff_pair { struct backoff_entry *host, *url; };

static struct backoff_pair backoff_pair_of(struct backoff *p, const struct backoff_request *r,
    const struct backoff_terms *terms, bool make)
{
	bool spaces = make && terms->host_interval_ms && terms->host_interval_ms != BACKOFF_LEARNED;

	return (struct backoff_pair){
		terms->pauses || terms->host_interval_ms ? backoff_host_entry(p, r, spaces) : NULL,
		backoff_url_entry(p, r, terms, make && terms->url_interval_ms) };
}

/* What the request has to wait for but the host's interval. */
static struct backoff_wait backoff_wait_of(const struct backoff_pair *pair, const struct backoff_request *r,
    const struct backoff_terms *terms, uint64_t now_ms)
{
	struct backoff_wait w = { .until_ms = now_ms };

	if (terms->pauses) {
		backoff_wait_for(&w, r, pair->host, now_ms);
		backoff_wait_for(&w, r, pair->url, now_ms);
	}
	if (pair->url && pair->url->asked_ms && terms->url_interval_ms)
		backoff_wait_longer(&w, pair->url, pair->url->asked_ms + terms->url_interval_ms,
		    FAILURE_ASKED_TOO_SOON);
	return w;
}

/* Whether the request has to wait. */
static enum backoff_answer backoff_judge(const struct backoff_pair *pair, const struct backoff_request *r,
    const struct backoff_terms *terms, uint64_t now_ms, uint64_t *soon_ms, struct failure *failure)
{
	struct backoff_wait w = backoff_wait_of(pair, r, terms, now_ms);
	uint64_t space = backoff_space_ms(pair->host, terms, now_ms);

	*soon_ms = 0;
	if (!w.e && space && !r->again && !r->changes && pair->host && pair->host->asked_ms) {
		backoff_wait_longer(&w, pair->host, pair->host->asked_ms + space, FAILURE_HOST_ASKED_TOO_SOON);
		*soon_ms = w.until_ms - now_ms;
	}
	if (!w.e)
		return BACKOFF_GO;
	backoff_explain(&w, now_ms, failure);
	if (*soon_ms && *soon_ms <= BACKOFF_SOON_MS)
		return BACKOFF_SOON;
	w.e->saved++;
	return BACKOFF_WAIT;
}

enum backoff_answer backoff_waits(struct backoff *p, const struct backoff_request *r,
    const struct backoff_terms *terms, uint64_t now_ms, struct failure *failure)
{
	struct backoff_pair pair;
	enum backoff_answer answer;
	uint64_t soon_ms;

	if (backoff_is_idle(p))
		return BACKOFF_GO;
	backoff_enter(p);
	pair = backoff_pair_of(p, r, terms, false);
	answer = backoff_judge(&pair, r, terms, now_ms, &soon_ms, failure);
	backoff_exit(p);
	return answer;
}

bool backoff_asks_plainly(struct backoff *p, const struct backoff_request *r, const struct backoff_terms *terms)
{
	struct backoff_pair pair;
	bool plain;

	if (!terms->pauses || backoff_is_idle(p))
		return false;
	backoff_enter(p);
	pair = backoff_pair_of(p, r, terms, false);
	plain = (backoff_keeps(r, pair.host) && pair.host->plain) || (backoff_keeps(r, pair.url) && pair.url->plain);
	backoff_exit(p);
	return plain;
}

/* The request is made now, or when the host's interval lets it. */
static void backoff_go(const struct backoff_pair *pair, const struct backoff_request *r,
    const struct backoff_terms *terms, uint64_t now_ms, uint64_t then_ms)
{
	if (terms->pauses) {
		backoff_try(r, pair->host, now_ms);
		backoff_try(r, pair->url, now_ms);
	}
	if (pair->url && terms->url_interval_ms)
		backoff_asked(pair->url, now_ms);
	if (pair->host && terms->host_interval_ms && then_ms > pair->host->asked_ms)
		backoff_asked(pair->host, then_ms);
}

enum backoff_answer backoff_ask(struct backoff *p, struct backoff_request *r, const struct backoff_terms *terms,
    uint64_t now_ms, struct failure *failure)
{
	enum backoff_answer answer = BACKOFF_GO;
	struct backoff_pair pair;

	r->soon_ms = 0;
	if (terms->url_interval_ms || (terms->host_interval_ms && terms->host_interval_ms != BACKOFF_LEARNED) ||
	    !backoff_is_idle(p)) {
		backoff_enter(p);
		backoff_tidy_some(p, now_ms);
		pair = backoff_pair_of(p, r, terms, true);
		answer = backoff_judge(&pair, r, terms, now_ms, &r->soon_ms, failure);
		if (answer != BACKOFF_WAIT)
			backoff_go(&pair, r, terms, now_ms, now_ms + r->soon_ms);
		backoff_exit(p);
	}
	if (answer != BACKOFF_WAIT)
		r->asked_ms = now_ms;
	return answer;
}

/* ---- what came of it ---- */

/* Whether the request was sent before the pause began, so that it tells nothing new. */
static bool backoff_is_late(const struct backoff_entry *e, const struct backoff_request *r)
{
	return e->until_ms && r->asked_ms <= e->began_ms;
}

/* Twice the time before, less up to a quarter of it: clients that saw one failure do not come back at once. */
static uint64_t backoff_doubled_ms(struct backoff_entry *e, uint64_t now_ms)
{
	uint64_t wait = (uint64_t)BACKOFF_FIRST_S * 1000 << e->doublings, most = (uint64_t)BACKOFF_OWN_MAX_S * 1000;

	if (wait < most)
		e->doublings++;
	else
		wait = most;
	return wait - hash_fold(e->hash, now_ms) % (wait / 4);
}

/* True: a pause begins. */
static bool backoff_pause(struct backoff_entry *e, const struct backoff_request *r, uint64_t now_ms,
    struct backoff_cause cause, uint64_t seconds)
{
	uint64_t asked_ms = (seconds < BACKOFF_ASKED_MAX_S ? seconds : BACKOFF_ASKED_MAX_S) * 1000;

	if (backoff_is_late(e, r)) {
		if (now_ms + asked_ms > e->until_ms)
			e->until_ms = now_ms + asked_ms;
		return false;
	}
	if (e->until_ms && !e->proven)
		backoff_table_prove(e);
	e->asked_for = seconds;
	e->plain = !e->plain;
	e->why = (uint8_t)cause.why;
	e->status = (uint16_t)cause.status;
	e->began_ms = now_ms;
	e->until_ms = now_ms + (seconds ? asked_ms : backoff_doubled_ms(e, now_ms));
	e->trial = 0;
	return true;
}

bool backoff_pause_url(struct backoff *p, const struct backoff_request *r, const struct backoff_terms *terms,
    uint64_t now_ms, struct backoff_cause cause, uint32_t seconds)
{
	struct backoff_entry *e;
	bool begins;

	backoff_enter(p);
	e = backoff_url_entry(p, r, terms, true);
	begins = e && backoff_pause(e, r, now_ms, cause, seconds);
	backoff_exit(p);
	return begins;
}

bool backoff_pause_host(struct backoff *p, const struct backoff_request *r, uint64_t now_ms,
    struct backoff_cause cause, uint32_t seconds)
{
	struct backoff_entry *e;
	bool begins;

	backoff_enter(p);
	e = backoff_host_entry(p, r, true);
	begins = e && backoff_pause(e, r, now_ms, cause, seconds);
	backoff_exit(p);
	return begins;
}

/* A policy counts, or else twice the time by which the refused request came behind the one before. */
void backoff_learn(struct backoff *p, const struct backoff_request *r, const struct backoff_terms *terms,
    uint64_t now_ms, uint64_t space_ms)
{
	struct backoff_entry *e;

	if (terms->host_interval_ms != BACKOFF_LEARNED)
		return;
	backoff_enter(p);
	if ((e = backoff_host_entry(p, r, true))) {
		if (!space_ms) {
			space_ms = backoff_learned_ms(e, now_ms);
			if (2 * e->gap_ms > space_ms)
				space_ms = 2 * e->gap_ms;
			if (space_ms < BACKOFF_SPACE_MIN_MS)
				space_ms = BACKOFF_SPACE_MIN_MS;
			if (space_ms > BACKOFF_SPACE_MAX_MS)
				space_ms = BACKOFF_SPACE_MAX_MS;
		}
		e->space_ms = space_ms;
		e->spaced_ms = now_ms;
		if (!e->asked_ms)
			e->asked_ms = r->asked_ms;
	}
	backoff_exit(p);
}

bool backoff_pause_busy(struct backoff *p, const struct backoff_request *r, const struct backoff_terms *terms,
    uint64_t now_ms, struct backoff_cause cause, uint32_t seconds)
{
	uint64_t said = hash_keyed(r->url.at, r->url.len);
	struct backoff_entry *url, *host;
	bool begins;

	backoff_enter(p);
	url = backoff_url_entry(p, r, terms, true);
	host = backoff_host_entry(p, r, true);
	begins = url && backoff_pause(url, r, now_ms, cause, seconds);
	if (host && host->other_until_ms > now_ms && host->other != said)
		backoff_pause(host, r, now_ms, cause, seconds);
	else if (host && url) {
		host->other = said;
		host->other_until_ms = url->until_ms;
	}
	backoff_exit(p);
	return begins;
}

void backoff_end(struct backoff_table *t, struct backoff_entry *e, uint64_t now_ms)
{
	if (!e->asked_ms && e->other_until_ms <= now_ms) {
		backoff_table_forget(t, e);
		return;
	}
	e->until_ms = e->began_ms = e->trial = 0;
	e->doublings = 0;
	e->plain = false;
}

void backoff_url_works(struct backoff *p, const struct backoff_request *r, const struct backoff_terms *terms)
{
	struct backoff_entry *e;

	if (backoff_is_idle(p))
		return;
	backoff_enter(p);
	if ((e = backoff_url_entry(p, r, terms, false)) && !backoff_is_late(e, r))
		backoff_end(&p->urls, e, r->asked_ms);
	backoff_exit(p);
}

void backoff_host_works(struct backoff *p, const struct backoff_request *r)
{
	struct backoff_entry *e;

	if (backoff_is_idle(p))
		return;
	backoff_enter(p);
	if ((e = backoff_host_entry(p, r, false)) && !backoff_is_late(e, r))
		backoff_end(&p->hosts, e, r->asked_ms);
	backoff_exit(p);
}

static void backoff_tried(struct backoff_entry *e, const struct backoff_request *r)
{
	if (e && e->trial == r->id)
		e->trial = 0;
}

void backoff_leave(struct backoff *p, const struct backoff_request *r, const struct backoff_terms *terms)
{
	if (backoff_is_idle(p))
		return;
	backoff_enter(p);
	backoff_tried(backoff_host_entry(p, r, false), r);
	backoff_tried(backoff_url_entry(p, r, terms, false), r);
	backoff_exit(p);
}
