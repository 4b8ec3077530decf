/* Owns writing UTF-8 text as US-ASCII; see ascii.h.
 * It tracks its place in the document byte by byte and knows nothing else; a run of ASCII is one write. */
#include "core/repair/ascii.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum ascii_mode {
	ASCII_CONTENT,
	ASCII_OPEN,             /* "<" and the beginning of a word of openings[] */
	ASCII_TAG,
	ASCII_VALUE,            /* a literal in a tag or a document type */
	ASCII_COMMENT,
	ASCII_INSTRUCTION,
	ASCII_CDATA,
	ASCII_CDATA_CLOSED,     /* in a CDATA section that is closed in the output */
	ASCII_DOCTYPE
};

static const struct {
	const char *word;
	enum ascii_mode mode;
} openings[] = {
	{ "!--", ASCII_COMMENT }, { "?", ASCII_INSTRUCTION }, { "![CDATA[", ASCII_CDATA },
	{ "!DOCTYPE", ASCII_DOCTYPE },
};

struct ascii {
	struct sink sink;
	enum ascii_mode mode, outer;    /* outer: the mode after the end of a comment, an instruction or a literal */
	char open[9];                   /* ASCII_OPEN: the text behind "<" */
	size_t open_len;
	char last[2];                   /* The two bytes before, in modes that end with two or three bytes. */
	char quote;                     /* ASCII_VALUE: the quote that ends it. */
	bool in_doctype, subset;        /* Between "<!DOCTYPE" and its ">"; between its "[" and "]". */
	uint32_t cp;                    /* Code point, so far, of a character that is not complete. */
	unsigned missing;               /* The bytes it still needs. */
	uint64_t lost;
};

struct ascii *ascii_new(struct sink sink)
{
	struct ascii *a = calloc(1, sizeof(*a));

	if (a)
		a->sink = sink;
	return a;
}

void ascii_free(struct ascii **a)
{
	free(*a);
	*a = NULL;
}

uint64_t ascii_lost(const struct ascii *a)
{
	return a->lost;
}

static int ascii_emit(const struct ascii *a, const void *text, size_t len)
{
	return len > 0 ? a->sink.write(a->sink.arg, text, len) : 0;
}

static void ascii_enter(struct ascii *a, enum ascii_mode mode)
{
	a->mode = mode;
	a->last[0] = a->last[1] = '\0';
}

static enum ascii_mode home(const struct ascii *a)
{
	return a->in_doctype ? ASCII_DOCTYPE : ASCII_CONTENT;
}

static void step_tag(struct ascii *a, char c)
{
	if (c == '>') {
		ascii_enter(a, home(a));
	} else if (c == '"' || c == '\'') {
		a->quote = c;
		a->outer = ASCII_TAG;
		ascii_enter(a, ASCII_VALUE);
	}
}

static void step_open(struct ascii *a, char c)
{
	bool may_be = false;

	a->open[a->open_len++] = c;
	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
		if (strncmp(openings[i].word, a->open, a->open_len) != 0)
			continue;
		may_be = true;
		if (openings[i].word[a->open_len] == '\0') {
			a->in_doctype |= openings[i].mode == ASCII_DOCTYPE;
			ascii_enter(a, openings[i].mode);
			return;
		}
	}
	if (!may_be) {
		ascii_enter(a, ASCII_TAG);
		step_tag(a, c);
	}
}

static void step_doctype(struct ascii *a, char c)
{
	if (c == '"' || c == '\'') {
		a->quote = c;
		a->outer = ASCII_DOCTYPE;
		ascii_enter(a, ASCII_VALUE);
	} else if (c == '<') {
		a->open_len = 0;
		ascii_enter(a, ASCII_OPEN);
	} else if (c == '[' || c == ']') {
		a->subset = c == '[';
	} else if (c == '>' && !a->subset) {
		a->in_doctype = false;
		ascii_enter(a, ASCII_CONTENT);
	}
}

/* Updates the mode by one ASCII byte. */
static void ascii_step(struct ascii *a, char c)
{
	switch (a->mode) {
	case ASCII_CONTENT:
		a->open_len = 0;
		if (c == '<')
			ascii_enter(a, ASCII_OPEN);
		return;
	case ASCII_OPEN:
		step_open(a, c);
		return;
	case ASCII_TAG:
		step_tag(a, c);
		return;
	case ASCII_VALUE:
		if (c == a->quote)
			ascii_enter(a, a->outer);
		return;
	case ASCII_DOCTYPE:
		step_doctype(a, c);
		return;
	case ASCII_COMMENT:
		if (c == '>' && a->last[0] == '-' && a->last[1] == '-')
			ascii_enter(a, home(a));
		break;
	case ASCII_INSTRUCTION:
		if (c == '>' && a->last[1] == '?')
			ascii_enter(a, home(a));
		break;
	case ASCII_CDATA:
	case ASCII_CDATA_CLOSED:
		if (c == '>' && a->last[0] == ']' && a->last[1] == ']')
			ascii_enter(a, ASCII_CONTENT);
		break;
	}
	a->last[0] = a->last[1];
	a->last[1] = c;
}

static int put_character(struct ascii *a, uint32_t cp)
{
	char text[32];
	int n;

	a->last[0] = a->last[1] = '\0';
	switch (a->mode) {
	case ASCII_CONTENT:
	case ASCII_VALUE:
	case ASCII_CDATA_CLOSED:
		n = snprintf(text, sizeof(text), "&#%u;", (unsigned)cp);
		break;
	case ASCII_CDATA:
		n = snprintf(text, sizeof(text), "]]>&#%u;", (unsigned)cp);
		ascii_enter(a, ASCII_CDATA_CLOSED);
		break;
	case ASCII_OPEN:
		ascii_enter(a, ASCII_TAG);
		/* fallthrough */
	default:
		n = 1;
		text[0] = '_';
		a->lost++;
	}
	return ascii_emit(a, text, (size_t)n);
}

/* Takes a byte of a character beyond ASCII. */
static int ascii_take(struct ascii *a, uint8_t byte)
{
	if (byte >= 0xc0) {
		a->missing = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
		a->cp = byte & (0x3fu >> a->missing);
		return 0;
	}
	a->cp = a->cp << 6 | (byte & 0x3f);
	return --a->missing == 0 ? put_character(a, a->cp) : 0;
}

static bool needs_cdata(uint8_t c)
{
	return c == '<' || c == '&' || c == '>' || c == ']';
}

int ascii_feed(struct ascii *a, const uint8_t *in, size_t len)
{
	static const char reopen[] = "<![CDATA[";
	size_t run = 0;
	int rc = 0;

	for (size_t at = 0; at < len && rc == 0; at++) {
		if (in[at] >= 0x80) {
			rc = ascii_emit(a, in + run, at - run);
			run = at + 1;
			if (rc == 0)
				rc = ascii_take(a, in[at]);
			continue;
		}
		if (a->mode == ASCII_CDATA_CLOSED && needs_cdata(in[at])) {
			rc = ascii_emit(a, in + run, at - run);
			run = at;
			if (rc == 0)
				rc = ascii_emit(a, reopen, sizeof(reopen) - 1);
			a->mode = ASCII_CDATA;
		}
		ascii_step(a, (char)in[at]);
	}
	return rc ? rc : ascii_emit(a, in + run, len - run);
}
