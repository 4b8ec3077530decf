/* Owns the cases of a lease as one process sees it: what it asks, which answer it gets, and what it leaves behind. The
 * store answers as the case says. Must not know: scripts (tests/unit/store/test_store_call.c). */
#include "proxy/fleet/fleet_internal.h"
#include "proxy/fleet/lease.h"
#include "tests/unit/entries.h"
#include "tests/unit/stores.h"
#include "tests/unit/unit.h"

#define KEY "http://a/\nk"
enum { LONG_MS = 60000, SHORT_MS = 50, SENT_MAX = 64 };

/* What was asked of the store: a letter for each call, and the call that waits for its answer. */
static struct {
	struct store store;
	bool refuses;
	struct store_call *asked;
	char message[24];              /* that the last lease wants */
	char sent[SENT_MAX];           /* l: a lease, L: whatever is stored, r, s, p: a release of nothing, of what is stored, of private */
} fake;

static void fake_note(char letter)
{
	size_t n = strlen(fake.sent);

	if (n + 1 < sizeof fake.sent)
		fake.sent[n] = letter;
}

static bool fake_call(struct store *store, struct store_call *call)
{
	(void)store;
	if (fake.refuses)
		return false;
	if (call->script == SCRIPT_RELEASE) {
		fake_note(call->args[1].len ? call->args[1].at[0] : 'r');
		return true;
	}
	fake_note(call->args[4].len == 1 ? 'L' : 'l');
	snprintf(fake.message, sizeof fake.message, "%.*s", (int)call->args[2].len, call->args[2].at);
	fake.asked = call;
	return true;
}

static void fake_uncall(struct store *store, struct store_call *call)
{
	(void)store, (void)call;
	fake.asked = NULL;
}

static void fake_hear(struct store *store, const struct store_ears *ears)
{
	(void)store, (void)ears;
}

static const struct store_ops fake_ops = { .name = "fake", .call = fake_call, .uncall = fake_uncall, .hear = fake_hear };

/* A lease, and what it was told. */
struct asker {
	struct fleet_lease lease;
	int told;                      /* how often */
	enum fleet_answer answer;
	struct entry *entry;
};

static void on_told(struct fleet_lease *lease, enum fleet_answer answer, struct entry *entry)
{
	struct asker *asker = (struct asker *)(void *)lease;

	asker->told++;
	asker->answer = answer;
	asker->entry = entry;
	loop_stop(lease->loop);
}

static struct fleet *fresh_fleet(void)
{
	memset(&fake, 0, sizeof fake);
	fake.store.ops = &fake_ops;
	return fleet_new(&fake.store);
}

static bool ask_of(struct asker *asker, struct fleet *fleet, uint64_t lasts_ms, const char *key)
{
	*asker = (struct asker){ .lease = { .loop = stores_loop(), .key = { key, strlen(key) }, .lasts_ms = lasts_ms,
		.private_ms = 1000, .told = on_told } };
	return fleet_lease_ask(&asker->lease, fleet, NULL, false);
}

static bool ask(struct asker *asker, struct fleet *fleet, uint64_t lasts_ms)
{
	return ask_of(asker, fleet, lasts_ms, KEY);
}

/* by NULL: a word alone; word NULL: no reply. */
static void reply(const char *word, const char *by, int64_t ms, struct entry *entry)
{
	struct store_call *call = fake.asked;
	struct store_reply *r = word ? calloc(1, sizeof *r + 3 * sizeof r->values[0]) : NULL;

	fake.asked = NULL;
	if (r) {
		r->n = by ? 3 : 1;
		r->entry = entry;
		r->values[0].text = (struct slice){ word, strlen(word) };
		r->values[1].text = (struct slice){ by, by ? strlen(by) : 0 };
		r->values[2].number = ms;
	}
	call->reply = r;
	call->answered(call);
	store_reply_free(&r);
}

static void on_turn(struct task *task)
{
	(void)task;
	loop_stop(stores_loop());
}

