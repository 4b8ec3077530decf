/* Turns at a host that limits requests: the feed whose kept copy is the oldest goes first; see backoff.h.
 *
 * Readers ask for their feeds in one order, all at once. Where a host lets one request a minute through, the first ones
 * of that order would take them all. So the host's entry remembers which feed waits with the oldest copy, and those
 * with a newer one give way to it. A feed that cannot be fetched must not hold up the others: the same copy gets its
 * next turn later and later, and when a turn is over the host has no other for nine times as long. */
#include <stdlib.h>

#include "proxy/base/hash.h"
#include "proxy/origin/backoff_internal.h"

/* Parts of the time for which a feed is kept; of a day an hour, 5 minutes. A copy that is newer by the first gives way.
 * A turn lasts for the second. */
enum { TURN_NEWER = 24, TURN_LASTS = 288 };
/* A copy that has had its turn has no other for an hour of that day, then for twice as long each time, half a day at
 * most. */
enum { TURN_AGAIN = 24, TURN_DOUBLES = 3, TURN_AGAIN_MOST = 2 };
enum { TURN_RESTS = 9, TURN_SAME_MS = 2000 /* by which the ages of one copy may differ: they are whole seconds */ };

struct backoff_turn {
	/* of a host: a hash of the URL that waits, 0: none does; until when that counts; when its turn began, 0: not
	 * yet; until when there is no other turn */
	uint64_t waits, until_ms, began_ms, rest_until_ms;
	uint64_t since_ms, keep_ms;    /* since when that URL has its copy, and how long it is kept */
	/* of a URL: since_ms of the copy that had its turn, how often, and rest_until_ms, until when it has no other */
	unsigned had;
};

static uint64_t turn_hash(const struct backoff_request *asked)
{
	return hash_keyed(asked->url.at, asked->url.len);
}

/* NULL: out of memory, or none is there and none is to be made. */
static struct backoff_turn *turn_of(struct backoff_entry *entry, bool make)
{
	if (entry && !entry->turn && make)
		entry->turn = calloc(1, sizeof *entry->turn);
	return entry ? entry->turn : NULL;
}

/* The same of a URL, whatever way it is asked by. */
static struct backoff_turn *turn_of_url(struct backoff *b, const struct backoff_request *asked, bool make)
{
	struct backoff_entry *entry = backoff_table_find(&b->urls, asked->url, 0);
	struct backoff_host h;

	if (!entry && make) {
		backoff_host_of(&h, asked->url);
		entry = backoff_table_add(&b->urls, asked->url, 0, h.bare);
	}
	return turn_of(entry, make);
}

static bool turn_is_open(const struct backoff_turn *turn, uint64_t now_ms)
{
	return turn && turn->waits && turn->until_ms > now_ms;
}

bool backoff_has_turn(const struct backoff_entry *entry, uint64_t now_ms)
{
	return turn_is_open(entry->turn, now_ms) || (entry->turn && entry->turn->rest_until_ms > now_ms);
}

void backoff_turn_forget(struct backoff_entry *entry)
{
	free(entry->turn);
	entry->turn = NULL;
}

static bool turn_is_same(const struct backoff_turn *turn, uint64_t since_ms)
{
	return (int64_t)(since_ms - turn->since_ms) <= TURN_SAME_MS;
}

static void turn_end(struct backoff_turn *turn, uint64_t now_ms)
{
	uint64_t most = turn->keep_ms / TURN_LASTS, lasted = turn->began_ms ? now_ms - turn->began_ms : 0;

	turn->waits = turn->began_ms = 0;
	turn->rest_until_ms = now_ms + TURN_RESTS * (lasted < most ? lasted : most);
}

/* The request that takes the turn may be for another URL than the one that waits: its copy is older, or it has none.
 * Then the waiting URL keeps its turn, and the other one has had its own. */
void backoff_turn_taken(struct backoff *b, struct backoff_entry *host, const struct backoff_request *asked,
    uint64_t now_ms)
{
	struct backoff_turn *turn = host->turn, *url;

	if (!turn_is_open(turn, now_ms) || asked->changes)
		return;
	if ((url = turn_of_url(b, asked, true))) {
		url->had = url->had && turn_is_same(url, turn->since_ms) ? url->had + 1 : 1;
		url->since_ms = turn->since_ms;
		url->rest_until_ms = now_ms + (url->had > TURN_DOUBLES + 1 ? turn->keep_ms / TURN_AGAIN_MOST :
		    turn->keep_ms / TURN_AGAIN << (url->had - 1));
	}
	if (turn->waits == turn_hash(asked))
		turn_end(turn, now_ms);
}

