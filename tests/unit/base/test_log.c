/* Owns the cases of proxy/base/log.c: nothing of a peer that ends a line or turns it stands in one. */
#include "proxy/base/log.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* What log_warn() writes to stderr of a message with this in it. */
static size_t logged(char *line, size_t cap, const char *words)
{
	int pipe_ends[2], saved = dup(STDERR_FILENO);
	ssize_t n;

	CU_ASSERT_FATAL(saved >= 0 && !pipe2(pipe_ends, O_CLOEXEC) && dup2(pipe_ends[1], STDERR_FILENO) == STDERR_FILENO);
	log_warn("said: %s.", words);
	CU_ASSERT_FATAL(dup2(saved, STDERR_FILENO) == STDERR_FILENO && !close(saved) && !close(pipe_ends[1]));
	n = read(pipe_ends[0], line, cap - 1);
	close(pipe_ends[0]);
	line[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static void lines(void)
{
	static const struct { const char *rule, *words, *want; } cases[] = {
		{ "ASCII", "a\\x \"b\"", "a\\x \"b\"" },
		{ "UTF-8", "ж€😀", "ж€😀" },
		{ "controls", "a\r\nb\x1b[2J\x7f", "a\\x0d\\x0ab\\x1b[2J\\x7f" },
		{ "C1: U+0085, U+009B", "\xc2\x85\xc2\x9b", "\\xc2\\x85\\xc2\\x9b" },
		{ "U+202E, U+2066, U+061C", "\xe2\x80\xae\xe2\x81\xa6\xd8\x9c", "\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xd8\\x9c" },
		{ "U+2028, U+2029", "\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9" },
		{ "what is not UTF-8", "a\xe9 b\xed\xa0\x80", "a\\xe9 b\\xed\\xa0\\x80" },
	};
	char line[4096], want[256];

	for (size_t i = 0; i < COUNT(cases); i++) {
		logged(line, sizeof line, cases[i].words);
		snprintf(want, sizeof want, "utfeed: warning: said: %s.\n", cases[i].want);
		UNIT_ROW(!strcmp(line, want), "%s: %s", cases[i].rule, line);
	}
}

/* A message too long is cut before a character, never inside one or inside its escape. */
static void long_lines(void)
{
	static const struct { const char *rule, *each; size_t width; } cases[] = {
		{ "ASCII", "x", 1 }, { "a character of three bytes", "€", 3 }, { "what is escaped", "\x1b", 4 },
	};
	char line[4096], words[2048];

	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t each = strlen(cases[i].each), n, before = strlen("utfeed: warning: said: ");

		for (n = 0; n + each < sizeof words; n += each)
			memcpy(words + n, cases[i].each, each);
		words[n] = '\0';
		n = logged(line, sizeof line, words);
		UNIT_ROW(n > 1000 && n <= 1024 && line[n - 1] == '\n' && strchr(line, '\n') == line + n - 1 && (n - 1 - before) % cases[i].width == 0,
		    "%s: %zu bytes", cases[i].rule, n);
	}
}

UNIT_SUITE(log, { "lines", lines }, { "long-lines", long_lines })
