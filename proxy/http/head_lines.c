/* Ends of lines in heads; see head_lines.h. */
#include "proxy/http/head_lines.h"

#include <stdint.h>
#include <string.h>

enum { LINES_STEP = 16 };
typedef char lines_block __attribute__((vector_size(LINES_STEP)));

/* What is wrong with bytes that stand behind others: each LF behind another byte than CR, each other byte behind CR,
 * each blank behind LF. */
static inline lines_block lines_faults(lines_block before, lines_block bytes)
{
	return (lines_block)(((before == '\r') ^ (bytes == '\n')) |
	    ((before == '\n') & ((bytes == ' ') | (bytes == '\t'))));
}

static inline lines_block lines_look(const char *at)
{
	lines_block before, bytes;

	memcpy(&before, at - 1, sizeof before);
	memcpy(&bytes, at, sizeof bytes);
	return lines_faults(before, bytes);
}

static inline bool lines_may_follow(char before, char byte)
{
	return (before == '\r') == (byte == '\n') && (before != '\n' || (byte != ' ' && byte != '\t'));
}

bool head_lines_valid(const char *bytes, size_t len, char before)
{
	lines_block faults = { 0 };
	uint64_t words[sizeof faults / sizeof(uint64_t)];
	size_t at = 1;

	if (len && !lines_may_follow(before, bytes[0]))
		return false;
	for (; at + LINES_STEP <= len; at += LINES_STEP)
		faults |= lines_look(bytes + at);
	if (at < len && len > LINES_STEP)              /* the last ones once more, with what is left */
		faults |= lines_look(bytes + len - LINES_STEP);
	else
		for (; at < len; at++)
			if (!lines_may_follow(bytes[at - 1], bytes[at]))
				return false;
	memcpy(words, &faults, sizeof words);
	return !(words[0] | words[1]);
}
