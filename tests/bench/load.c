/* Owns the load of `make bench`: HTTP/1.1 GETs over many connections from one thread, every answer checked by status and length,
 * latency as a histogram. Must not know: which server answers.
 * With -r requests fall due at a fixed rate whatever the answers do, and latency runs from when one was due: a stall counts for
 * every request it held up, not for one (no coordinated omission).
 *
 * usage: load [options] PORT PATH...    of 127.0.0.1, several in turn; one JSON object on standard output
 *   -c N  connections (64)           -d S  seconds (2), or -N N  so many requests
 *   -n N  ask for PATH?0 to PATH?N-1, in a scattered order
 *   -p N  requests in flight on each connection, sent in one write
 *   -r N  so many a second            -k    Connection: close
 *   -i N  connections more that made one request each and stay open, idle
 *   -H F  a field line more           -l    lengths may differ: what is compressed as it comes depends on when it came
 * Once all connections are open it prints "ready" and waits for a line on standard input. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_MAX = 4096, EVENTS = 256, SECOND = 1000000000, TEXT_MAX = 1024, PIPELINE_MAX = 64, PATHS_MAX = 64, SCATTER = 7919 };

enum state { HEAD, BODY, BODY_TO_END, CHUNK_LINE, CHUNK, TRAILERS };

struct conn {
	int fd;
	enum state state;
	bool chunked;
	unsigned in_flight, path;      /* path: which is asked for, where there are several */
	int status;
	uint64_t left, length;         /* of the body or chunk; of the body so far */
	uint64_t due;                  /* of the oldest request in flight */
	size_t head_len;
	char head[HEAD_MAX];           /* a head, a chunk's line or a trailer that is not whole yet */
};

/* Logarithmic with 128 steps to the power of two: under 1 % wide. */
enum { STEP_BITS = 7, STEPS = 1 << STEP_BITS, BUCKETS = STEPS * (64 - STEP_BITS) };

static struct {
	uint64_t requests, errors, bytes, length[PATHS_MAX];
	int status[PATHS_MAX];
	uint64_t latency[BUCKETS], slowest;
} seen;

static struct {
	uint64_t connections, objects, pipeline, rate, idle, limit;
	double seconds;
	bool close, lengths_differ;
	const char *field;
	uint16_t port;
	unsigned paths;
	char **path;
} want = { .connections = 64, .pipeline = 1, .seconds = 2, .field = "" };

static int poller;
static uint64_t sent;
static char input[256 << 10];

static void fail(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static size_t bucket(uint64_t ns)
{
	unsigned shift;

	if (ns < STEPS)
		return ns;
	shift = 63 - (unsigned)__builtin_clzll(ns) - STEP_BITS;
	return (size_t)(shift + 1) * STEPS + (size_t)(ns >> shift) - STEPS;
}

static uint64_t bucket_value(size_t at)
{
	unsigned shift = (unsigned)(at / STEPS);

	return shift ? (uint64_t)(at % STEPS + STEPS) << (shift - 1) : at;
}

static double quantile(double part)
{
	uint64_t rank = (uint64_t)((double)seen.requests * part), count = 0;

	for (size_t i = 0; i < BUCKETS; i++) {
		count += seen.latency[i];
		if (count > rank)
			return (double)bucket_value(i) / 1e3;
	}
	return (double)seen.slowest / 1e3;
}

static void conn_open(struct conn *c)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(want.port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct epoll_event event = { .events = EPOLLIN, .data = { .ptr = c } };
	int on = 1;

	c->state = HEAD;
	c->head_len = 0;
	c->in_flight = 0;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0)
		fail("connect");
	if (!want.close)                       /* one small write a connection is never held back */
		setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event) != 0)
		fail("epoll_ctl");
}

static void conn_reopen(struct conn *c)
{
	close(c->fd);
	conn_open(c);
}

