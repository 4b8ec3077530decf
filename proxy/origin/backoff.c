/* Remembering origins so as not to ask them too often; see backoff.h. Where an entry cannot be allocated the request
 * goes ahead. */
#include "proxy/origin/backoff.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/base/hash.h"
#include "proxy/origin/backoff_internal.h"

/* How long after the end of a pause the next one is still twice as long, and an interval is remembered. */
static const uint64_t backoff_memory_ms = 24 * 3600 * 1000, backoff_hour_ms = 3600 * 1000;

struct backoff *backoff_new(void)
{
	struct backoff *b = calloc(1, sizeof *b);

	if (b)
		pthread_mutex_init(&b->lock, NULL);
	return b;
}

void backoff_free(struct backoff **pp)
{
	if (!*pp)
		return;
	backoff_table_clear(&(*pp)->urls);
	backoff_table_clear(&(*pp)->hosts);
	backoff_table_clear(&(*pp)->protocols);
	pthread_mutex_destroy(&(*pp)->lock);
	free(*pp);
	*pp = NULL;
}

bool backoff_is_idle(const struct backoff *b)
{
	return !atomic_load_explicit(&b->n, memory_order_relaxed);
}

void backoff_enter(struct backoff *b)
{
	pthread_mutex_lock(&b->lock);
}

void backoff_exit(struct backoff *b)
{
	atomic_store_explicit(&b->n, b->urls.n + b->hosts.n, memory_order_relaxed);
	atomic_store_explicit(&b->n_protocols, b->protocols.n, memory_order_relaxed);
	pthread_mutex_unlock(&b->lock);
}

/* ---- entries ---- */

struct backoff_entry *backoff_host_entry(struct backoff *b, const struct backoff_request *asked, bool make)
{
	struct backoff_host h;

	backoff_host_of(&h, asked->url);
	struct backoff_entry *entry = backoff_table_find(&b->hosts, h.name, asked->parent);
	return entry || !make ? entry : backoff_table_add(&b->hosts, h.name, asked->parent, h.bare);
}

struct backoff_entry *backoff_url_entry(struct backoff *b, const struct backoff_request *asked,
    const struct backoff_terms *terms, bool make)
{
	struct backoff_entry *entry = backoff_table_find(&b->urls, asked->url, terms->way);
	struct backoff_host h;

	if (entry || !make)
		return entry;
	backoff_host_of(&h, asked->url);
	return backoff_table_add(&b->urls, asked->url, terms->way, h.bare);
}

static void backoff_tidy(struct backoff_table *table, size_t bucket, uint64_t now_ms)
{
	struct backoff_entry *entry, *next;

	for (entry = LIST_FIRST(&table->buckets[bucket]); entry; entry = next) {
		next = LIST_NEXT(entry, link);
		if (entry->until_ms + backoff_memory_ms <= now_ms && entry->asked_ms + backoff_memory_ms <= now_ms &&
		    entry->other_until_ms <= now_ms && !backoff_has_turn(entry, now_ms))
			backoff_table_forget(table, entry);
	}
}

/* Each call looks through one bucket for what is too long ago to count. */
static void backoff_tidy_some(struct backoff *b, uint64_t now_ms)
{
	b->tidied = (b->tidied + 1) % BACKOFF_BUCKETS;
	backoff_tidy(&b->urls, b->tidied, now_ms);
	backoff_tidy(&b->hosts, b->tidied, now_ms);
}

/* ---- asking ---- */

static void backoff_wait_longer(struct backoff_wait *wait, struct backoff_entry *entry, uint64_t until_ms,
    enum failure_kind too_soon)
{
	if (until_ms > wait->until_ms)
		*wait = (struct backoff_wait){ until_ms, entry, too_soon };
}

static bool backoff_keeps(const struct backoff_request *asked, const struct backoff_entry *entry)
{
	return entry && entry->until_ms && (!asked->changes || entry->asked_for);
}

