/* Owns the cases of calls: scripts that a Redis server runs for two processes, which are two stores here.
 * Must not know: the fleet. */
#include "tests/unit/entries.h"
#include "tests/unit/redis_server.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <signal.h>

#define URL "http://a/"
#define KEY URL "\nk"
#define TEXT(literal) { (literal), sizeof (literal) - 1 }

/* What was answered. */
struct called { struct store_call call; char words[64]; struct entry *entry; bool answered; };

static void on_called(struct store_call *call)
{
	struct called *called = (struct called *)(void *)call;
	const struct store_reply *reply = call->reply;
	char *to = called->words;

	snprintf(to, sizeof called->words, "none");
	for (size_t i = 0; reply && i < reply->n && i < 1; i++)
		snprintf(to, sizeof called->words, "%.*s", (int)reply->values[i].text.len, reply->values[i].text.at);
	if (reply && reply->entry) {
		called->entry = reply->entry;
		call->reply->entry = NULL;
	}
	called->answered = true;
	loop_stop(call->loop);
}

static void run(struct store *s, struct called *called)
{
	called->call.loop = stores_loop();
	called->call.answered = on_called;
	if (!s->ops->call(s, &called->call))
		snprintf(called->words, sizeof called->words, "refused");
	else if (loop_run(stores_loop()))
		abort();
}

/* Asks for the lease; known: the version of what is stored, NULL: nothing is. */
static struct called ask(struct store *s, const char *token, const struct entry *known)
{
	char version[ENTRY_VERSION_BYTES], at[16];
	struct called called = { .call = { .script = SCRIPT_LEASE, .name = TEXT(KEY), .n = 5,
		.args = { { token, strlen(token) }, TEXT("10000"), TEXT("me"), { at, 0 }, { version, 0 } } } };

	called.call.args[3].len = (size_t)snprintf(at, sizeof at, "%zu", entry_version_at(sizeof KEY - 1));
	if (known) {
		entry_version(known, version);
		called.call.args[4].len = sizeof version;
	}
	run(s, &called);
	return called;
}

/* A process gets no answer to its calls until it is subscribed. */
static bool asked(struct store *s, const char *token, const char *word)
{
	struct called called = ask(s, token, NULL);

	for (int i = 0; i < 1000 && !strcmp(called.words, "none") && strcmp(word, "none"); i++, stores_nap())
		called = ask(s, token, NULL);
	entry_unref(&called.entry);
	return !strcmp(called.words, word);
}

static void release(struct store *s, const char *token, const char *came)
{
	struct called called = { .call = { .script = SCRIPT_RELEASE, .name = TEXT(KEY), .n = 3,
		.args = { { token, strlen(token) }, { came, strlen(came) }, TEXT("60000") } } };

	run(s, &called);
}

static void purged(struct store *s, enum store_purge what, const char *url)
{
	s->ops->purge(s, what, url, strlen(url), false, 2000);
	CU_ASSERT(stores_settle(s));
}

static void leases(void)
{
	struct store *s, *other;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	s = redis_server_store();
	other = redis_server_open("se cret", "u*t:");
	CU_ASSERT(redis_server_wakes(other));
	UNIT_ROW(asked(s, "1", "mine"), "the first has it");
	UNIT_ROW(asked(other, "1", "wait"), "another process with the same token waits");
	UNIT_ROW(asked(s, "2", "wait"), "so does its own process");
	release(other, "1", "");
	UNIT_ROW(asked(other, "1", "wait"), "nobody else releases it");
	release(s, "1", "");
	UNIT_ROW(asked(other, "1", "mine"), "the next has it");
	release(other, "1", "private");
	UNIT_ROW(asked(s, "1", "private") && asked(other, "1", "private"), "nobody has it of what is each client's own");
	purged(s, PURGE_URL, "http://other/");
	UNIT_ROW(asked(s, "1", "private"), "a purge of another URL leaves leases alone");
	purged(s, PURGE_URL, URL);
	UNIT_ROW(asked(s, "1", "mine"), "behind a purge of the URL nobody has it");
	UNIT_ROW(asked(other, "1", "wait"), "and then the first to ask has");
	purged(s, PURGE_PREFIX, "http://other/");
	UNIT_ROW(asked(other, "1", "wait"), "a purge of another prefix leaves leases alone");
	purged(other, PURGE_PREFIX, "http://");
	UNIT_ROW(asked(other, "1", "mine"), "a purge of a prefix frees them");
	release(s, "1", "");
	UNIT_ROW(asked(s, "2", "wait"), "the owner before it releases nothing");
	purged(s, PURGE_ALL, "");
	UNIT_ROW(asked(s, "1", "mine"), "so does a purge of everything");
	for (int i = 0; i < 64; i++)
		purged(s, PURGE_URL, "http://other/");
	UNIT_ROW(asked(other, "1", "mine"), "after 64 purges any URL counts as purged");
	other->ops->free(other);
	s->ops->free(s);
	redis_server_stop();
}

