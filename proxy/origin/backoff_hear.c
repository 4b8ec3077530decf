/* What other processes tell of their backoff; see backoff.h. Merging is idempotent, and its order hardly counts: the
 * later begin, the later end and the larger doubling stay. Nobody tells again what it has heard. */
#include "proxy/base/hash.h"
#include "proxy/origin/backoff_internal.h"

/* The trial of another process; no request has this number. */
#define TRIAL_ELSEWHERE UINT64_MAX

/* ---- telling ---- */

void backoff_listen(struct backoff *b, void (*told)(void *arg, const struct backoff_news *), void *arg)
{
	b->told = told;
	b->told_arg = arg;
}

void backoff_tell(struct backoff *b, const struct backoff_news *news)
{
	if (b->told && news->url.at)
		b->told(b->told_arg, news);
}

static size_t origin_length(struct slice url)
{
	size_t at = url.len > 5 && url.at[4] == 's' ? 8 : 7;

	while (at < url.len && url.at[at] != '/')
		at++;
	return at < url.len ? at : url.len;
}

bool backoff_is_news(struct backoff_cause cause)
{
	switch (cause.why) {
	case FAILURE_HTTP_RESPONSE_INCOMPLETE:
	case FAILURE_HTTP_HEADER_SIZE:
	case FAILURE_HTTP_BODY_SIZE:
	case FAILURE_HTTP_TRANSFER_CODING:
	case FAILURE_HTTP_CONTENT_CODING:
	case FAILURE_HTTP_RESPONSE_TIMEOUT:
	case FAILURE_HTTP_PROTOCOL_ERROR:
	case FAILURE_UNASKED:
	case FAILURE_NO_FEED:
		return true;
	default:
		return cause.status;
	}
}

struct backoff_news backoff_news_of(enum backoff_news_kind kind, enum backoff_of of,
    const struct backoff_request *asked, const struct backoff_terms *terms)
{
	size_t len = of == BACKOFF_OF_HOST ? origin_length(asked->url) : asked->url.len;

	return (struct backoff_news){ .kind = kind, .of = of, .url = { asked->url.at, len },
		.way = of == BACKOFF_OF_HOST ? 0 : terms->way, .parent = of == BACKOFF_OF_URL ? 0 : asked->parent };
}

void backoff_news_pause(struct backoff_news *news, struct backoff_entry *entry, uint64_t until_ms, enum backoff_of of,
    const struct backoff_request *asked, const struct backoff_terms *terms)
{
	if (!entry || entry->until_ms == until_ms)
		return;
	entry->told = true;
	*news = backoff_news_of(NEWS_PAUSE, of, asked, terms);
	news->since_ms = entry->began_ms;
	news->until_ms = entry->until_ms;
	news->cause = (struct backoff_cause){ entry->status, (enum failure_kind)entry->why };
	news->asked_for = entry->asked_for;
	news->plain = entry->plain;
	news->doublings = entry->doublings;
}

/* ---- intervals ---- */

void backoff_pace_name(struct text *t, enum backoff_of of, const struct backoff_request *asked,
    const struct backoff_terms *terms)
{
	struct backoff_host h;

	backoff_host_of(&h, asked->url);
	struct slice name = of == BACKOFF_OF_HOST ? h.name : asked->url;
	text_add(t, name.at, name.len);
	text_puts(t, "\npace ");
	text_hex(t, of == BACKOFF_OF_HOST ? asked->parent : terms->way, 1);
}

void backoff_paced(struct backoff *b, enum backoff_of of, const struct backoff_request *asked,
    const struct backoff_terms *terms, uint64_t asked_ms)
{
	backoff_enter(b);
	struct backoff_entry *entry =
	    of == BACKOFF_OF_HOST ? backoff_host_entry(b, asked, true) : backoff_url_entry(b, asked, terms, true);
	if (entry && asked_ms > entry->asked_ms)
		entry->asked_ms = asked_ms;
	backoff_exit(b);
}

/* ---- hearing ---- */

