/* Owns the cases of proxy/settings/logins.c. Must not know: requests. Invariants: time is what a row says; each waiter hears the answer, or
 * leaves. */
#include "proxy/settings/logins.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_internal.h"
#include "proxy/net/loop.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define HASH(salt) "$2b$04$abcdefghijklmnopqrstu" salt
/* of "open sesame", of "x" */
#define OPEN_SESAME HASH("u/LVz6MZlItEy42I2juLihZ66HnQx/cy")
#define X HASH("uPp7HPfoAs8I2dCQCQ/fW7zEJv8I8C8e")
#define USERS "alice:" OPEN_SESAME "\nbob:" X "\ncarol:" OPEN_SESAME "\n"

enum { SECOND = 1000, MINUTE = 60 * SECOND, GUESSES = 20 };

/* Nothing is compared while a case has it. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

bool __real_password_is(const char *hash, const char *password, size_t len);
bool __wrap_password_is(const char *hash, const char *password, size_t len);
bool __wrap_password_is(const char *hash, const char *password, size_t len)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return __real_password_is(hash, password, len);
}

struct door { struct loop *loop; struct logins *logins; struct conf *conf; };

static void open_door(struct door *door, const char *users)
{
	door->loop = loop_new();
	door->logins = logins_new();
	door->conf = conf_new();
	CU_ASSERT_FATAL(door->loop && door->logins && door->conf);
	conf_users_parse(door->conf, "users", users, strlen(users));
	CU_ASSERT_EQUAL_FATAL(door->conf->notes.errors, 0);
}

static void close_door(struct door *door)
{
	logins_unref(&door->logins);
	CU_ASSERT_PTR_NULL(door->logins);
	conf_free(&door->conf);
	loop_free(&door->loop);
}

static struct ip from(unsigned number)
{
	char text[32];
	struct ip ip;

	snprintf(text, sizeof text, "10.%u.%u.%u", number >> 16 & 255, number >> 8 & 255, number & 255);
	CU_ASSERT_FATAL(ip_parse(text, strlen(text), &ip));
	return ip;
}

static void give(struct credentials *given, const char *name, const char *password)
{
	given->name_len = (size_t)snprintf(given->name, sizeof given->name, "%s", name);
	given->password_len = (size_t)snprintf(given->password, sizeof given->password, "%s", password);
}

struct caller { struct task task; struct login_waiter waiter; struct loop *loop; };

static void on_verified(struct task *task)
{
	loop_stop(((struct caller *)task)->loop);
}

/* Asks, and waits for the answer. */
static enum login_answer ask(const struct door *door, const char *name, const char *password, unsigned client, uint64_t now_ms, unsigned *wait_s)
{
	struct caller caller = { .task.run = on_verified, .loop = door->loop };
	struct credentials given;
	struct ip ip = from(client);
	const struct login login = { &door->conf->users, &given, &ip, now_ms };
	enum login_answer answer;

	give(&given, name, password);
	*wait_s = 0;
	if (logins_known(door->logins, &login))
		return LOGIN_RIGHT;
	caller.waiter.at.loop = door->loop;
	caller.waiter.at.task = &caller.task;
	answer = logins_ask(door->logins, &login, &caller.waiter, wait_s);
	if (answer != LOGIN_WAITS)
		return answer;
	if (loop_run(door->loop))
		abort();
	return logins_told(door->logins, &caller.waiter, now_ms);
}

static bool is_known(const struct door *door, const char *name, const char *password, uint64_t now_ms)
{
	struct credentials given;
	struct ip ip = from(1);
	const struct login login = { &door->conf->users, &given, &ip, now_ms };
	const struct conf_user *user;

	give(&given, name, password);
	user = logins_known(door->logins, &login);
	CU_ASSERT(!user || !strcmp(user->name, name));
	return user;
}