/* Until its end a pause holds for all, and then until it is known what came of the first request behind it. */
static void backoff_wait_for(struct backoff_wait *wait, const struct backoff_request *asked,
    struct backoff_entry *entry, uint64_t now_ms)
{
	if (!backoff_keeps(asked, entry))
		return;
	if (entry->until_ms > now_ms)
		backoff_wait_longer(wait, entry, entry->until_ms, FAILURE_NONE);
	else if (entry->trial && entry->trial != asked->id)
		backoff_wait_longer(wait, entry, entry->trial_until_ms, FAILURE_NONE);
}

/* True: other processes are to know. */
static bool backoff_try(const struct backoff_request *asked, struct backoff_entry *entry, uint64_t now_ms)
{
	if (!backoff_keeps(asked, entry) || asked->changes)
		return false;
	bool news = entry->told && entry->trial != asked->id;
	entry->trial = asked->id;
	entry->trial_until_ms = now_ms + BACKOFF_TRIAL_MS;
	return news;
}

/* What is learned halves with each hour in which nothing was learned. */
static uint64_t backoff_learned_ms(const struct backoff_entry *host, uint64_t now_ms)
{
	uint64_t hours = (now_ms - host->spaced_ms) / backoff_hour_ms;
	uint64_t space = hours < 32 ? host->space_ms >> hours : 0;

	return space < BACKOFF_SPACE_MIN_MS ? 0 : space;
}

uint64_t backoff_space_ms(const struct backoff_entry *host, const struct backoff_terms *terms, uint64_t now_ms)
{
	if (terms->host_interval_ms != BACKOFF_LEARNED)
		return terms->host_interval_ms;
	return host ? backoff_learned_ms(host, now_ms) : 0;
}

static void backoff_asked(struct backoff_entry *entry, uint64_t now_ms)
{
	entry->gap_ms = entry->asked_ms && now_ms > entry->asked_ms ? now_ms - entry->asked_ms : 0;
	entry->asked_ms = now_ms;
}

static void backoff_explain(const struct backoff_wait *wait, uint64_t now_ms, struct failure *failure)
{
	const struct backoff_entry *entry = wait->entry;
	const enum failure_kind why = (enum failure_kind)entry->why;

	if (wait->too_soon)
		failure_set(failure, wait->too_soon, "asked too soon again");
	else if (entry->asked_for)
		failure_set(failure, FAILURE_PAUSED, "the origin asked for a pause");
	else if (entry->status)
		failure_set(failure, FAILURE_PAUSED, "the origin answered %d", (int)entry->status);
	else
		failure_set(failure, FAILURE_PAUSED, "%s", failure_token(why));
	if (!wait->too_soon) {
		failure->before = why;
		failure->received_status = entry->status;
	}
	failure->undecided = !wait->too_soon && entry->until_ms <= now_ms;
	failure->retry_after_s = (unsigned)((wait->until_ms - now_ms + 999) / 1000);
}

static struct backoff_pair backoff_pair_of(struct backoff *b, const struct backoff_request *asked,
    const struct backoff_terms *terms, bool make)
{
	bool spaces = make && terms->host_interval_ms && terms->host_interval_ms != BACKOFF_LEARNED;

	return (struct backoff_pair){
		terms->pauses || terms->host_interval_ms ? backoff_host_entry(b, asked, spaces) : NULL,
		backoff_url_entry(b, asked, terms, make && terms->url_interval_ms) };
}

struct backoff_wait backoff_wait_of(const struct backoff_pair *pair, const struct backoff_request *asked,
    const struct backoff_terms *terms, uint64_t now_ms)
{
	struct backoff_wait w = { .until_ms = now_ms };

	if (terms->pauses) {
		backoff_wait_for(&w, asked, pair->host, now_ms);
		backoff_wait_for(&w, asked, pair->url, now_ms);
	}
	if (pair->url && pair->url->asked_ms && terms->url_interval_ms)
		backoff_wait_longer(&w, pair->url, pair->url->asked_ms + terms->url_interval_ms,
		    FAILURE_ASKED_TOO_SOON);
	return w;
}

