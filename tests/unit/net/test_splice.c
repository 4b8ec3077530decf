/* Owns the cases of proxy/net/splice.c: what arrives, and that it arrives whatever becomes of the memory meanwhile. Must not know: objects.
 * Invariant: loopback only. */
#include "proxy/net/splice.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* Two ends of a TCP connection; the first does not wait. */
static void connected(int ends[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof at;
	struct timeval patience = { .tv_sec = 10 };
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	CU_ASSERT_FATAL(!bind(listener, (struct sockaddr *)&at, len) && !listen(listener, 1) && !getsockname(listener, (struct sockaddr *)&at, &len) &&
	    !connect(ends[1], (struct sockaddr *)&at, len));
	ends[0] = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	CU_ASSERT_FATAL(ends[0] >= 0 && !setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience));
	close(listener);
}

static uint8_t *mapped(size_t len, unsigned seed)
{
	uint8_t *bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CU_ASSERT_FATAL(bytes != MAP_FAILED);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)((i * 31 + seed) % 251);
	return bytes;
}

static bool arrives(int fd, const uint8_t *expected, size_t len)
{
	uint8_t *got = malloc(len);
	bool same = recv(fd, got, len, MSG_WAITALL) == (ssize_t)len && !memcmp(got, expected, len);

	free(got);
	return same;
}

static void pieces(void)
{
	static const struct { const char *name; size_t from[2], to[2]; int copied; } rows[] = {
		{ "one page", { 0, 0 }, { 4096, 0 }, 0 }, { "one byte", { 5000, 0 }, { 5001, 0 }, 0 }, { "across pages", { 4000, 0 }, { 20000, 0 }, 0 },
		{ "two pieces", { 0, 30000 }, { 100, 60000 }, 0 }, { "sixteen pages", { 0, 0 }, { 1 << 16, 0 }, 0 },
		{ "one copied", { 0, 30000 }, { 100, 60000 }, 1 }, { "one of pages copied", { 100, 30000 }, { 20000, 90000 }, 1 },
	};
	uint8_t *bytes = mapped(1 << 18, 1);
	struct splice s;

	splice_init(&s);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct iovec iov[2];
		ssize_t all = 0;
		int ends[2];

		connected(ends);
		for (int k = 0; k < 2; k++) {
			iov[k] = (struct iovec){ bytes + rows[i].from[k], rows[i].to[k] - rows[i].from[k] };
			all += (ssize_t)iov[k].iov_len;
		}
		UNIT_ROW(splice_send(&s, 1, ends[0], iov, rows[i].copied, iov[1].iov_len ? 2 : 1, false) == all, "%s", rows[i].name);
		for (int k = 0; k < 2; k++) {
			uint8_t *expected = malloc(iov[k].iov_len + 1);

			memcpy(expected, iov[k].iov_base, iov[k].iov_len);
			if (k < rows[i].copied)
				memset(iov[k].iov_base, 0, iov[k].iov_len);
			UNIT_ROW(arrives(ends[1], expected, iov[k].iov_len), "%s, piece %d", rows[i].name, k);
			memcpy(iov[k].iov_base, expected, iov[k].iov_len);
			free(expected);
		}
		close(ends[0]);
		close(ends[1]);
	}
	splice_end(&s);
	munmap(bytes, 1 << 18);
}

/* More to copy than the pipe takes: what it took arrives, nothing else goes before the rest. */
static void pipe_full(void)
{
	enum { LEN = 1 << 19 };
	uint8_t *bytes = mapped(2 * LEN, 3);
	struct iovec iov[2] = { { bytes, LEN }, { bytes + LEN, LEN } };
	struct splice s;
	ssize_t n;
	int ends[2];

	splice_init(&s);
	connected(ends);
	n = splice_send(&s, 1, ends[0], iov, 1, 2, false);
	CU_ASSERT(n > 0 && n < LEN && arrives(ends[1], bytes, (size_t)n));
	close(ends[0]);
	close(ends[1]);
	splice_end(&s);
	munmap(bytes, 2 * LEN);
}