/* Whether that copy has had its turn lately. */
static bool turn_was_had(struct backoff *b, const struct backoff_request *asked, uint64_t since_ms, uint64_t now_ms)
{
	const struct backoff_turn *url = turn_of_url(b, asked, false);

	return url && url->rest_until_ms > now_ms && turn_is_same(url, since_ms);
}

/* Whether the host itself said that it is asked too often, or an option does. */
static bool turn_is_limited(const struct backoff_entry *host, const struct backoff_terms *terms, uint64_t now_ms)
{
	uint64_t space_ms = backoff_space_ms(host, terms, now_ms);

	return (host->until_ms > now_ms && host->status == 429) ||
	    (space_ms && host->asked_ms && host->asked_ms + space_ms > now_ms);
}

/* Whether this copy may have a turn: it had none lately, and nothing but the host's limit holds up its URL. */
static bool turn_may_wait(struct backoff *b, const struct backoff_request *asked, const struct backoff_terms *terms,
    uint64_t since_ms, uint64_t now_ms)
{
	struct backoff_pair pair = { .url = backoff_url_entry(b, asked, terms, false) };

	return !turn_was_had(b, asked, since_ms, now_ms) && !backoff_wait_of(&pair, asked, terms, now_ms).entry;
}

static void turn_note(struct backoff_turn *turn, uint64_t url, uint64_t since_ms, uint64_t keep_ms, uint64_t now_ms)
{
	bool open = turn_is_open(turn, now_ms);

	if (turn->rest_until_ms > now_ms ||
	    (open && turn->waits != url && (int64_t)(since_ms - turn->since_ms) >= 0))
		return;
	if (!open)
		turn->began_ms = 0;
	turn->waits = url;
	turn->since_ms = since_ms;
	turn->until_ms = now_ms + keep_ms;
	turn->keep_ms = keep_ms;
}

void backoff_missed(struct backoff *b, const struct backoff_request *asked, const struct backoff_terms *terms,
    const struct backoff_copy *copy, uint64_t now_ms)
{
	uint64_t since_ms = now_ms - copy->age_ms;
	struct backoff_turn *turn;

	backoff_enter(b);
	struct backoff_entry *host = backoff_host_entry(b, asked, false);
	if (host && turn_is_limited(host, terms, now_ms) && turn_may_wait(b, asked, terms, since_ms, now_ms) &&
	    (turn = turn_of(host, true)))
		turn_note(turn, turn_hash(asked), since_ms, copy->keep_ms, now_ms);
	backoff_exit(b);
}

/* How long the turn goes on, from when somebody first gives way to it; 0: it is over. */
static uint64_t turn_left_ms(struct backoff_turn *turn, uint64_t now_ms)
{
	if (!turn->began_ms)
		turn->began_ms = now_ms;
	uint64_t end_ms = turn->began_ms + turn->keep_ms / TURN_LASTS;
	if (end_ms > now_ms)
		return end_ms - now_ms;
	turn_end(turn, now_ms);
	return 0;
}

bool backoff_gives_way(struct backoff *b, const struct backoff_request *asked, const struct backoff_terms *terms,
    const struct backoff_copy *copy, uint64_t now_ms, struct failure *failure)
{
	uint64_t since_ms = now_ms - copy->age_ms, left_ms = 0;

	if (backoff_is_idle(b) || (!terms->pauses && !terms->host_interval_ms))
		return false;
	backoff_enter(b);
	struct backoff_entry *host = backoff_host_entry(b, asked, false);
	struct backoff_turn *turn = turn_of(host, false);
	if (turn_is_open(turn, now_ms) && turn->waits != turn_hash(asked) &&
	    ((int64_t)(since_ms - turn->since_ms) > (int64_t)(turn->keep_ms / TURN_NEWER) ||
	        turn_was_had(b, asked, since_ms, now_ms)))
		left_ms = turn_left_ms(turn, now_ms);
	if (left_ms) {
		host->saved++;
		failure_set(failure, FAILURE_PAUSED, "another feed of this host has waited longer");
		failure->received_status = host->status;
		failure->retry_after_s = (unsigned)((left_ms + 999) / 1000);
	}
	backoff_exit(b);
	return left_ms > 0;
}