static void answers(void)
{
	static const struct { const char *rule, *name, *password; enum login_answer want; } rows[] = {
		{ "right", "alice", "open sesame", LOGIN_RIGHT },
		{ "right again, by what is remembered", "alice", "open sesame", LOGIN_RIGHT },
		{ "wrong, though another was right", "alice", "open sesam", LOGIN_WRONG },
		{ "another's password", "bob", "open sesame", LOGIN_WRONG },
		{ "right", "bob", "x", LOGIN_RIGHT },
		{ "the same password as another's, of a hash of its own", "carol", "open sesame", LOGIN_RIGHT },
		{ "nobody's name, with the password of whoever is compared with", "dave", "open sesame", LOGIN_WRONG },
		{ "the other one", "dave", "x", LOGIN_WRONG },
		{ "a name in another case", "Alice", "open sesame", LOGIN_WRONG },
		{ "name and password that run together", "alic", "eopen sesame", LOGIN_WRONG },
	};
	struct door door;
	unsigned wait_s;

	open_door(&door, USERS);
	for (size_t i = 0; i < COUNT(rows); i++)
		UNIT_ROW(ask(&door, rows[i].name, rows[i].password, 1, SECOND, &wait_s) == rows[i].want, "%s", rows[i].rule);
	close_door(&door);
}

/* A right one is remembered for five minutes; a file that changed makes it unknown. */
static void remembered(void)
{
	struct door door;
	struct conf *fresh = conf_new();
	unsigned wait_s;

	open_door(&door, USERS);
	CU_ASSERT(!is_known(&door, "alice", "open sesame", SECOND));
	CU_ASSERT_EQUAL(ask(&door, "alice", "open sesame", 1, SECOND, &wait_s), LOGIN_RIGHT);
	CU_ASSERT_EQUAL(ask(&door, "bob", "x", 1, SECOND, &wait_s), LOGIN_RIGHT);
	CU_ASSERT(is_known(&door, "alice", "open sesame", SECOND + LOGINS_REMEMBERED_MS - 1));
	CU_ASSERT(!is_known(&door, "alice", "open sesame", SECOND + LOGINS_REMEMBERED_MS));
	CU_ASSERT(!is_known(&door, "alice", "x", SECOND));
	conf_users_parse(fresh, "users", "bob:" X "\nalice:" X "\n", strlen("bob:" X "\nalice:" X "\n"));
	conf_free(&door.conf);
	door.conf = fresh;
	CU_ASSERT(is_known(&door, "bob", "x", SECOND));
	CU_ASSERT(!is_known(&door, "alice", "open sesame", SECOND));
	CU_ASSERT_EQUAL(ask(&door, "alice", "open sesame", 1, SECOND, &wait_s), LOGIN_WRONG);
	/* who left, and whose hash somebody else has too */
	fresh = conf_new();
	conf_users_parse(fresh, "users", "eve:" X "\n", strlen("eve:" X "\n"));
	conf_free(&door.conf);
	door.conf = fresh;
	CU_ASSERT(!is_known(&door, "bob", "x", SECOND));
	CU_ASSERT_EQUAL(ask(&door, "bob", "x", 1, SECOND, &wait_s), LOGIN_WRONG);
	close_door(&door);
}

/* Many are remembered at a time. */
static void crowd(void)
{
	char file[64 * 128] = "";
	struct door door;
	unsigned wait_s, known = 0;

	for (unsigned i = 0; i < 64; i++)
		snprintf(file + strlen(file), 128, "user%u:%s\n", i, X);
	open_door(&door, file);
	for (unsigned i = 0; i < 64; i++) {
		char name[16];

		snprintf(name, sizeof name, "user%u", i);
		UNIT_ROW(ask(&door, name, "x", i, SECOND, &wait_s) == LOGIN_RIGHT, "%s", name);
		known += is_known(&door, name, "x", SECOND);
	}
	CU_ASSERT_EQUAL(known, 64);
	close_door(&door);
}

