/* Who may pass; see logins.h. */
#include "proxy/settings/logins.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "proxy/base/hash.h"
#include "proxy/settings/client_rate.h"

enum { LOGINS_WAYS = 8, LOGINS_SETS = 512, LOGINS_LOCKS = 32, LOGINS_QUEUE_MAX = 64 };

/* Twenty wrong guesses at once and two a minute; where the name is guessed at from many addresses, one in ten minutes.
 * The two have the same brim, so that one bucket serves both. */
static const struct client_rate_limit guesses = { 120, 20 }, guesses_besieged = { 6, 1 };
/* Of one name, from all addresses together. */
static const struct client_rate_limit guesses_of_name = { 600, 100 };

struct remembered {
	uint64_t key[2];
	uint64_t until_ms;
};

struct logins {
	atomic_uint refs;
	uint64_t secrets[2][2];
	struct client_rate *wrong;     /* buckets of addresses and names */
	struct verifier *verifier;
	pthread_mutex_t locks[LOGINS_LOCKS];   /* number n guards the sets n, n + LOGINS_LOCKS and so on */
	struct remembered sets[LOGINS_SETS][LOGINS_WAYS];
};

struct logins *logins_new(void)
{
	struct logins *logins = calloc(1, sizeof *logins);

	if (!logins || getrandom(logins->secrets, sizeof logins->secrets, 0) != sizeof logins->secrets ||
	    !(logins->wrong = client_rate_new()) || !(logins->verifier = verifier_new(LOGINS_QUEUE_MAX))) {
		if (logins)
			client_rate_unref(&logins->wrong);
		free(logins);
		return NULL;
	}
	atomic_init(&logins->refs, 1);
	for (int i = 0; i < LOGINS_LOCKS; i++)
		pthread_mutex_init(&logins->locks[i], NULL);
	return logins;
}

struct logins *logins_ref(struct logins *logins)
{
	atomic_fetch_add_explicit(&logins->refs, 1, memory_order_relaxed);
	return logins;
}

void logins_unref(struct logins **lp)
{
	struct logins *logins = *lp;

	*lp = NULL;
	if (!logins || atomic_fetch_sub_explicit(&logins->refs, 1, memory_order_acq_rel) > 1)
		return;
	verifier_free(&logins->verifier);
	client_rate_unref(&logins->wrong);
	for (int i = 0; i < LOGINS_LOCKS; i++)
		pthread_mutex_destroy(&logins->locks[i]);
	explicit_bzero(logins, sizeof *logins);
	free(logins);
}

/* The keyed hash, of 128 bits, of a name, a password and the hash that the file has for the name: a changed file
 * makes another one. */
static void login_key(const struct logins *logins, const struct credentials *given, const char *hash, uint64_t key[2])
{
	char text[CREDENTIALS_NAME_MAX + CREDENTIALS_PASSWORD_MAX + 512];
	size_t hash_len = strlen(hash), len = 0;

	memcpy(text, given->name, given->name_len + 1);        /* no name has a zero byte */
	len += given->name_len + 1;
	memcpy(text + len, given->password, given->password_len + 1);
	len += given->password_len + 1;
	if (hash_len > sizeof text - len)
		hash_len = sizeof text - len;
	memcpy(text + len, hash, hash_len);
	len += hash_len;
	key[0] = hash_sip(logins->secrets[0], text, len);
	key[1] = hash_sip(logins->secrets[1], text, len);
	explicit_bzero(text, len);
}

/* The set of a key, whose lock is taken. */
static struct remembered *logins_lock(struct logins *logins, const uint64_t key[2])
{
	size_t set = key[0] % LOGINS_SETS;

	pthread_mutex_lock(&logins->locks[set % LOGINS_LOCKS]);
	return logins->sets[set];
}

static void logins_unlock(struct logins *logins, const uint64_t key[2])
{
	pthread_mutex_unlock(&logins->locks[key[0] % LOGINS_SETS % LOGINS_LOCKS]);
}

/* Looks at all of the set, whatever is found. */
static bool logins_remember(struct logins *logins, const uint64_t key[2], uint64_t now_ms)
{
	const struct remembered *set = logins_lock(logins, key);
	bool found = false;

	for (int i = 0; i < LOGINS_WAYS; i++)
		found |= !((set[i].key[0] ^ key[0]) | (set[i].key[1] ^ key[1])) & (set[i].until_ms > now_ms);
	logins_unlock(logins, key);
	return found;
}

