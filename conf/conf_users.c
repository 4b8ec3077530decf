/* Owns the users of client-auth: reading their file, finding one, and the warning that passwords go unencrypted.
 * Must not know: how a password is compared with its hash.
 * Invariant: a user's hash is of a kind that password.c takes, and takes seconds at most. No message has anything of a
 * hash, nor of a line without a colon, which may be a password. */
#include "conf/conf_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define USERS_HASHES \
	"write bcrypt (htpasswd -B), yescrypt or SHA-512 (mkpasswd), or Argon2id"

enum {
	USERS_FILE_MAX = 4 << 20, USERS_NAME_MAX = 255, USERS_HASH_MAX = 255,
	USERS_COST_MAX = 15,           /* of bcrypt: some 2 s */
	USERS_ROUNDS_MAX = 5000000,    /* of SHA-512: likewise */
	USERS_YESCRYPT_MAX = 9,        /* as mkpasswd counts: USERS_KIB_MAX */
	USERS_KIB_MAX = 256 << 10,     /* of memory, for yescrypt (some 1 s) and Argon2id */
	USERS_PASSES_MAX = 4,          /* of Argon2id over that much: likewise */
	USERS_LANES_MAX = 16           /* of Argon2id: a thread each */
};

static bool hash_begins(const char *hash, const char *with)
{
	return !strncmp(hash, with, strlen(with));
}

static bool bcrypt_is_endless(const char *hash)
{
	return !isdigit((unsigned char)hash[4]) || strtoul(hash + 4, NULL, 10) > USERS_COST_MAX;
}

static bool sha512_is_endless(const char *hash)
{
	return hash_begins(hash, "$6$rounds=") && strtoul(hash + 10, NULL, 10) > USERS_ROUNDS_MAX;
}

/* $y$jNR$: 2^N blocks of R times 128 bytes, each a digit that counts from 1. Other parameters are none of
 * crypt_gensalt(). */
static bool yescrypt_is_endless(const char *hash)
{
	static const char digits[] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij";
	const char *blocks = strchr(digits, hash[4]), *factor = strchr(digits, hash[5]);

	if (!hash_begins(hash, "$y$j") || !blocks || !factor || hash[6] != '$')
		return true;
	return ((uint64_t)(factor - digits + 1) * 128) << (blocks - digits + 1) > (uint64_t)USERS_KIB_MAX << 10;
}

#ifdef HAVE_ARGON2
static bool argon2_is_endless(const char *hash)
{
	unsigned long kib, passes, lanes;

	if (sscanf(hash, "$argon2id$v=19$m=%9lu,t=%9lu,p=%9lu$", &kib, &passes, &lanes) != 3)
		return true;
	return kib > USERS_KIB_MAX || (uint64_t)kib * passes > (uint64_t)USERS_KIB_MAX * USERS_PASSES_MAX ||
	    lanes > USERS_LANES_MAX;
}
#endif

/* The kinds of hashes, the least that each has, and whether one takes so long that nobody can wait for it. */
static const struct hash_kind {
	const char *begins;
	size_t least, most;
	bool (*is_endless)(const char *hash);
} hash_kinds[] = {
	{ "$2a$", 60, 60, bcrypt_is_endless },
	{ "$2b$", 60, 60, bcrypt_is_endless },
	{ "$2y$", 60, 60, bcrypt_is_endless },
	{ "$6$", 90, USERS_HASH_MAX, sha512_is_endless },
	{ "$y$", 50, USERS_HASH_MAX, yescrypt_is_endless },
#ifdef HAVE_ARGON2
	{ "$argon2id$", 60, USERS_HASH_MAX, argon2_is_endless },
#endif
};

/* NULL: it is of none. */
static const struct hash_kind *hash_kind(const char *hash)
{
	size_t len = strlen(hash);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)hash[i]) && !strchr("$./+=,-", hash[i]))
			return NULL;
	for (const struct hash_kind *kind = hash_kinds; kind < hash_kinds + sizeof hash_kinds / sizeof *kind; kind++)
		if (hash_begins(hash, kind->begins))
			return len >= kind->least && len <= kind->most ? kind : NULL;
	return NULL;
}