/* Guesses from one address: a burst, then one in half a minute. Right passwords do not count. */
static void guessed(void)
{
	struct door door;
	unsigned wait_s, wrong = 0;

	open_door(&door, USERS);
	for (unsigned i = 0; i < 5 * GUESSES; i++)
		UNIT_ROW(ask(&door, "bob", "x", 1, i * SECOND, &wait_s) == LOGIN_RIGHT, "right %u", i);
	for (unsigned i = 0; i < GUESSES; i++) {
		UNIT_ROW(ask(&door, "alice", "guess", 1, 10 * MINUTE, &wait_s) == LOGIN_WRONG, "guess %u", i);
		UNIT_ROW(ask(&door, "carol", "open sesame", 1, 10 * MINUTE, &wait_s) == LOGIN_RIGHT, "right beside guess %u", i);
	}
	UNIT_ROW(ask(&door, "alice", "guess", 1, 10 * MINUTE, &wait_s) == LOGIN_HURRIED && wait_s == 30, "one more: %u", wait_s);
	UNIT_ROW(ask(&door, "dave", "guess", 1, 10 * MINUTE, &wait_s) == LOGIN_HURRIED, "another name");
	UNIT_ROW(ask(&door, "alice", "open sesame", 1, 10 * MINUTE, &wait_s) == LOGIN_HURRIED, "a right one is not told from the others");
	UNIT_ROW(ask(&door, "carol", "open sesame", 1, 10 * MINUTE, &wait_s) == LOGIN_RIGHT, "one that is remembered passes");
	UNIT_ROW(ask(&door, "alice", "open sesame", 2, 10 * MINUTE, &wait_s) == LOGIN_RIGHT, "another address is not locked out");
	for (unsigned i = 0; i < 100000; i++)
		wrong += ask(&door, "alice", "guess", 3, 20 * MINUTE, &wait_s) == LOGIN_WRONG;
	UNIT_ROW(wrong == GUESSES, "100000 guesses at once: %u were compared", wrong);
	for (unsigned i = wrong = 0; i < 3600; i++)
		wrong += ask(&door, "alice", "guess", 3, 20 * MINUTE + i * SECOND, &wait_s) == LOGIN_WRONG;
	UNIT_ROW(wrong == 119, "an hour of guesses, each second: %u were compared", wrong);
	close_door(&door);
}

/* Guesses at one name from many addresses: each has one in ten minutes then, the user's address among them. */
static void besieged(void)
{
	struct door door;
	unsigned wait_s, wrong = 0;

	open_door(&door, USERS);
	for (unsigned i = 0; i < 400; i++)
		wrong += ask(&door, "alice", "guess", 100 + i / GUESSES, MINUTE, &wait_s) == LOGIN_WRONG;
	UNIT_ROW(wrong >= 100 && wrong <= 100 + 400 / GUESSES, "20 addresses with 20 guesses each: %u were compared", wrong);
	for (unsigned i = wrong = 0; i < 200; i++)
		wrong += ask(&door, "alice", "guess", 1000 + i / 2, MINUTE, &wait_s) == LOGIN_WRONG;
	UNIT_ROW(wrong == 100 && wait_s == 600, "then one for each address: %u, %u s", wrong, wait_s);
	UNIT_ROW(ask(&door, "alice", "open sesame", 1, MINUTE, &wait_s) == LOGIN_RIGHT, "its user comes from another address");
	UNIT_ROW(ask(&door, "bob", "x", 1, MINUTE, &wait_s) == LOGIN_RIGHT, "another name");
	close_door(&door);
}