/* A process that does not know the stored response gets that instead of a lease. */
static void stored_answers(void)
{
	struct called called;
	struct store *s;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	s = redis_server_store();
	CU_ASSERT(asked(s, "0", "mine"));
	release(s, "0", "");
	stores_put(s, KEY, 1, 1000);
	called = ask(s, "1", NULL);
	CU_ASSERT(!strcmp(called.words, "stored") && called.entry && entries_body_is(called.entry, 1, 1000));
	struct called again = ask(s, "1", called.entry);
	UNIT_ROW(!strcmp(again.words, "mine") && !again.entry, "what is known is no answer");
	entry_unref(&called.entry);
	s->ops->free(s);
	redis_server_stop();
}

/* An owner that lives no more has no lease. */
static void owner_dies(void)
{
	struct store *s, *other;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	s = redis_server_store();
	other = redis_server_open("se cret", "u*t:");
	CU_ASSERT(redis_server_wakes(other));
	CU_ASSERT(asked(other, "1", "mine") && asked(s, "1", "wait"));
	other->ops->free(other);                      /* it parts */
	CU_ASSERT(asked(s, "1", "mine"));
	s->ops->free(s);
	redis_server_stop();
}

/* Nobody waits for a server that is away. */
static void refused_while_away(void)
{
	struct called called = { .call = { .script = SCRIPT_RELEASE, .name = TEXT(KEY) } };
	struct store *s;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	redis_server.timeout_ms = 500;
	s = redis_server_store();
	kill(redis_server.pid, SIGSTOP);
	UNIT_ROW(asked(s, "1", "none"), "it is silent: answered with none");
	UNIT_ROW(asked(s, "1", "refused"), "it is away: refused at once");
	kill(redis_server.pid, SIGCONT);
	CU_ASSERT(redis_server_wakes(s));
	kill(redis_server.pid, SIGSTOP);
	called.call.loop = stores_loop();
	called.call.answered = on_called;
	CU_ASSERT(s->ops->call(s, &called.call));
	s->ops->uncall(s, &called.call);
	UNIT_ROW(asked(s, "1", "none") && !called.answered, "a call that was taken back is not answered");
	s->ops->free(s);
	redis_server_stop();
	redis_server.timeout_ms = 60000;
}

/* ---- what is heard ---- */

struct heard { pthread_mutex_t lock; char text[16384]; };

static void heard_add(struct heard *heard, struct slice a, struct slice b)
{
	pthread_mutex_lock(&heard->lock);
	size_t len = strlen(heard->text);
	snprintf(heard->text + len, sizeof heard->text - len, "%.*s:%.*s ", (int)a.len, a.at, (int)b.len, b.at);
	pthread_mutex_unlock(&heard->lock);
}

static void on_news(void *arg, struct slice topic, struct slice text, uint64_t age_ms)
{
	CU_ASSERT(age_ms < 60000);
	heard_add(arg, topic, text);
}

static void on_message(void *arg, struct slice text)
{
	heard_add(arg, (struct slice){ "message", text.len ? 7 : 0 }, text.at ? text : (struct slice){ "missed", 6 });
}

