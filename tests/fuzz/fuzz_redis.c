/* Owns feeding arbitrary bytes to the Redis store as what its server says, over a socket, while lookups, entries, removals, purges and a
 * settlement wait for it; by the first byte as they stand, or as the record that a lookup finds, its checksum put right.
 * Invariants: everybody who waits is answered, with an entry of his key or none; what is owed then is told to the next, honest server,
 * until which the store does not end. */
#include "proxy/base/hash.h"
#include "proxy/base/log.h"
#include "proxy/store/entry.h"
#include "proxy/store/store_redis.h"

#include <endian.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEY "http://a/\nk"
enum { RECORD = 1, PIECES = 2, PREFIXES = 4, SOFT = 8, GREETING = 16 };        /* bits of the first byte */

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static int listener;
struct script { unsigned how; size_t len; uint8_t bytes[]; };

static _Atomic(struct script *) script;        /* what the next connection is told, by whoever takes it; NULL: it is an honest one */
static atomic_int connections;
static atomic_bool said;                       /* it was told */
static struct loop *loop;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool say(int fd, const void *bytes, size_t len)
{
	return send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/* The length of the line at *at of the commands, and its number behind the mark; -1: it is not whole. */
static long number_line(const char *bytes, size_t len, size_t *at)
{
	const char *end = *at < len ? memchr(bytes + *at, '\n', len - *at) : NULL;
	long n;

	if (!end)
		return -1;
	n = strtol(bytes + *at + 1, NULL, 10);
	*at = (size_t)(end - bytes) + 1;
	return n;
}

/* Of the first whole command: its length, its name; 0: there is none yet. */
static size_t command_read(const char *bytes, size_t len, const char **name)
{
	size_t at = 0;
	long words = number_line(bytes, len, &at);

	for (long i = 0; i < words; i++) {
		long n = number_line(bytes, len, &at);

		if (n < 0 || at + (size_t)n + 2 > len)
			return 0;
		*name = i ? *name : bytes + at;
		at += (size_t)n + 2;
	}
	return words < 0 ? 0 : at;
}

/* Of the scripts: what the server remembers is that it remembers. */
static bool answer_script(int fd, const char *command, size_t len)
{
	static const char none[] = "0-0\r\n:1\r\n*0\r\n", known[] = "1-0\r\n:1\r\n*0\r\n", mark[] = "*1\r\n*2\r\n$3\r\n1-0\r\n*12\r\n"
		"$1\r\nw\r\n$1\r\nb\r\n$1\r\ns\r\n$0\r\n\r\n$1\r\nn\r\n$1\r\n0\r\n$1\r\np\r\n$1\r\n1\r\n$1\r\na\r\n$1\r\n0\r\n$1\r\nu\r\n$0\r\n\r\n";

	if (memmem(command, len, "utfeed put", 10))
		return say(fd, ":1\r\n", 4);
	if (memmem(command, len, "utfeed mark", 11))
		return say(fd, "$3\r\n1-0\r\n", 9);
	return say(fd, "*6\r\n$3\r\n", 8) && (memmem(command, len, "\r\n0-0\r\n", 7) ? say(fd, none, sizeof none - 1) : say(fd, known, sizeof known - 1)) &&
		say(fd, mark, sizeof mark - 1) && say(fd, "*0\r\n$1\r\n0\r\n", 11);
}

static bool answer_honestly(int fd, const char *name, const char *command, size_t len)
{
	static const char scanned[] = "*2\r\n$1\r\n0\r\n*0\r\n", nothing[] = "*3\r\n$-1\r\n$-1\r\n$-1\r\n", one[] = ":1\r\n", pong[] = "+PONG\r\n";

	if (name[0] == 'E' && name[1] == 'V')
		return answer_script(fd, command, len);
	switch (name[0] == 'H' ? name[1] : name[0]) {
	case 'P': return say(fd, pong, sizeof pong - 1);
	case 'S': return name[1] == 'C' ? say(fd, scanned, sizeof scanned - 1) : say(fd, one, sizeof one - 1);
	case 'M': return say(fd, nothing, sizeof nothing - 1);
	default: return say(fd, one, sizeof one - 1);
	}
}

static void say_script(int fd, struct script *s)
{
	size_t half = s->how & PIECES ? s->len / 2 : 0;

	if (say(fd, s->bytes, half))
		say(fd, s->bytes + half, s->len - half);
	free(s);
	said = true;
}

static void set_script(const uint8_t *bytes, size_t len, unsigned how)
{
	struct script *s = malloc(sizeof *s + len);

	require(s != NULL);
	s->how = how;
	s->len = len;
	if (len)
		memcpy(s->bytes, bytes, len);
	connections = 0;
	said = false;
	free(atomic_exchange(&script, s));
}

/* One connection: honest to its end, or until the lookup came; the greeting may be part of the script. */
static void converse(int fd)
{
	static char bytes[1 << 20];
	size_t len = 0, used;
	const char *name = NULL;
	struct script *mine = atomic_exchange(&script, NULL);
	ssize_t n;

	if (mine && mine->how & GREETING) {
		say_script(fd, mine);
		return;
	}
	while ((n = recv(fd, bytes + len, sizeof bytes - len, 0)) > 0) {
		len += (size_t)n;
		while ((used = command_read(bytes, len, &name)) != 0) {
			if (mine && name[0] == 'H' && name[1] == 'M') {
				say_script(fd, mine);
				return;
			}
			if (!answer_honestly(fd, name, bytes, used))
				break;
			memmove(bytes, bytes + used, len -= used);
		}
		if (used)
			break;
	}
	free(mine);
}

static void *serve(void *arg)
{
	(void)arg;
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			continue;
		connections++;
		converse(fd);
		close(fd);
	}
	return NULL;
}

