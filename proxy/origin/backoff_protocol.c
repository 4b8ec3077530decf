/* Which protocol an origin answers better; see backoff.h. An entry of a host says over which to ask it first. An entry
 * of a URL says that it was asked over both within the hour, and which answer was better. So two URLs of a host that
 * differ, and one that changes its mind, cost one request more an hour each. */
#include "proxy/origin/backoff_internal.h"

static const uint64_t protocol_memory_ms = 3600 * 1000;

static struct backoff_entry *protocol_find(struct backoff *b, struct slice name, uint64_t parent, uint64_t now_ms)
{
	struct backoff_entry *entry = backoff_table_find(&b->protocols, name, parent);

	return entry && entry->until_ms > now_ms ? entry : NULL;
}

static enum backoff_protocol protocol_of(const struct backoff_entry *entry)
{
	return entry ? (enum backoff_protocol)entry->protocol : BACKOFF_PROTOCOL_ANY;
}

static bool protocol_is_idle(const struct backoff *b)
{
	return !atomic_load_explicit(&b->n_protocols, memory_order_relaxed);
}

static enum backoff_protocol protocol_chosen(enum backoff_protocol of_host, enum backoff_protocol of_url)
{
	return of_host == BACKOFF_PROTOCOL_REQUIRED || !of_url ? of_host : of_url;
}

enum backoff_protocol backoff_protocol(struct backoff *b, const struct backoff_request *asked, uint64_t now_ms)
{
	struct backoff_host h;

	if (protocol_is_idle(b))
		return BACKOFF_PROTOCOL_ANY;
	backoff_host_of(&h, asked->url);
	backoff_enter(b);
	enum backoff_protocol of_host = protocol_of(protocol_find(b, h.name, asked->parent, now_ms));
	enum backoff_protocol of_url = protocol_of(protocol_find(b, asked->url, asked->parent, now_ms));
	backoff_exit(b);
	return protocol_chosen(of_host, of_url);
}

/* The entry of that name that was learned last, whatever parent is on the way. */
static enum backoff_protocol protocol_of_any(struct backoff *b, struct slice name, uint64_t now_ms)
{
	const struct backoff_entry *latest = NULL;
	struct backoff_entry *entry = NULL;

	while ((entry = backoff_table_next(&b->protocols, name, entry)))
		if (entry->until_ms > now_ms && (!latest || entry->until_ms > latest->until_ms))
			latest = entry;
	return protocol_of(latest);
}

enum backoff_protocol backoff_protocol_shown(struct backoff *b, struct slice url, uint64_t now_ms)
{
	struct backoff_host h;

	if (protocol_is_idle(b))
		return BACKOFF_PROTOCOL_ANY;
	backoff_host_of(&h, url);
	backoff_enter(b);
	enum backoff_protocol chosen =
	    protocol_chosen(protocol_of_any(b, h.name, now_ms), protocol_of_any(b, url, now_ms));
	backoff_exit(b);
	return chosen;
}

bool backoff_asks_twice(struct backoff *b, const struct backoff_request *asked, uint64_t now_ms)
{
	struct backoff_host h;

	if (protocol_is_idle(b))
		return true;
	backoff_host_of(&h, asked->url);
	backoff_enter(b);
	bool required = protocol_of(protocol_find(b, h.name, asked->parent, now_ms)) == BACKOFF_PROTOCOL_REQUIRED;
	bool twice = !required && !protocol_find(b, asked->url, asked->parent, now_ms);
	backoff_exit(b);
	return twice;
}

/* Each call looks through one bucket for what counts no more. */
static void protocol_tidy(struct backoff *b, uint64_t now_ms)
{
	struct backoff_entry *entry, *next;

	b->protocols_tidied = (b->protocols_tidied + 1) % BACKOFF_BUCKETS;
	for (entry = LIST_FIRST(&b->protocols.buckets[b->protocols_tidied]); entry; entry = next) {
		next = LIST_NEXT(entry, link);
		if (entry->until_ms <= now_ms)
			backoff_table_forget(&b->protocols, entry);
	}
}

/* NULL: out of memory. */
static struct backoff_entry *protocol_enter(struct backoff *b, struct slice name, uint64_t parent, struct slice host,
    uint64_t now_ms)
{
	struct backoff_entry *entry = backoff_table_find(&b->protocols, name, parent);

	if (!entry && !(entry = backoff_table_add(&b->protocols, name, parent, host)))
		return NULL;
	if (entry->until_ms <= now_ms)
		entry->protocol = BACKOFF_PROTOCOL_ANY;
	entry->until_ms = now_ms + protocol_memory_ms;
	return entry;
}

/* A host counts as proven: its URLs, of which there may be many, do not push it out. */
static void protocol_learn_host(struct backoff *b, const struct backoff_host *host, uint64_t parent,
    enum backoff_protocol better, uint64_t now_ms)
{
	struct backoff_entry *entry = protocol_find(b, host->name, parent, now_ms);

	if (protocol_of(entry) == BACKOFF_PROTOCOL_REQUIRED && better != BACKOFF_PROTOCOL_REQUIRED)
		return;
	if ((entry = protocol_enter(b, host->name, parent, host->bare, now_ms))) {
		entry->protocol = (uint8_t)better;
		if (!entry->proven)
			backoff_table_prove(entry);
	}
}

static void protocol_learn(struct backoff *b, const struct backoff_request *asked, enum backoff_protocol better,
    uint64_t now_ms)
{
	struct backoff_entry *entry;
	struct backoff_host h;

	backoff_host_of(&h, asked->url);
	protocol_tidy(b, now_ms);
	if (better)
		protocol_learn_host(b, &h, asked->parent, better, now_ms);
	if (better != BACKOFF_PROTOCOL_REQUIRED &&
	    (entry = protocol_enter(b, asked->url, asked->parent, h.bare, now_ms)) && better)
		entry->protocol = (uint8_t)better;
}

void backoff_learn_protocol(struct backoff *b, const struct backoff_request *asked, enum backoff_protocol better,
    uint64_t now_ms)
{
	const struct backoff_news news = { .kind = NEWS_PROTOCOL, .url = asked->url, .parent = asked->parent,
		.since_ms = now_ms, .until_ms = now_ms, .protocol = better };

	backoff_enter(b);
	protocol_learn(b, asked, better, now_ms);
	backoff_exit(b);
	if (better)
		backoff_tell(b, &news);
}

void backoff_protocol_hear(struct backoff *b, const struct backoff_news *news)
{
	const struct backoff_request asked = { .url = news->url, .parent = news->parent };

	if (news->protocol)
		protocol_learn(b, &asked, news->protocol, news->since_ms);
}