/* Waits until it has heard that, anywhere. */
static bool hears(struct heard *heard, const char *text)
{
	bool there = false;

	for (int i = 0; i < 2000 && !there; i++, stores_nap()) {
		pthread_mutex_lock(&heard->lock);
		there = strstr(heard->text, text);
		pthread_mutex_unlock(&heard->lock);
	}
	return there;
}

static void listen_to(struct store *s, struct heard *heard)
{
	struct store_ears ears = { on_news, on_message, heard };

	s->ops->hear(s, &ears);
}

static void tell(struct store *s, const char *text)
{
	struct store_call call = { .script = SCRIPT_TELL, .name = TEXT("news"), .n = 3,
		.args = { TEXT("topic"), { text, strlen(text) }, TEXT("60") } };

	CU_ASSERT(s->ops->call(s, &call));
}

/* Until all is heard that was told by now. */
static void hear(struct store *s)
{
	struct called called = { .call = { .script = SCRIPT_HEAR, .name = TEXT("news") } };

	run(s, &called);
	CU_ASSERT(called.answered);
}

/* The other process hears news and messages, in their order; who tells does not hear its own. */
static void others_hear(void)
{
	static struct heard mine = { .lock = PTHREAD_MUTEX_INITIALIZER }, theirs = { .lock = PTHREAD_MUTEX_INITIALIZER },
		late = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct store *s, *other, *third;
	char text[32];

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	s = redis_server_store();
	other = redis_server_open("se cret", "u*t:");
	listen_to(s, &mine);
	listen_to(other, &theirs);
	CU_ASSERT(redis_server_wakes(other));
	CU_ASSERT(asked(s, "1", "mine") && asked(other, "1", "wait"));
	CU_ASSERT(hears(&theirs, ":missed"));                 /* until it is subscribed */
	tell(s, "one");
	tell(s, "two");
	release(s, "1", "");
	UNIT_ROW(hears(&theirs, "topic:one topic:two "), "news");
	UNIT_ROW(hears(&theirs, "message:me"), "a message");
	hear(other);
	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof text, "at once %d", i);
		tell(s, text);
		CU_ASSERT(stores_settle(s));
		hear(other);
		UNIT_ROW(strstr(theirs.text, text), "what was told before is heard: %d", i);
	}
	tell(other, "three");
	UNIT_ROW(hears(&mine, "topic:three") && !strstr(mine.text, "topic:one"), "not its own");
	third = redis_server_open("se cret", "u*t:");
	listen_to(third, &late);
	UNIT_ROW(hears(&late, "topic:one topic:two ") && hears(&late, "topic:three "), "who comes later hears what was told before");
	third->ops->free(third);
	other->ops->free(other);
	s->ops->free(s);
	redis_server_stop();
}

/* More news than one reply has, and a server that is away. */
static void hears_all_once(void)
{
	static struct heard theirs = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct store *s, *other;
	char text[16];

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	redis_server.timeout_ms = 500;
	s = redis_server_store();
	for (int i = 0; i < 600; i++) {
		snprintf(text, sizeof text, "%d", i);
		tell(s, text);
	}
	CU_ASSERT(stores_settle(s));
	other = redis_server_open("se cret", "u*t:");
	listen_to(other, &theirs);
	UNIT_ROW(hears(&theirs, "topic:599"), "all pages");
	theirs.text[0] = '\0';
	kill(redis_server.pid, SIGSTOP);
	UNIT_ROW(hears(&theirs, ":missed"), "the server is away: messages may be missed");
	kill(redis_server.pid, SIGCONT);
	theirs.text[0] = '\0';
	CU_ASSERT(redis_server_wakes(other) && redis_server_wakes(s));
	tell(s, "new");
	UNIT_ROW(hears(&theirs, "topic:new"), "it is back: what is new");
	UNIT_ROW(!strstr(theirs.text, "topic:599"), "and nothing once more");
	other->ops->free(other);
	s->ops->free(s);
	redis_server_stop();
	redis_server.timeout_ms = 60000;
}

UNIT_SUITE(store_call, { "leases", leases }, { "stored-answers", stored_answers }, { "owner-dies", owner_dies },
	{ "refused-while-away", refused_while_away }, { "others-hear", others_hear }, { "hears-all-once", hears_all_once })