static void start(void)
{
	pthread_t thread;

	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LEVEL_ERROR);
	snprintf(address.sun_path, sizeof address.sun_path, "/tmp/utfeed-fuzz-redis-%d", getpid());
	unlink(address.sun_path);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	require(listener >= 0 && !bind(listener, (struct sockaddr *)&address, sizeof address) && !listen(listener, 16));
	require((loop = loop_new()) != NULL);
	require(!pthread_create(&thread, NULL, serve, NULL));
	pthread_detach(thread);
}

struct waiter { struct store_wait wait; bool answered; };

static void on_got(struct store_wait *w, struct entry *e)
{
	((struct waiter *)(void *)w)->answered = true;
	if (e) {
		require(e->key_len == sizeof KEY - 1 && !memcmp(e->key, KEY, e->key_len) && (e->vary || e->object));
		require(!e->object || (object_phase(e->object) == OBJECT_DONE && e->head));
	}
	entry_unref(&e);
	loop_stop(w->loop);
}

static void wait_for(struct waiter *w)
{
	while (!w->answered)
		require(!loop_run(loop));
}

/* Until the server is there, or has gone again: false. */
static bool look_up(struct store *s, struct waiter *w)
{
	struct entry *e;

	for (int tries = 0; tries < 20000; tries++) {
		*w = (struct waiter){ .wait = { .loop = loop, .got = on_got } };
		if (s->ops->get(s, KEY, sizeof KEY - 1, &e, &w->wait) == STORE_WAIT)
			return true;
		if (said)
			return false;
		usleep(20);
	}
	return false;
}

static bool is_owed(struct store *s)
{
	struct waiter w = { .wait = { .loop = loop, .got = on_got } };

	require(s->ops->settle(s, &w.wait) == SETTLING_WAIT);
	wait_for(&w);
	return w.wait.owed;
}

static void ask(struct store *s, unsigned how)
{
	static const struct freshness freshness = { .response_time = 1000, .lifetime_s = 3600 };
	struct entry_parts names = { .vary = strdup("accept"), .freshness = &freshness };
	struct entry *e = entry_new(KEY, sizeof KEY - 1, &names);

	require(e != NULL);
	s->ops->put(s, e);
	entry_unref(&e);
	s->ops->remove(s, KEY "x", sizeof KEY);
	s->ops->purge(s, how & PREFIXES ? PURGE_PREFIX : PURGE_URL, "http://b/", 9, how & SOFT, 2000);
}

static void run(const uint8_t *bytes, size_t len, unsigned how)
{
	const struct conf_redis where = { .path = address.sun_path };
	struct redis_settings settings = { .where = &where, .prefix = "p:", .timeout_ms = 1000 };
	struct waiter first, second;
	struct store *s;
	bool waits, again;

	set_script(bytes, len, how);
	require((s = store_redis_new(&settings)) != NULL);
	waits = look_up(s, &first);
	ask(s, how);
	again = waits && look_up(s, &second);
	if (waits)
		wait_for(&first);
	if (again)
		wait_for(&second);
	/* The server has closed behind its script: whatever it said, that is noticed; it may be back already. */
	while (connections < 2 && !is_owed(s))
		usleep(20);
	s->ops->free(s);
}

/* *3, the record, and two marks that are not there. */
static void run_record(const uint8_t *data, size_t size, unsigned how)
{
	static const char begin[] = { 'u', 't', 'f', 'e', 'e', 'd', '\r', '\n', ENTRY_FORMAT, 0, 0, 0 }, mark[] = "\r\n$-1\r\n$-1\r\n";
	char head[40];
	size_t record = sizeof begin + size + sizeof(uint64_t);
	size_t n = (size_t)snprintf(head, sizeof head, "*3\r\n$%zu\r\n", record), len = n + record + sizeof mark - 1;
	uint8_t *whole = malloc(len);
	uint64_t sum;

	require(whole != NULL);
	memcpy(whole, head, n);
	memcpy(whole + n, begin, sizeof begin);
	if (size)
		memcpy(whole + n + sizeof begin, data, size);
	sum = htole64(hash_xx64(whole + n, sizeof begin + size));
	memcpy(whole + n + sizeof begin + size, &sum, sizeof sum);
	memcpy(whole + len - (sizeof mark - 1), mark, sizeof mark - 1);
	run(whole, len, how);
	free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool started;

	if (!started)
		start();
	started = true;
	if (!size)
		return 0;
	if (data[0] & RECORD)
		run_record(data + 1, size - 1, data[0] & ~(unsigned)GREETING);
	else
		run(data + 1, size - 1, data[0]);
	return 0;
}