/* Whether the request has to wait. */
static enum backoff_answer backoff_judge(const struct backoff_pair *pair, const struct backoff_request *asked,
    const struct backoff_terms *terms, uint64_t now_ms, uint64_t *soon_ms, struct failure *failure)
{
	struct backoff_wait w = backoff_wait_of(pair, asked, terms, now_ms);
	uint64_t space = backoff_space_ms(pair->host, terms, now_ms);

	*soon_ms = 0;
	if (!w.entry && space && !asked->again && !asked->changes && pair->host && pair->host->asked_ms) {
		backoff_wait_longer(&w, pair->host, pair->host->asked_ms + space, FAILURE_HOST_ASKED_TOO_SOON);
		*soon_ms = w.until_ms - now_ms;
	}
	if (!w.entry)
		return BACKOFF_GO;
	backoff_explain(&w, now_ms, failure);
	if (*soon_ms && *soon_ms <= BACKOFF_SOON_MS)
		return BACKOFF_SOON;
	w.entry->saved++;
	return BACKOFF_WAIT;
}

enum backoff_answer backoff_waits(struct backoff *b, const struct backoff_request *asked,
    const struct backoff_terms *terms, uint64_t now_ms, struct failure *failure)
{
	uint64_t soon_ms;

	if (backoff_is_idle(b))
		return BACKOFF_GO;
	backoff_enter(b);
	struct backoff_pair pair = backoff_pair_of(b, asked, terms, false);
	enum backoff_answer answer = backoff_judge(&pair, asked, terms, now_ms, &soon_ms, failure);
	backoff_exit(b);
	return answer;
}

bool backoff_asks_plainly(struct backoff *b, const struct backoff_request *asked, const struct backoff_terms *terms)
{
	if (!terms->pauses || backoff_is_idle(b))
		return false;
	backoff_enter(b);
	struct backoff_pair pair = backoff_pair_of(b, asked, terms, false);
	bool plain = (backoff_keeps(asked, pair.host) && pair.host->plain) ||
	    (backoff_keeps(asked, pair.url) && pair.url->plain);
	backoff_exit(b);
	return plain;
}

/* The request is made now, or when the host's interval lets it. True: that is a trial, and other processes are to
 * know. */
static bool backoff_go(struct backoff *b, const struct backoff_pair *pair, const struct backoff_request *asked,
    const struct backoff_terms *terms, uint64_t now_ms, uint64_t then_ms)
{
	bool host = terms->pauses && backoff_try(asked, pair->host, now_ms);
	bool url = terms->pauses && backoff_try(asked, pair->url, now_ms);

	if (pair->url && terms->url_interval_ms)
		backoff_asked(pair->url, now_ms);
	if (pair->host && terms->host_interval_ms && then_ms > pair->host->asked_ms)
		backoff_asked(pair->host, then_ms);
	if (pair->host)
		backoff_turn_taken(b, pair->host, asked, now_ms);
	return host || url;
}

/* A trial begins, or ends at once: nothing came of it. */
static void backoff_tell_trial(struct backoff *b, const struct backoff_request *asked,
    const struct backoff_terms *terms, uint64_t now_ms, uint64_t until_ms)
{
	struct backoff_news news = backoff_news_of(NEWS_TRIAL, BACKOFF_OF_BUSY, asked, terms);

	news.since_ms = now_ms;
	news.until_ms = until_ms;
	backoff_tell(b, &news);
}

