/* News of backoff as text: the kind, words of a letter and a value, and last the URL. See backoff_news.h. */
#include "proxy/origin/backoff_news.h"

#include <inttypes.h>
#include <string.h>

static const char *const news_kinds[NEWS_KINDS] = {
	[NEWS_PAUSE] = "pause", [NEWS_END] = "end", [NEWS_TRIAL] = "trial", [NEWS_RESUME] = "resume",
	[NEWS_SPACE] = "space", [NEWS_PROTOCOL] = "protocol",
};

/* The numbers of a news. Their largest values bound what a text can say. */
struct news_numbers {
	uint64_t of, scope, way, parent, since, until, status, asked_for, plain, doublings, space, protocol;
};

#define NUMBER(letter, member, most) { letter, offsetof(struct news_numbers, member), most }
static const struct { char letter; size_t at; uint64_t most; } news_words[] = {
	NUMBER('o', of, BACKOFF_OF_BUSY), NUMBER('r', scope, BACKOFF_ALL),
	NUMBER('w', way, UINT64_MAX), NUMBER('p', parent, UINT64_MAX),
	NUMBER('s', since, (uint64_t)BACKOFF_ASKED_MAX_S * 1000),
	NUMBER('f', until, (uint64_t)BACKOFF_ASKED_MAX_S * 1000),
	NUMBER('c', status, 999), NUMBER('a', asked_for, 1), NUMBER('l', plain, 1),
	NUMBER('d', doublings, 16), NUMBER('i', space, 3600 * 1000), NUMBER('v', protocol, BACKOFF_PROTOCOL_REQUIRED),
};
enum { NEWS_WORDS = sizeof news_words / sizeof *news_words };

static const char *const news_failures[FAILURE_COUNT] = {
#define FAILURE(id, token, status, text) [FAILURE_##id] = #id,
#include "proxy/base/failure.def"
#undef FAILURE
};

static uint64_t *news_number(struct news_numbers *numbers, size_t word)
{
	return (uint64_t *)(void *)((char *)numbers + news_words[word].at);
}

static uint64_t news_age(uint64_t later_ms, uint64_t sooner_ms)
{
	return later_ms > sooner_ms ? later_ms - sooner_ms : 0;
}

bool backoff_news_write(struct text *t, const struct backoff_news *news, uint64_t now_ms)
{
	struct news_numbers numbers = { .of = news->of, .scope = news->scope, .way = news->way, .parent = news->parent,
		.since = news_age(now_ms, news->since_ms), .until = news_age(news->until_ms, now_ms),
		.status = (uint64_t)news->cause.status, .asked_for = news->asked_for, .plain = news->plain,
		.doublings = news->doublings, .space = news->space_ms, .protocol = news->protocol };

	if (news->url.len > BACKOFF_NEWS_URL_MAX)
		return false;
	text_puts(t, news_kinds[news->kind]);
	for (size_t i = 0; i < NEWS_WORDS; i++) {
		uint64_t number = *news_number(&numbers, i);

		if (number)
			text_printf(t, " %c%" PRIx64, news_words[i].letter,
			    number < news_words[i].most ? number : news_words[i].most);
	}
	if (news->cause.why)
		text_printf(t, " y%s", news_failures[news->cause.why]);
	text_puts(t, " ");
	text_add(t, news->url.at, news->url.len);
	return !t->failed;
}

/* ---- reading ---- */

/* False: it is not a number, or larger than most. */
static bool news_hex(struct slice digits, uint64_t most, uint64_t *number)
{
	static const char hex[] = "0123456789abcdef";
	const char *digit;

	*number = 0;
	for (size_t i = 0; i < digits.len; i++) {
		if (!digits.at[i] || !(digit = strchr(hex, digits.at[i])))
			return false;
		*number = *number << 4 | (uint64_t)(digit - hex);
	}
	return digits.len && digits.len <= 16 && *number <= most;
}

/* Of a kind that another version has: PAUSED. */
static enum failure_kind news_failure(struct slice name)
{
	for (enum failure_kind kind = FAILURE_NONE + 1; kind < FAILURE_COUNT; kind++)
		if (slice_is(name, news_failures[kind]))
			return kind;
	return FAILURE_PAUSED;
}

/* False: the word is known, and its value is none. */
static bool news_word(struct slice word, struct news_numbers *numbers, enum failure_kind *why)
{
	struct slice value = { word.at + 1, word.len - 1 };

	if (word.at[0] == 'y')
		*why = news_failure(value);
	for (size_t i = 0; i < NEWS_WORDS; i++)
		if (news_words[i].letter == word.at[0])
			return news_hex(value, news_words[i].most, news_number(numbers, i));
	return true;
}

static bool news_is_url(struct slice url)
{
	static const char *const schemes[] = { "http://", "https://" };

	if (url.len > BACKOFF_NEWS_URL_MAX)
		return false;
	for (size_t i = 0; i < url.len; i++)
		if ((unsigned char)url.at[i] <= ' ' || url.at[i] == 0x7f)
			return false;
	for (size_t i = 0; i < 2; i++)
		if (url.len > strlen(schemes[i]) && !memcmp(url.at, schemes[i], strlen(schemes[i])))
			return true;
	return false;
}

bool backoff_news_read(struct backoff_news *news, struct slice text, uint64_t age_ms, uint64_t now_ms)
{
	struct slice rest, word = slice_until(text, ' ', &rest);
	struct news_numbers n = { 0 };
	enum failure_kind why = FAILURE_NONE;

	*news = (struct backoff_news){ .kind = 0 };
	while (news->kind < NEWS_KINDS && !slice_is(word, news_kinds[news->kind]))
		news->kind++;
	if (news->kind == NEWS_KINDS || !rest.at)
		return false;
	for (;;) {
		word = slice_until(rest, ' ', &rest);
		if (!rest.at)
			break;
		if (word.len && !news_word(word, &n, &why))
			return false;
	}
	if (!news_is_url(word) && !(news->kind == NEWS_RESUME && n.scope == BACKOFF_ALL && !word.len))
		return false;
	uint64_t told_ms = news_age(now_ms, age_ms);
	news->of = (enum backoff_of)n.of;
	news->scope = (enum backoff_scope)n.scope;
	news->url = word;
	news->way = n.way;
	news->parent = n.parent;
	news->since_ms = news_age(told_ms, n.since);
	news->until_ms = told_ms + n.until;
	news->cause = (struct backoff_cause){ (int)n.status, why };
	news->asked_for = n.asked_for;
	news->plain = n.plain;
	news->doublings = (uint8_t)n.doublings;
	news->space_ms = n.space;
	news->protocol = (enum backoff_protocol)n.protocol;
	return true;
}