static struct backoff_pair heard_of(struct backoff *b, const struct backoff_news *news, bool make)
{
	const struct backoff_request asked = { .url = news->url, .parent = news->parent };
	const struct backoff_terms terms = { .way = news->way };

	return (struct backoff_pair){
		news->of == BACKOFF_OF_URL ? NULL : backoff_host_entry(b, &asked, make),
		news->of == BACKOFF_OF_HOST ? NULL : backoff_url_entry(b, &asked, &terms, make) };
}

static void hear_pause_of(struct backoff_entry *entry, const struct backoff_news *news)
{
	if (news->since_ms > entry->began_ms) {
		if (entry->until_ms && !entry->proven)
			backoff_table_prove(entry);
		entry->began_ms = news->since_ms;
		entry->plain = news->plain;
		entry->trial = 0;
	}
	if (news->until_ms > entry->until_ms) {
		entry->until_ms = news->until_ms;
		entry->asked_for = news->asked_for;
		entry->status = (uint16_t)news->cause.status;
		entry->why = (uint8_t)news->cause.why;
	}
	if (news->doublings > entry->doublings)
		entry->doublings = news->doublings;
	entry->told = true;
}

static void hear_pause(struct backoff *b, const struct backoff_news *news, uint64_t now_ms)
{
	struct backoff_pair pair = heard_of(b, news, true);

	if (pair.url)
		hear_pause_of(pair.url, news);
	if (pair.host && (news->of == BACKOFF_OF_HOST ||
	    backoff_is_second(pair.host, news->url, news->until_ms, now_ms)))
		hear_pause_of(pair.host, news);
}

/* A pause that began later goes on. */
static void hear_end(struct backoff *b, const struct backoff_news *news)
{
	struct backoff_pair pair = heard_of(b, news, false);

	if (pair.url && pair.url->until_ms && pair.url->began_ms < news->since_ms)
		backoff_end(&b->urls, pair.url, news->since_ms);
	if (pair.host && pair.host->until_ms && pair.host->began_ms < news->since_ms)
		backoff_end(&b->hosts, pair.host, news->since_ms);
}

static void hear_trial_of(struct backoff_entry *entry, const struct backoff_news *news, uint64_t now_ms)
{
	if (!entry || !entry->until_ms || entry->began_ms >= news->since_ms)
		return;
	if (news->until_ms > now_ms && (!entry->trial || entry->trial_until_ms <= now_ms)) {
		entry->trial = TRIAL_ELSEWHERE;
		entry->trial_until_ms =
		    news->until_ms < now_ms + BACKOFF_TRIAL_MS ? news->until_ms : now_ms + BACKOFF_TRIAL_MS;
	} else if (news->until_ms <= now_ms && entry->trial == TRIAL_ELSEWHERE)
		entry->trial = 0;
}

static void hear_trial(struct backoff *b, const struct backoff_news *news, uint64_t now_ms)
{
	struct backoff_pair pair = heard_of(b, news, false);

	hear_trial_of(pair.url, news, now_ms);
	hear_trial_of(pair.host, news, now_ms);
}

static void hear_space(struct backoff *b, const struct backoff_news *news)
{
	struct backoff_entry *host = heard_of(b, news, true).host;

	if (!host || !news->space_ms || news->since_ms <= host->spaced_ms)
		return;
	host->space_ms = news->space_ms;
	host->spaced_ms = news->since_ms;
	if (!host->asked_ms)
		host->asked_ms = news->since_ms;
}

void backoff_hear(struct backoff *b, const struct backoff_news *news, uint64_t now_ms)
{
	if (news->kind == NEWS_RESUME) {
		backoff_resume_before(b, news->scope, news->url, news->since_ms, now_ms);
		return;
	}
	backoff_enter(b);
	if (news->kind == NEWS_PAUSE)
		hear_pause(b, news, now_ms);
	else if (news->kind == NEWS_END)
		hear_end(b, news);
	else if (news->kind == NEWS_TRIAL)
		hear_trial(b, news, now_ms);
	else if (news->kind == NEWS_SPACE)
		hear_space(b, news);
	else
		backoff_protocol_hear(b, news);
	backoff_exit(b);
}