enum backoff_answer backoff_ask(struct backoff *b, struct backoff_request *asked, const struct backoff_terms *terms,
    uint64_t now_ms, struct failure *failure)
{
	enum backoff_answer answer = BACKOFF_GO;
	struct backoff_pair pair;
	bool trial = false;

	asked->soon_ms = asked->spaces_ms[BACKOFF_OF_URL] = asked->spaces_ms[BACKOFF_OF_HOST] = 0;
	if (terms->url_interval_ms || (terms->host_interval_ms && terms->host_interval_ms != BACKOFF_LEARNED) ||
	    !backoff_is_idle(b)) {
		backoff_enter(b);
		backoff_tidy_some(b, now_ms);
		pair = backoff_pair_of(b, asked, terms, true);
		answer = backoff_judge(&pair, asked, terms, now_ms, &asked->soon_ms, failure);
		asked->spaces_ms[BACKOFF_OF_URL] = terms->url_interval_ms;
		if (!asked->again && !asked->changes)
			asked->spaces_ms[BACKOFF_OF_HOST] = backoff_space_ms(pair.host, terms, now_ms);
		if (answer != BACKOFF_WAIT)
			trial = backoff_go(b, &pair, asked, terms, now_ms, now_ms + asked->soon_ms);
		backoff_exit(b);
	}
	if (trial)
		backoff_tell_trial(b, asked, terms, now_ms, now_ms + BACKOFF_TRIAL_MS);
	if (answer != BACKOFF_WAIT)
		asked->asked_ms = now_ms;
	return answer;
}

/* ---- what came of it ---- */

/* Whether the request was sent before the pause began, so that it tells nothing new. */
static bool backoff_is_late(const struct backoff_entry *entry, const struct backoff_request *asked)
{
	return entry->until_ms && asked->asked_ms <= entry->began_ms;
}

/* Twice the time before, less up to a quarter of it: clients that saw one failure do not come back at once. */
static uint64_t backoff_doubled_ms(struct backoff_entry *entry, uint64_t now_ms)
{
	uint64_t wait = (uint64_t)BACKOFF_FIRST_S * 1000 << entry->doublings, most = (uint64_t)BACKOFF_OWN_MAX_S * 1000;

	if (wait < most)
		entry->doublings++;
	else
		wait = most;
	return wait - hash_fold(entry->hash, now_ms) % (wait / 4);
}

/* True: a pause begins. */
static bool backoff_begin(struct backoff_entry *entry, const struct backoff_request *asked, uint64_t now_ms,
    struct backoff_cause cause, uint64_t seconds)
{
	uint64_t asked_ms = (seconds < BACKOFF_ASKED_MAX_S ? seconds : BACKOFF_ASKED_MAX_S) * 1000;

	if (backoff_is_late(entry, asked)) {
		if (now_ms + asked_ms > entry->until_ms) {
			entry->why = (uint8_t)cause.why;
			entry->status = (uint16_t)cause.status;
			entry->until_ms = now_ms + asked_ms;
		}
		return false;
	}
	if (entry->until_ms && !entry->proven)
		backoff_table_prove(entry);
	entry->asked_for = seconds;
	entry->plain = !entry->plain;
	entry->why = (uint8_t)cause.why;
	entry->status = (uint16_t)cause.status;
	entry->began_ms = now_ms;
	entry->until_ms = now_ms + (seconds ? asked_ms : backoff_doubled_ms(entry, now_ms));
	entry->trial = 0;
	return true;
}

bool backoff_is_second(struct backoff_entry *host, struct slice url, uint64_t until_ms, uint64_t now_ms)
{
	uint64_t said = hash_keyed(url.at, url.len);

	if (host->other_until_ms > now_ms && host->other != said)
		return true;
	host->other = said;
	host->other_until_ms = until_ms;
	return false;
}

bool backoff_pause(struct backoff *b, enum backoff_of what, const struct backoff_request *asked,
    const struct backoff_terms *terms, uint64_t now_ms, struct backoff_cause cause, uint32_t seconds)
{
	struct backoff_news of_url = { 0 }, of_host = { 0 };

	backoff_enter(b);
	struct backoff_entry *url = what == BACKOFF_OF_HOST ? NULL : backoff_url_entry(b, asked, terms, true);
	struct backoff_entry *host = what == BACKOFF_OF_URL ? NULL : backoff_host_entry(b, asked, true);
	struct backoff_entry *entry = what == BACKOFF_OF_HOST ? host : url;
	uint64_t url_until_ms = url ? url->until_ms : 0, host_until_ms = host ? host->until_ms : 0;
	bool begins = entry && backoff_begin(entry, asked, now_ms, cause, seconds);
	if (host && url && backoff_is_second(host, asked->url, url->until_ms, now_ms))
		backoff_begin(host, asked, now_ms, cause, seconds);
	if (backoff_is_news(cause)) {
		backoff_news_pause(&of_url, url, url_until_ms, what, asked, terms);
		backoff_news_pause(&of_host, host, host_until_ms, BACKOFF_OF_HOST, asked, terms);
	}
	backoff_exit(b);
	backoff_tell(b, &of_url);
	backoff_tell(b, &of_host);
	return begins;
}