/* In the place of the one that is forgotten first. */
static void logins_note(struct logins *logins, const uint64_t key[2], uint64_t now_ms)
{
	struct remembered *set = logins_lock(logins, key), *first = set;

	for (int i = 1; i < LOGINS_WAYS; i++)
		if (set[i].until_ms < first->until_ms)
			first = &set[i];
	*first = (struct remembered){ { key[0], key[1] }, now_ms + LOGINS_REMEMBERED_MS };
	logins_unlock(logins, key);
}

/* A name that no user has is compared with the hash of some user, always of the same one. So it takes as long. */
static const struct conf_user *login_like(const struct login *login, uint64_t name)
{
	return &login->users->items[name % login->users->count];
}

/* The guess does not count after all. */
static void login_give_back(struct logins *logins, const struct login_waiter *waiter)
{
	if (waiter->paid)
		client_rate_give_back(logins->wrong, waiter->paid, waiter->address);
}

/* The guess counts before it is compared, so that many at a time do not pass: a right one is given back. */
static enum login_answer login_ask(struct logins *logins, const struct verifier_question *question, uint64_t now_us,
    struct login_waiter *waiter, unsigned *wait_s)
{
	enum verifier_answer answer;
	bool besieged = client_rate_is_full(logins->wrong, &guesses_of_name, waiter->name, now_us);

	waiter->paid = besieged ? &guesses_besieged : &guesses;
	if (!client_rate_ask_key(logins->wrong, waiter->paid, waiter->address, now_us, wait_s))
		return LOGIN_HURRIED;
	answer = verifier_ask(logins->verifier, question, &waiter->at);
	if (answer == VERIFIER_WAITS)
		return LOGIN_WAITS;
	login_give_back(logins, waiter);
	return answer == VERIFIER_FULL ? LOGIN_BUSY : LOGIN_NO_MEMORY;
}

/* Finds who may be meant, and what is to be compared. */
static const struct conf_user *login_read(const struct logins *logins, const struct login *login, uint64_t *name,
    struct verifier_question *question)
{
	const struct credentials *given = login->given;
	const struct conf_user *user = conf_user_find(login->users, given->name, given->name_len);

	*name = hash_keyed(given->name, given->name_len);
	*question = (struct verifier_question){ .password = given->password, .password_len = given->password_len,
		.hash = (user ? user : login_like(login, *name))->hash };
	login_key(logins, given, question->hash, question->key);
	return user;
}

const struct conf_user *logins_known(struct logins *logins, const struct login *login)
{
	struct verifier_question question;
	uint64_t name;
	const struct conf_user *user = login_read(logins, login, &name, &question);

	return logins_remember(logins, question.key, login->now_ms) ? user : NULL;
}

enum login_answer logins_ask(struct logins *logins, const struct login *login, struct login_waiter *waiter,
    unsigned *wait_s)
{
	struct verifier_question question;

	waiter->user = login_read(logins, login, &waiter->name, &question);
	question.asker = waiter->address = client_rate_key(login->client);
	waiter->paid = NULL;
	memcpy(waiter->key, question.key, sizeof waiter->key);
	if (verifier_join(logins->verifier, &question, &waiter->at))
		return LOGIN_WAITS;
	return login_ask(logins, &question, login->now_ms * 1000, waiter, wait_s);
}

enum login_answer logins_told(struct logins *logins, struct login_waiter *waiter, uint64_t now_ms)
{
	unsigned ignored;
	enum verifier_answer answer = verifier_told(logins->verifier, &waiter->at);

	if (answer == VERIFIER_WAITS)
		return LOGIN_WAITS;
	if (answer == VERIFIER_FULL) {
		login_give_back(logins, waiter);
		return LOGIN_BUSY;
	}
	if (answer == VERIFIER_RIGHT && waiter->user) {
		logins_note(logins, waiter->key, now_ms);
		login_give_back(logins, waiter);
		return LOGIN_RIGHT;
	}
	if (waiter->paid)
		(void)client_rate_ask_key(logins->wrong, &guesses_of_name, waiter->name, now_ms * 1000, &ignored);
	return LOGIN_WRONG;
}

void logins_leave(struct logins *logins, struct login_waiter *waiter)
{
	verifier_leave(logins->verifier, &waiter->at);
}