/* What was woken by now runs. */
static void turn(void)
{
	struct task last = { .run = on_turn };

	loop_wake(stores_loop(), &last);
	CU_ASSERT_FATAL(!loop_run(stores_loop()));
}

static void say(struct fleet *fleet, const char *text)
{
	fleet_wake(fleet, (struct slice){ text, text ? strlen(text) : 0 });
	turn();
}

static bool sent(const char *letters)
{
	return !strcmp(fake.sent, letters);
}

/* What one reply leads to: told what, and what the end of the lease sends for it. */
static void answers(void)
{
	static const struct { const char *word, *name; enum fleet_answer told; const char *sent; } rows[] = {
		{ "mine", "it is released", LEASE_MINE, "ls" },
		{ "private", "nothing is held", LEASE_PRIVATE, "l" },
		{ NULL, "without an answer it may be held", LEASE_NONE, "ls" },
		{ "nonsense", "an answer that is none", LEASE_NONE, "l" },
	};
	struct fleet *fleet;
	struct asker a;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		fleet = fresh_fleet();
		CU_ASSERT(ask(&a, fleet, LONG_MS) && !a.told);
		reply(rows[i].word, NULL, 0, NULL);
		UNIT_ROW(a.told == 1 && a.answer == rows[i].told, "%s", rows[i].name);
		UNIT_ROW(fleet_leases(fleet).held == (rows[i].told == LEASE_MINE), "%s: counted", rows[i].name);
		fleet_lease_end(&a.lease, CAME_STORED);
		fleet_lease_end(&a.lease, CAME_STORED);
		UNIT_ROW(sent(rows[i].sent) && !fleet_leases(fleet).held, "%s: %s", rows[i].name, fake.sent);
		fleet_free(&fleet);
	}
}

static void not_asked(void)
{
	struct fleet *fleet = fresh_fleet();
	struct asker a;

	CU_ASSERT(!ask(&a, NULL, LONG_MS) && !ask(&a, fleet, 0) && sent(""));
	fleet_lease_end(&a.lease, CAME_STORED);
	fake.refuses = true;
	UNIT_ROW(!ask(&a, fleet, LONG_MS) && !a.told, "the store is away: at once");
	fleet_lease_end(&a.lease, CAME_STORED);
	CU_ASSERT(sent(""));
	fleet_free(&fleet);
}

/* A process that leaves before the store has answered may hold the lease all the same. */
static void left_early(void)
{
	struct fleet *fleet = fresh_fleet();
	struct asker a;

	CU_ASSERT(ask(&a, fleet, LONG_MS));
	fleet_lease_end(&a.lease, CAME_NOTHING);
	CU_ASSERT(sent("lr") && !fake.asked && !a.told);
	CU_ASSERT(ask(&a, fleet, LONG_MS));
	reply("wait", "1 1", LONG_MS, NULL);
	CU_ASSERT(fleet_leases(fleet).waits == 1);
	fleet_lease_end(&a.lease, CAME_NOTHING);
	UNIT_ROW(sent("lrl") && !fleet_leases(fleet).waits, "who only waited holds nothing");
	say(fleet, NULL);
	CU_ASSERT(!a.told && !fake.asked);
	fleet_free(&fleet);
}

