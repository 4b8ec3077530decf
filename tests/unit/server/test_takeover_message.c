/* Owns the cases of proxy/server/takeover_message.c: messages between two processes, with descriptors. Must not know: what they lead to.
 * Invariant: descriptors of a message that is refused are closed. */
#include "proxy/server/takeover_message.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void words(void)
{
	static const struct { const char *rule, *bytes; size_t len; int word; const char *text; } cases[] = {
#define ROW(text) text, sizeof(text) - 1
		{ "a word and a text", ROW("hello 1"), TAKEOVER_HELLO, "1" },
		{ "a text with blanks", ROW("socket listen held"), TAKEOVER_SOCKET, "listen held" },
		{ "a word alone", ROW("end"), TAKEOVER_END, "" },
		{ "an empty text", ROW("end "), TAKEOVER_END, "" },
		{ "a path", ROW("notify 0 @/a b"), TAKEOVER_NOTIFY, "0 @/a b" },
		{ "another word", ROW("helloo 1"), -1, "" },
		{ "a part of a word", ROW("hell"), -1, "" },
		{ "capitals", ROW("END"), -1, "" },
		{ "a blank first", ROW(" end"), -1, "" },
		{ "nothing", ROW(""), -1, "" },
		{ "the end of a line", ROW("end\n"), -1, "" },
		{ "a byte that ends text in C", ROW("ready 1\0" "0"), -1, "" },
		{ "beyond ASCII", ROW("no \xc3\xa4"), TAKEOVER_NO, "\xc3\xa4" },
		{ "a message of a reload", ROW("said error f:1: a"), TAKEOVER_SAID, "error f:1: a" },
		{ "what a terminal obeys", ROW("said \x1b[2J"), -1, "" },
		{ "DEL", ROW("said \x7f"), -1, "" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct takeover_message m;
		bool read = takeover_parse(cases[i].bytes, cases[i].len, &m);

		UNIT_ROW(read == (cases[i].word >= 0), "%s", cases[i].rule);
		UNIT_ROW(!read || ((int)m.word == cases[i].word && !strcmp(m.text, cases[i].text)), "%s: text", cases[i].rule);
	}
}

static int descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	while (folder && readdir(folder))
		n++;
	if (folder)
		closedir(folder);
	return n;
}

static void lengths(void)
{
	char text[TAKEOVER_TEXT_MAX + 1];
	struct takeover_message m;
	int ends[2];

	CU_ASSERT_FATAL(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	memset(text, 'x', sizeof text);
	text[TAKEOVER_TEXT_MAX - sizeof "no "] = '\0';
	CU_ASSERT(!takeover_send(ends[0], TAKEOVER_NO, text, NULL, 0));
	CU_ASSERT(takeover_receive(ends[1], &m) == 1 && !strcmp(m.text, text));
	memset(text, 'x', sizeof text);
	text[TAKEOVER_TEXT_MAX] = '\0';
	CU_ASSERT(takeover_send(ends[0], TAKEOVER_NO, text, NULL, 0) < 0 && errno == EMSGSIZE);
	close(ends[0]);
	CU_ASSERT_EQUAL(takeover_receive(ends[1], &m), 0);
	close(ends[1]);
}

static void rights(void)
{
	static const char long_text[TAKEOVER_TEXT_MAX + 10] = "end ";
	int ends[2], own[TAKEOVER_FDS_MAX + 1], before;
	struct takeover_message m;

	CU_ASSERT_FATAL(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		own[i] = ends[0];
	before = descriptors();
	CU_ASSERT(!takeover_send(ends[0], TAKEOVER_SOCKET, "listen", own, TAKEOVER_FDS_MAX));
	CU_ASSERT(takeover_receive(ends[1], &m) == 1 && m.n_fds == TAKEOVER_FDS_MAX && descriptors() == before + TAKEOVER_FDS_MAX);
	takeover_drop(&m, 0);
	CU_ASSERT_EQUAL(descriptors(), before);
	CU_ASSERT(takeover_send(ends[0], TAKEOVER_SOCKET, "listen", own, TAKEOVER_FDS_MAX + 1) < 0 && errno == EMSGSIZE);
	CU_ASSERT(!takeover_send(ends[0], TAKEOVER_SOCKET, "\n", own, 3));
	CU_ASSERT(takeover_receive(ends[1], &m) == -1 && errno == EBADMSG && descriptors() == before);
	CU_ASSERT(send(ends[0], long_text, sizeof long_text, 0) > 0);
	CU_ASSERT(takeover_receive(ends[1], &m) == -1 && errno == EBADMSG);
	close(ends[0]);
	close(ends[1]);
}

UNIT_SUITE(takeover_message, { "words", words }, { "lengths", lengths }, { "rights", rights })