/* The socket takes no more, then it does, while the memory is another's long since. */
static void given_back(void)
{
	enum { LEN = 1 << 18, TIMES = 64 };
	uint8_t *expected = mapped(LEN, 9);
	size_t sent[TIMES] = { 0 };
	struct splice s;
	int ends[2], times = 0;

	splice_init(&s);
	connected(ends);
	for (bool full = false; times < TIMES && !full; times++) {
		uint8_t *bytes = mapped(LEN, 9);
		struct iovec iov = { bytes, LEN };
		ssize_t n = splice_send(&s, 1, ends[0], &iov, 0, 1, false);

		full = n < LEN;
		CU_ASSERT(n > 0 || errno == EAGAIN);
		sent[times] = n > 0 ? (size_t)n : 0;
		munmap(bytes, LEN);
		munmap(mapped(LEN, 100), LEN);
	}
	CU_ASSERT(times > 1 && times < TIMES);
	for (int i = 0; i < times; i++)
		UNIT_ROW(arrives(ends[1], expected, sent[i]), "piece %d of %zu bytes", i, sent[i]);
	CU_ASSERT(splice_send(&s, 1, ends[0], &(struct iovec){ expected, 4096 }, 0, 1, false) == 4096 && arrives(ends[1], expected, 4096));
	close(ends[1]);
	close(ends[0]);
	splice_end(&s);
	munmap(expected, LEN);
}

static ssize_t page_at(struct splice *s, uint64_t now_ms, int fd, void *page)
{
	return splice_send(s, now_ms, fd, &(struct iovec){ page, 4096 }, 0, 1, false);
}

/* A piece at NULL fails for a reason of its own. Each failure in a row makes the rest longer, until a success. */
static void rests(void)
{
	static const struct { const char *rule; uint64_t ms; bool memory; ssize_t want; } steps[] = {
		{ "it fails", 5000, false, -1 },
		{ "it rests", 5999, true, -1 },
		{ "it works again", 6000, true, 4096 },
		{ "it fails anew", 7000, false, -1 },
		{ "a second in a row", 8000, false, -1 },
		{ "the rest is longer", 9999, true, -1 },
		{ "a third in a row", 10000, false, -1 },
		{ "longer yet", 13999, true, -1 },
		{ "it works at last", 14000, true, 4096 },
		{ "at once", 14000, true, 4096 },
		{ "a first failure", 15000, false, -1 },
		{ "one second again", 16000, true, 4096 },
	};
	uint8_t *page = mapped(4096, 5);
	struct splice s;
	int ends[2];

	connected(ends);
	splice_init(&s);
	for (size_t i = 0; i < COUNT(steps); i++) {
		bool rested = splice_rests(&s, steps[i].ms);
		ssize_t n = page_at(&s, steps[i].ms, ends[0], steps[i].memory ? page : NULL);

		UNIT_ROW(n == steps[i].want && (n > 0 || errno == ENOTSUP) && rested == (steps[i].memory && n < 0), "%s: %zd", steps[i].rule, n);
		UNIT_ROW(n < 0 || arrives(ends[1], page, 4096), "%s: what arrives", steps[i].rule);
	}
	splice_end(&s);
	close(ends[0]);
	close(ends[1]);
	munmap(page, 4096);
}

/* A pipe that never works is tried about once a minute. */
static void never_works(void)
{
	unsigned tries = 0;
	struct splice s;
	int ends[2];

	connected(ends);
	splice_init(&s);
	for (uint64_t ms = 1; ms < 3600 * 1000; ms += 100) {
		tries += !splice_rests(&s, ms);
		page_at(&s, ms, ends[0], NULL);
	}
	CU_ASSERT(tries > 50 && tries < 70);
	splice_end(&s);
	close(ends[0]);
	close(ends[1]);
}

/* A peer that is gone is the connection's failure, not the pipe's. */
static void gone(void)
{
	uint8_t *page = mapped(4096, 5);
	struct splice s;
	int ends[2];

	connected(ends);
	splice_init(&s);
	signal(SIGPIPE, SIG_IGN);
	shutdown(ends[0], SHUT_WR);
	CU_ASSERT(page_at(&s, 1, ends[0], page) == -1 && errno == EPIPE && !splice_rests(&s, 1));
	splice_end(&s);
	close(ends[0]);
	close(ends[1]);
	munmap(page, 4096);
}

UNIT_SUITE(splice, { "pieces", pieces }, { "pipe full", pipe_full }, { "given back", given_back }, { "rests", rests },
	{ "never works", never_works }, { "gone", gone })