/* Many at a time: those who ask the same wait for one comparison, which counts once; who leaves is not told. */
static void together(void)
{
	static struct caller callers[300];
	struct credentials given;
	struct ip ip = from(1);
	struct door door;
	struct login login = { NULL, &given, &ip, SECOND };
	unsigned wait_s, answers_of[LOGIN_NO_MEMORY + 1] = { 0 };

	open_door(&door, USERS);
	login.users = &door.conf->users;
	give(&given, "alice", "guess");
	for (size_t i = 0; i < COUNT(callers); i++) {
		callers[i] = (struct caller){ .task.run = on_verified, .loop = door.loop };
		callers[i].waiter.at.loop = door.loop;
		callers[i].waiter.at.task = &callers[i].task;
		answers_of[logins_ask(door.logins, &login, &callers[i].waiter, &wait_s)]++;
	}
	/* The thread may have been done with one before the next one asked. */
	UNIT_ROW(answers_of[LOGIN_WAITS] >= 1 && answers_of[LOGIN_WAITS] + answers_of[LOGIN_HURRIED] == COUNT(callers), "%u wait",
		answers_of[LOGIN_WAITS]);
	for (size_t i = 0; i < COUNT(callers); i++) {
		logins_leave(door.logins, &callers[i].waiter);
		loop_forget(door.loop, &callers[i].task);
	}
	close_door(&door);
}

/* A guess that loses its place to another address does not count: each address has its twenty. A newcomer is let in. */
static void displaced(void)
{
	enum { ADDRESSES = 5, MANY = (ADDRESSES - 1) * GUESSES, CALLERS = MANY + 1 };
	static struct caller callers[CALLERS];
	bool waits[CALLERS];
	char names[CALLERS][8];
	unsigned wait_s, waiting = 0, busy = 0, wrong[ADDRESSES] = { 0 };
	struct door door;

	open_door(&door, USERS);
	pthread_mutex_lock(&gate);
	for (unsigned i = 0; i < CALLERS; i++) {
		struct credentials given;
		struct ip ip = from(i / GUESSES);
		const struct login login = { &door.conf->users, &given, &ip, SECOND };
		enum login_answer answer;

		snprintf(names[i], sizeof names[i], "n%u", i);
		give(&given, i < MANY ? names[i] : "bob", "x");
		callers[i] = (struct caller){ .task.run = on_verified, .loop = door.loop, .waiter.at = { .loop = door.loop, .task = &callers[i].task } };
		answer = logins_ask(door.logins, &login, &callers[i].waiter, &wait_s);
		UNIT_ROW(answer == LOGIN_WAITS || (answer == LOGIN_BUSY && i < MANY), "%u: %d", i, answer);
		waits[i] = answer == LOGIN_WAITS;
		waiting += waits[i];
		busy += !waits[i];
	}
	pthread_mutex_unlock(&gate);
	while (waiting) {
		if (loop_run(door.loop))
			abort();
		for (unsigned i = 0; i < CALLERS; i++) {
			enum login_answer answer = waits[i] ? logins_told(door.logins, &callers[i].waiter, SECOND) : LOGIN_WAITS;

			if (answer == LOGIN_WAITS)
				continue;
			waits[i] = false;
			waiting--;
			busy += answer == LOGIN_BUSY;
			wrong[i / GUESSES] += answer == LOGIN_WRONG;
			UNIT_ROW(answer == (i < MANY ? LOGIN_WRONG : LOGIN_RIGHT) || (answer == LOGIN_BUSY && i < MANY), "%u: %d", i, answer);
		}
	}
	for (unsigned i = 0; i < CALLERS; i++)
		loop_forget(door.loop, &callers[i].task);
	UNIT_ROW(busy == 16 || busy == 17, "64 places and what is compared, for 81: %u refused", busy);
	for (unsigned address = 0; address < ADDRESSES - 1; address++) {
		UNIT_ROW(wrong[address] >= 14 && wrong[address] <= 17, "places of address %u: %u", address, wrong[address]);
		while (ask(&door, "alice", "guess", address, SECOND, &wait_s) == LOGIN_WRONG)
			wrong[address]++;
		UNIT_ROW(wrong[address] == GUESSES, "guesses of address %u: %u", address, wrong[address]);
	}
	close_door(&door);
}

UNIT_SUITE(logins, { "answers", answers }, { "remembered", remembered }, { "crowd", crowd }, { "guessed", guessed }, { "besieged", besieged },
	{ "together", together }, { "displaced", displaced })