static void messages(void)
{
	struct entry *e = entries_new(KEY, 1, 10);
	struct fleet *fleet = fresh_fleet();
	struct asker a, other;
	char message[sizeof fake.message];

	CU_ASSERT(ask_of(&other, fleet, LONG_MS, "http://other/\nk"));
	reply("wait", "1 1", LONG_MS, NULL);
	CU_ASSERT(ask(&a, fleet, LONG_MS));
	memcpy(message, fake.message, sizeof message);
	say(fleet, message);
	UNIT_ROW(sent("ll") && fake.asked == &a.lease.call, "a message before the answer is kept");
	reply("wait", "1 1", LONG_MS, NULL);
	UNIT_ROW(sent("lll") && fake.asked == &a.lease.call, "and has it ask again");
	reply("wait", "1 1", LONG_MS, NULL);
	UNIT_ROW(fleet_lease_waited(&a.lease) && fleet_leases(fleet).waits == 2, "two wait");
	for (size_t i = 0; i < 4; i++) {
		static const char *const others[] = { "", "0", "x", "99999999999999999999999999" };

		say(fleet, others[i]);
		UNIT_ROW(!fake.asked, "a message that is nobody's: %s", others[i]);
	}
	say(fleet, message);
	UNIT_ROW(fake.asked == &a.lease.call, "its own");
	reply("stored", NULL, 0, entry_ref(e));
	UNIT_ROW(a.told == 1 && a.answer == LEASE_STORED && a.entry == e, "what is stored");
	UNIT_ROW(!fake.asked && !other.told, "the other one waits on");
	say(fleet, NULL);
	UNIT_ROW(fake.asked == &other.lease.call, "where some are missed all ask");
	fake.refuses = true;
	reply("wait", "1 1", LONG_MS, NULL);
	say(fleet, NULL);
	UNIT_ROW(other.told == 1 && other.answer == LEASE_NONE, "the store is away by then");
	entry_unref(&a.entry);
	entry_unref(&e);
	fleet_lease_end(&a.lease, CAME_NOTHING);
	fleet_lease_end(&other.lease, CAME_NOTHING);
	fleet_free(&fleet);
}

/* After a purge two fetches of a process wait for one response, each with a lease. The store knows of the later one. */
static void messages_of_two(void)
{
	struct fleet *fleet = fresh_fleet();
	struct asker both[2];

	for (size_t i = 0; i < 2; i++) {
		CU_ASSERT(ask(&both[i], fleet, LONG_MS));
		reply("wait", "1 1", LONG_MS, NULL);
	}
	say(fleet, fake.message);
	UNIT_ROW(sent("llll") && !fleet_leases(fleet).waits, "both ask again: %s", fake.sent);
	for (size_t i = 0; i < 2; i++)
		fleet_lease_end(&both[i].lease, CAME_NOTHING);
	fleet_free(&fleet);
}

/* If the store has a response that nobody can read, the process does not look for it again. */
static void damaged(void)
{
	struct fleet *fleet = fresh_fleet();
	struct asker a;

	CU_ASSERT(ask(&a, fleet, LONG_MS));
	reply("stored", NULL, 0, NULL);
	CU_ASSERT(sent("lL") && !a.told);
	reply("mine", NULL, 0, NULL);
	CU_ASSERT(a.told == 1 && a.answer == LEASE_MINE);
	fleet_lease_end(&a.lease, CAME_PRIVATE);
	CU_ASSERT(sent("lLp"));
	fleet_free(&fleet);
}

/* One owner is waited for as long as leases last, a second one once more, and a third one not. */
static void waits_end(void)
{
	static const char *const owners[] = { "1 1", "2 1", "3 1", "4 1" };
	struct fleet *fleet = fresh_fleet();
	size_t asks = 0;
	struct asker a;

	CU_ASSERT(ask(&a, fleet, SHORT_MS));
	while (!a.told && asks < 1000) {
		reply("wait", owners[asks < 3 ? asks : 3], 0, NULL);
		asks++;
		while (!a.told && !fake.asked)
			turn();
	}
	CU_ASSERT(a.told == 1 && a.answer == LEASE_NONE && asks > 1 && asks < 1000);
	fleet_lease_end(&a.lease, CAME_STORED);
	UNIT_ROW(!strchr(fake.sent, 's'), "nothing is held");
	fleet_free(&fleet);
}

UNIT_SUITE(lease, { "answers", answers }, { "not-asked", not_asked }, { "left-early", left_early }, { "messages", messages },
	{ "messages-of-two", messages_of_two },
	{ "damaged", damaged }, { "waits-end", waits_end })
