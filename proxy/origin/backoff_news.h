/* Owns what a process tells others of its backoff, as a line of text: pauses, their ends, trials, intervals that hosts
 * taught, and protocols that they answer better.
 * Must not know: how the text gets there, what is remembered of it.
 * Invariant: a text has no time of a clock, but ages. A reader ignores words that it does not know. */
#ifndef UTFEED_PROXY_ORIGIN_BACKOFF_NEWS_H
#define UTFEED_PROXY_ORIGIN_BACKOFF_NEWS_H

#include "proxy/base/text.h"
#include "proxy/origin/backoff.h"

enum {
	BACKOFF_NEWS_URL_MAX = 2048,           /* No news tell of a longer URL. */
	BACKOFF_NEWS_TEXT_MAX = BACKOFF_NEWS_URL_MAX + 512
};

/* PAUSE: one began, or grew longer. END: a request that was sent at since_ms had success. TRIAL: a request asks first
 * behind a pause; where until_ms is past, nothing came of it. RESUME: pauses were ended by hand or by a purge. SPACE:
 * the host asked for an interval. */
enum backoff_news_kind { NEWS_PAUSE, NEWS_END, NEWS_TRIAL, NEWS_RESUME, NEWS_SPACE, NEWS_PROTOCOL, NEWS_KINDS };

struct backoff_news {
	enum backoff_news_kind kind;
	enum backoff_of of;
	enum backoff_scope scope;              /* of RESUME */
	struct slice url;                      /* empty: of RESUME of all */
	uint64_t way, parent;                  /* as in struct backoff_terms and struct backoff_request */
	uint64_t since_ms, until_ms;           /* by the clock of whoever has this */
	struct backoff_cause cause;
	bool asked_for, plain;
	uint8_t doublings;
	uint64_t space_ms;
	enum backoff_protocol protocol;
};

/* Whether the news is short enough to be told. */
bool backoff_news_write(struct text *, const struct backoff_news *, uint64_t now_ms);
/* age_ms: how long ago it was told. The URL stays in the text. False: it is none, or of a kind that is not known. */
bool backoff_news_read(struct backoff_news *, struct slice text, uint64_t age_ms, uint64_t now_ms);

#endif