/* strndup() takes what is terminated, which a file's text is not. NULL: out of memory. */
static char *users_copy(const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	if (copy) {
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	return copy;
}

static int users_add(struct conf_users *users, const char *name, size_t name_len, const char *hash, size_t hash_len,
    struct conf_error *error)
{
	struct conf_user *grown = reallocarray(users->items, users->count + 1, sizeof *grown), *user;

	if (!grown)
		return conf_fail_memory(error);
	users->items = grown;
	user = &grown[users->count++];
	*user = (struct conf_user){ .name = users_copy(name, name_len), .name_len = name_len,
		.hash = users_copy(hash, hash_len) };
	return user->name && user->hash ? 0 : conf_fail_memory(error);
}

/* Judges the user that was added last. */
static int users_judge(const struct conf_users *users, struct conf_error *error)
{
	const struct conf_user *user = &users->items[users->count - 1];
	const struct hash_kind *kind = hash_kind(user->hash);

	for (size_t i = 0; i < user->name_len; i++)
		if ((unsigned char)user->name[i] < 0x20 || user->name[i] == 0x7f)
			return conf_fail(error, "the name has a control character; write the name without it");
	if (!kind)
		return conf_fail(error, "the hash of '%s' is not of a kind that utfeed takes; " USERS_HASHES,
		    SHOWN(user->name));
	if (kind->is_endless(user->hash))
		return conf_fail(error,
		    "the hash of '%s' takes too long; write one with a cost of at most %d for bcrypt or %d for "
		    "yescrypt, %d rounds for SHA-512, or %d MiB, %d passes and %d threads for Argon2id",
		    SHOWN(user->name), USERS_COST_MAX, USERS_YESCRYPT_MAX, USERS_ROUNDS_MAX, USERS_KIB_MAX >> 10,
		    USERS_PASSES_MAX, USERS_LANES_MAX);
	return 0;
}

/* A blank line and one that begins with # say nothing. */
static int users_read_line(struct conf_users *users, const char *line, size_t len, size_t number,
    struct conf_error *error)
{
	const char *colon;
	size_t name_len;

	while (len && isspace((unsigned char)line[len - 1]))
		len--;
	if (!len || *line == '#')
		return 0;
	colon = memchr(line, ':', len);
	name_len = colon ? (size_t)(colon - line) : 0;
	if (!name_len || name_len > USERS_NAME_MAX || memchr(line, '\0', len))
		return conf_fail(error, "is not NAME:HASH; htpasswd -nB NAME writes such a line");
	if (users_add(users, line, name_len, colon + 1, len - name_len - 1, error))
		return -1;
	users->items[users->count - 1].line = number;
	return users_judge(users, error);
}

static int users_order(const char *name, size_t len, const char *other, size_t other_len)
{
	int order = memcmp(name, other, len < other_len ? len : other_len);

	return order ? order : (len > other_len) - (len < other_len);
}

static int compare_users(const void *left, const void *right)
{
	const struct conf_user *user = left, *other = right;
	int order = users_order(user->name, user->name_len, other->name, other->name_len);

	return order ? order : (user->line > other->line) - (user->line < other->line);
}

static void users_note(struct conf *conf, const char *file, size_t number, struct conf_error *error)
{
	char place[320];

	snprintf(place, sizeof place, "%.280s:%zu", file, number);
	conf_fail_in(error, place);
	conf_note_error(conf, error);
}

static void users_find_twins(struct conf *conf, const char *file)
{
	struct conf_error error;

	for (size_t i = 1; i < conf->users.count; i++) {
		const struct conf_user *user = &conf->users.items[i], *before = user - 1;

		if (users_order(user->name, user->name_len, before->name, before->name_len))
			continue;
		conf_fail(&error, "'%s' is in line %zu too; write one line for each name", SHOWN(user->name),
		    before->line);
		users_note(conf, file, user->line, &error);
	}
}

void conf_users_parse(struct conf *conf, const char *file, const char *text, size_t len)
{
	struct conf_error error;
	size_t number = 0;

	for (const char *at = text, *end = text + len, *stop; at < end; at = stop + 1) {
		if (!(stop = memchr(at, '\n', (size_t)(end - at))))
			stop = end;
		if (users_read_line(&conf->users, at, (size_t)(stop - at), ++number, &error))
			users_note(conf, file, number, &error);
	}
	if (conf->users.count)
		qsort(conf->users.items, conf->users.count, sizeof *conf->users.items, compare_users);
	users_find_twins(conf, file);
}

void conf_users_read(struct conf *conf)
{
	struct conf_place place = conf_place(conf, NULL, "client-auth");
	size_t errors = conf->notes.errors, len;
	struct conf_error error;
	struct stat about;
	char *text;

	if (!*conf->client_auth)
		return;
	if (strchr(conf->client_auth, ':') && !strchr(conf->client_auth, '/')) {
		conf_fail(&error, "%s: what stands here is not the name of a file; write one whose lines are "
		    "NAME:HASH, which htpasswd -nB NAME makes", place.text);
		conf_note_error(conf, &error);
		return;
	}
	if (!(text = conf_read(conf->client_auth, USERS_FILE_MAX, &about, &len))) {
		conf_fail(&error, "%s: %.200s cannot be read: %s; write the name of a file that utfeed may read",
		    place.text, conf->client_auth, strerror(errno));
		conf_note_error(conf, &error);
		return;
	}
	if (about.st_mode & S_IROTH)
		conf_warn(conf, "%s: everybody on this machine may read %.200s (mode %04o); chmod 640 it", place.text,
		    conf->client_auth, (unsigned)about.st_mode & 07777);
	conf_users_parse(conf, conf->client_auth, text, len);
	free(text);
	if (conf->users.count || conf->notes.errors > errors)
		return;
	conf_fail(&error, "%s: %.200s names nobody, so that nobody could ask; htpasswd -nB NAME writes a line for it",
	    place.text, conf->client_auth);
	conf_note_error(conf, &error);
}

void conf_users_clear(struct conf_users *users)
{
	while (users->count) {
		free(users->items[--users->count].name);
		free(users->items[users->count].hash);
	}
	free(users->items);
	*users = (struct conf_users){ NULL, 0 };
}

const struct conf_user *conf_user_find(const struct conf_users *users, const char *name, size_t len)
{
	size_t from = 0, to = users->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const struct conf_user *user = &users->items[middle];
		int order = users_order(name, len, user->name, user->name_len);

		if (!order)
			return user;
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

void conf_users_warn(struct conf *conf)
{
	struct ip ip;

	for (size_t i = 0; conf->users.count && i < conf->listen.count; i++) {
		const char *host = conf->listen.items[i].host;

		if (!host || !ip_parse(host, strlen(host), &ip) || ip_is_loopback(&ip))
			continue;
		conf_warn(conf,
		    "%s: passwords (client-auth) come to %s without TLS, so anybody on the way can read them; write "
		    "tls-listen in the place of listen, or put a web server with TLS in front",
		    conf_place(conf, NULL, "listen").text, host);
		return;
	}
}