/* A policy counts, or else twice the time by which the refused request came behind the one before. */
void backoff_learn(struct backoff *b, const struct backoff_request *asked, const struct backoff_terms *terms,
    uint64_t now_ms, uint64_t space_ms)
{
	struct backoff_news news = backoff_news_of(NEWS_SPACE, BACKOFF_OF_HOST, asked, terms);
	struct backoff_entry *entry;

	if (terms->host_interval_ms != BACKOFF_LEARNED)
		return;
	backoff_enter(b);
	if ((entry = backoff_host_entry(b, asked, true))) {
		if (!space_ms) {
			space_ms = backoff_learned_ms(entry, now_ms);
			if (2 * entry->gap_ms > space_ms)
				space_ms = 2 * entry->gap_ms;
			if (space_ms < BACKOFF_SPACE_MIN_MS)
				space_ms = BACKOFF_SPACE_MIN_MS;
			if (space_ms > BACKOFF_SPACE_MAX_MS)
				space_ms = BACKOFF_SPACE_MAX_MS;
		}
		entry->space_ms = space_ms;
		entry->spaced_ms = now_ms;
		if (!entry->asked_ms)
			entry->asked_ms = asked->asked_ms;
	}
	backoff_exit(b);
	news.since_ms = news.until_ms = now_ms;
	news.space_ms = space_ms;
	backoff_tell(b, &news);
}

void backoff_end(struct backoff_table *table, struct backoff_entry *entry, uint64_t now_ms)
{
	if (!entry->asked_ms && entry->other_until_ms <= now_ms && !backoff_has_turn(entry, now_ms)) {
		backoff_table_forget(table, entry);
		return;
	}
	entry->until_ms = entry->began_ms = entry->trial = 0;
	entry->doublings = 0;
	entry->plain = entry->told = false;
}

void backoff_works(struct backoff *b, enum backoff_of what, const struct backoff_request *asked,
    const struct backoff_terms *terms)
{
	bool host = what == BACKOFF_OF_HOST, told = false;
	struct backoff_entry *entry;

	if (backoff_is_idle(b))
		return;
	backoff_enter(b);
	entry = host ? backoff_host_entry(b, asked, false) : backoff_url_entry(b, asked, terms, false);
	if (entry && !backoff_is_late(entry, asked)) {
		told = entry->told;
		backoff_end(host ? &b->hosts : &b->urls, entry, asked->asked_ms);
	}
	backoff_exit(b);
	if (told) {
		struct backoff_news news = backoff_news_of(NEWS_END, what, asked, terms);

		news.since_ms = news.until_ms = asked->asked_ms;
		backoff_tell(b, &news);
	}
}

/* True: other processes are to know. */
static bool backoff_tried(struct backoff_entry *entry, const struct backoff_request *asked)
{
	if (!entry || entry->trial != asked->id)
		return false;
	entry->trial = 0;
	return entry->told;
}

void backoff_leave(struct backoff *b, const struct backoff_request *asked, const struct backoff_terms *terms,
    uint64_t now_ms)
{
	if (backoff_is_idle(b))
		return;
	backoff_enter(b);
	bool host = backoff_tried(backoff_host_entry(b, asked, false), asked);
	bool url = backoff_tried(backoff_url_entry(b, asked, terms, false), asked);
	backoff_exit(b);
	if (host || url)
		backoff_tell_trial(b, asked, terms, now_ms, now_ms);
}