static void conn_request(struct conn *c, unsigned count, uint64_t due)
{
	char text[PIPELINE_MAX * TEXT_MAX], query[24] = "";
	size_t len = 0;

	c->path = (unsigned)(sent % want.paths);
	for (unsigned i = 0; i < count; i++, sent++) {
		if (want.objects)
			snprintf(query, sizeof query, "?%" PRIu64, sent * SCATTER % want.objects);
		len += (size_t)snprintf(text + len, TEXT_MAX, "GET %s%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s%s\r\n", want.path[c->path],
		    query, want.port, want.field, want.close ? "Connection: close\r\n" : "");
	}
	c->in_flight += count;
	c->due = due;
	if (send(c->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len) {
		seen.errors += c->in_flight;
		conn_reopen(c);
	}
}

static void answer_done(struct conn *c)
{
	uint64_t took = now() - c->due;

	if (!seen.status[c->path]) {
		seen.status[c->path] = c->status;
		seen.length[c->path] = c->length;
	} else if (c->status != seen.status[c->path] || (c->length != seen.length[c->path] && !want.lengths_differ)) {
		seen.errors++;
	}
	seen.requests++;
	seen.bytes += c->length;
	seen.latency[bucket(took)]++;
	if (took > seen.slowest)
		seen.slowest = took;
	c->in_flight--;
	c->state = HEAD;
	c->head_len = 0;
}

static bool is_field(const char *line, const char *name, const char **value)
{
	size_t len = strlen(name);

	if (strncasecmp(line, name, len) != 0 || line[len] != ':')
		return false;
	*value = line + len + 1;
	return true;
}

static void head_read(struct conn *c)
{
	const char *line = c->head, *value;
	bool has_length = false;

	c->head[c->head_len - 1] = '\0';
	c->status = atoi(c->head + strlen("HTTP/1.1 "));
	c->length = c->left = 0;
	c->chunked = false;
	while ((line = strchr(line, '\n')) != NULL) {
		line++;
		if (is_field(line, "content-length", &value)) {
			c->left = strtoull(value, NULL, 10);
			has_length = true;
		} else if (is_field(line, "transfer-encoding", &value)) {
			c->chunked = true;
		}
	}
	c->head_len = 0;
	c->state = c->chunked ? CHUNK_LINE : has_length ? BODY : BODY_TO_END;
	if (has_length && !c->left)
		answer_done(c);
}

/* Adds what belongs to the head or line; how much was taken. *whole: `end` was reached. */
static size_t collect(struct conn *c, const char *at, size_t len, const char *end, bool *whole)
{
	size_t before = c->head_len, take = len < HEAD_MAX - before ? len : HEAD_MAX - before, end_len = strlen(end);
	size_t from = before < end_len ? 0 : before - end_len;
	const char *found;

	memcpy(c->head + before, at, take);
	c->head_len += take;
	found = memmem(c->head + from, c->head_len - from, end, end_len);
	*whole = found != NULL;
	if (!found) {
		if (c->head_len == HEAD_MAX)
			fail("a head of more than 4096 bytes");
		return take;
	}
	c->head_len = (size_t)(found - c->head) + end_len;
	return c->head_len - before;
}

static size_t chunk_line(struct conn *c, const char *at, size_t len)
{
	bool whole;
	size_t used = collect(c, at, len, "\n", &whole);

	if (!whole)
		return used;
	if (c->state == TRAILERS) {
		if (c->head_len <= 2)
			answer_done(c);
	} else {
		c->left = strtoull(c->head, NULL, 16);
		c->length += c->left;
		c->state = c->left ? CHUNK : TRAILERS;
		c->left += 2;
	}
	c->head_len = 0;
	return used;
}

static size_t body(struct conn *c, size_t len)
{
	size_t used = len < c->left ? len : c->left;

	c->left -= used;
	if (c->state == BODY)
		c->length += used;
	if (c->left == 0) {
		if (c->state == BODY)
			answer_done(c);
		else
			c->state = CHUNK_LINE;
	}
	return used;
}

static void take(struct conn *c, const char *at, size_t len)
{
	for (size_t used; len > 0; at += used, len -= used) {
		bool whole;

		if (!c->in_flight) {
			seen.errors++;
			return;
		}
		switch (c->state) {
		case HEAD:
			used = collect(c, at, len, "\r\n\r\n", &whole);
			if (whole)
				head_read(c);
			break;
		case BODY:
		case CHUNK:
			used = body(c, len);
			break;
		case BODY_TO_END:
			c->length += used = len;
			break;
		default:
			used = chunk_line(c, at, len);
		}
	}
}

/* Everything that is there. True: no request of this connection is in flight any more. */
static bool conn_read(struct conn *c)
{
	for (;;) {
		bool counted = c->state == BODY || c->state == CHUNK;
		/* What will only be counted is dropped by the kernel: the load must not cost what the server costs */
		bool drop = counted && c->left > sizeof input;
		ssize_t n = recv(c->fd, drop ? NULL : input, drop ? c->left : sizeof input, MSG_DONTWAIT | (drop ? MSG_TRUNC : 0));

		if (n < 0 && errno == EAGAIN)
			return c->in_flight == 0;
		if (n <= 0) {
			if (n == 0 && c->state == BODY_TO_END)
				answer_done(c);
			seen.errors += c->in_flight;
			conn_reopen(c);
			return true;
		}
		if (drop)
			body(c, (size_t)n);
		else
			take(c, input, (size_t)n);
		if (c->in_flight == 0) {
			if (want.close)
				conn_reopen(c);
			return true;
		}
		if (!drop && (size_t)n < sizeof input)
			return false;
	}
}

static void wait_events(struct epoll_event *events, int *count, uint64_t until)
{
	uint64_t at = now(), left = until > at ? until - at : 0;
	struct timespec t = { .tv_sec = (time_t)(left / SECOND), .tv_nsec = (long)(left % SECOND) };

	*count = epoll_pwait2(poller, events, EVENTS, &t, NULL);
	if (*count < 0 && errno != EINTR)
		fail("epoll_pwait2");
}

static bool more(void)
{
	return !want.limit || sent < want.limit;
}

static void run_closed(struct conn *conns, uint64_t end)
{
	struct epoll_event events[EVENTS];
	unsigned depth = (unsigned)want.pipeline;
	int count;

	for (uint64_t i = 0; i < want.connections && more(); i++)
		conn_request(&conns[i], depth, now());
	while (now() < end && (!want.limit || seen.requests + seen.errors < sent || more())) {
		wait_events(events, &count, end);
		for (int i = 0; i < count; i++)
			if (conn_read(events[i].data.ptr) && more())
				conn_request(events[i].data.ptr, depth, now());
	}
}

static void run_rate(struct conn *conns, uint64_t start, uint64_t end)
{
	struct conn **idle = calloc(want.connections, sizeof *idle);
	struct epoll_event events[EVENTS];
	uint64_t step = SECOND / want.rate, due = start;
	size_t idle_count = 0;
	int count;

	if (!idle)
		fail("memory");
	for (uint64_t i = 0; i < want.connections; i++)
		idle[idle_count++] = &conns[i];
	while (now() < end) {
		for (; idle_count && due <= now(); due += step)
			conn_request(idle[--idle_count], 1, due);
		wait_events(events, &count, idle_count ? due : end);
		for (int i = 0; i < count; i++)
			if (conn_read(events[i].data.ptr))
				idle[idle_count++] = events[i].data.ptr;
	}
	free(idle);
}

/* One request on each, so that the server has done all it does for a connection. */
static void open_idle(struct conn *conns)
{
	for (uint64_t i = 0; i < want.idle; i++) {
		struct conn *c = &conns[i];

		conn_open(c);
		conn_request(c, 1, now());
		while (c->in_flight) {
			ssize_t n = recv(c->fd, input, sizeof input, 0);

			if (n <= 0)
				fail("an idle connection");
			take(c, input, (size_t)n);
		}
	}
}

static void options(int argc, char **argv)
{
	static char field[TEXT_MAX / 2];
	size_t longest = 0;
	int option;

	while ((option = getopt(argc, argv, "c:d:N:n:p:r:kli:H:")) != -1)
		switch (option) {
		case 'c': want.connections = strtoull(optarg, NULL, 10); break;
		case 'd': want.seconds = strtod(optarg, NULL); break;
		case 'N': want.limit = strtoull(optarg, NULL, 10); break;
		case 'n': want.objects = strtoull(optarg, NULL, 10); break;
		case 'p': want.pipeline = strtoull(optarg, NULL, 10); break;
		case 'r': want.rate = strtoull(optarg, NULL, 10); break;
		case 'k': want.close = true; break;
		case 'l': want.lengths_differ = true; break;
		case 'i': want.idle = strtoull(optarg, NULL, 10); break;
		case 'H': snprintf(field, sizeof field, "%s\r\n", optarg); want.field = field; break;
		default: exit(EXIT_FAILURE);
		}
	want.path = argv + optind + 1;
	want.paths = argc - optind > 1 ? (unsigned)(argc - optind - 1) : 0;
	for (unsigned i = 0; i < want.paths; i++)
		longest = strlen(want.path[i]) > longest ? strlen(want.path[i]) : longest;
	/* What is in flight on a connection has one path, whose length is known */
	if (!want.paths || want.paths > PATHS_MAX || want.pipeline > (want.paths > 1 ? 1 : PIPELINE_MAX) || longest > TEXT_MAX / 4) {
		fputs("usage: load [-c N] [-d S] [-N N] [-n N] [-p N] [-r N] [-k] [-l] [-i N] [-H FIELD] PORT PATH...\n", stderr);
		exit(EXIT_FAILURE);
	}
	want.port = (uint16_t)atoi(argv[optind]);
}

int main(int argc, char **argv)
{
	struct rlimit files;
	struct conn *conns;
	uint64_t start, taken;
	char line[8];

	options(argc, argv);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	poller = epoll_create1(EPOLL_CLOEXEC);
	conns = calloc(want.connections + want.idle, sizeof *conns);
	if (poller < 0 || !conns)
		fail("load");
	open_idle(conns + want.connections);
	for (uint64_t i = 0; i < want.connections; i++)
		conn_open(&conns[i]);
	memset(&seen, 0, sizeof seen);
	sent = 0;
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return EXIT_FAILURE;
	start = now();
	if (want.rate)
		run_rate(conns, start, start + (uint64_t)(want.seconds * SECOND));
	else
		run_closed(conns, want.limit ? UINT64_MAX : start + (uint64_t)(want.seconds * SECOND));
	taken = now() - start;
	printf("{\"requests\": %" PRIu64 ", \"seconds\": %.6f, \"bytes\": %" PRIu64 ", \"errors\": %" PRIu64 ", \"status\": %d, \"length\": %" PRIu64
	    ", \"p50\": %.1f, \"p99\": %.1f, \"p999\": %.1f, \"max\": %.1f}\n", seen.requests, (double)taken / SECOND, seen.bytes, seen.errors,
	    seen.status[0], seen.length[0], quantile(.5), quantile(.99), quantile(.999), (double)seen.slowest / 1e3);
	fflush(stdout);
	/* Connections stay open until the caller has read what it measures */
	return fgets(line, sizeof line, stdin) == NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}
