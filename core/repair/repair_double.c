/* Owns undoing text that was encoded twice; see repair_double.h.
 * Text is read byte by byte from the first sequence of a node on; what stands before it is only searched for it. A hold
 * that turns out to have enough is read a second time, now with the answer. */
#include "core/repair/repair_double.h"

#include <stdlib.h>
#include <string.h>

#include "core/text/utf8.h"

enum {
	SEQUENCE = 0x80,                /* double_place.last where a sequence stood; no ASCII character */
	EN_DASH = 0xe28093,             /* as repair_double.sequence has it */
	EM_DASH = 0xe28094,
	SEQUENCE_BYTES_MAX = 12,        /* four characters of three bytes */
	LEAD_BYTE = 0xc3                /* what U+00C0 to U+00FF begin with: only they can begin a sequence */
};

/* ---- windows-1252 ---- */

/* Bytes 80 to 9F; the five that it leaves out are controls of the same number. */
static const uint16_t high_bytes[32] = {
	0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d,
	0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d,
	0x17e, 0x178
};

/* The byte of a character beyond ASCII; 0: it has none. All C1 controls are bytes, as in ISO-8859-1, which real
 * decoders read where windows-1252 is said. */
static uint8_t double_byte(uint32_t character)
{
	if (character <= 0xff)
		return (uint8_t)character;
	for (size_t i = 0; i < sizeof(high_bytes) / sizeof(high_bytes[0]); i++)
		if (high_bytes[i] == character)
			return (uint8_t)(0x80 + i);
	return 0;
}

/* Turns a held node into what it was, in place, and counts its sequences. The new length. */
static size_t double_undo(uint8_t *text, size_t len, uint64_t *count)
{
	size_t out = 0;

	for (size_t at = 0; at < len;) {
		uint32_t character;

		if (text[at] < 0x80) {
			text[out++] = text[at++];
			continue;
		}
		at += utf8_next(text + at, &character);
		text[out] = double_byte(character);
		*count += text[out++] >= 0xc0;
	}
	return out;
}

/* ---- what tells ---- */

static bool is_small_letter(uint8_t c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_word_part(uint8_t c)
{
	return is_small_letter(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Whether the sequence that is complete tells that text was encoded twice: right text hardly has it in this place.
 * Right text has a capital at the end of a word with a quotation mark or dots behind it (E acute, then an apostrophe
 * and S). It has a small letter with two such marks, or with a no-break space and a dash. So these are signs.
 *    Two sequences side by side, and one of four bytes.
 *    E2 (punctuation and symbols) at a word, and a dash between blanks.
 *    E1 BA and E1 BB (Vietnamese) if the word goes on.
 *    Two bytes behind a small letter, because a capital does not stand there.
 *    The more usual Latin letters and signs at a word, unless the second byte is such a mark.
 * A sequence by itself tells nothing: people who write about this fault quote it like that. */
static bool sequence_tells(const struct repair_double *d, uint8_t after)
{
	bool at_word = is_word_part(d->before) || is_word_part(after);
	uint32_t s = d->sequence;

	if (d->before == SEQUENCE || after == SEQUENCE || s >> 24 > 0)
		return true;
	if (s >> 16 == 0xe2)
		return at_word || ((s == EN_DASH || s == EM_DASH) && d->before == ' ' && after == ' ');
	if (s >> 16 > 0)
		return (s >> 8 == 0xe1ba || s >> 8 == 0xe1bb) && is_word_part(after);
	if (is_small_letter(d->before) && s >> 8 != 0xdf)
		return true;
	return s >> 8 <= 0xc5 && (s & 0xff) > 0xa0 && (s & 0xff) != 0xab && (s & 0xff) != 0xbb && at_word;
}

static void sequence_settle(struct repair_double *d, uint8_t after)
{
	if (d->complete) {
		d->node_tells += sequence_tells(d, after);
		d->node_sequences++;
	}
	d->complete = false;
}

/* ---- the hold: what is kept, then what stands in this call from `run` on ---- */

static int hold_emit(const struct repair_double *d, const uint8_t *text, size_t len)
{
	if (len == 0)
		return 0;
	return d->proven && d->next ? repair_double(d->next, text, len, false) : d->sink.write(d->sink.arg, text, len);
}

static size_t hold_length(const struct repair_double *d, size_t at)
{
	return d->held_len + (at - d->run);
}

static int hold_begin(struct repair_double *d, size_t at)
{
	int rc = hold_emit(d, d->in + d->run, at - d->run);

	d->run = at;
	d->holding = true;
	d->waiting = false;
	d->right_since = false;
	d->began = d->place;
	return rc;
}

/* Keeps what this call has of the hold. */
static int hold_keep(struct repair_double *d, size_t at)
{
	if (!d->held)
		d->held = malloc(DOUBLE_HOLD + SEQUENCE_BYTES_MAX);
	if (!d->held)
		return -1;
	memcpy(d->held + d->held_len, d->in + d->run, at - d->run);
	d->held_len += at - d->run;
	d->run = at;
	return 0;
}

/* Lets it go as it is; what this call has of it is written with what follows. */
static int hold_release(struct repair_double *d)
{
	int rc = hold_emit(d, d->held, d->held_len);

	d->held_len = 0;
	d->holding = false;
	d->waiting = false;
	return rc;
}

static int hold_undo(struct repair_double *d, size_t at)
{
	if (hold_keep(d, at) != 0)
		return -1;
	d->held_len = double_undo(d->held, d->held_len, &d->counts[REPAIRED_DOUBLE]);
	d->place.right = false;
	return hold_release(d);
}

/* ---- nodes ---- */

static int double_read(struct repair_double *, const uint8_t *, size_t len);

/* The node turns out to be right text, with all that is held of it. */
static int pass_node(struct repair_double *d)
{
	d->node = DOUBLE_RIGHT;
	d->place.right = true;
	d->character_more = 0;
	d->sequence_more = 0;
	d->complete = false;
	d->right_since = true;
	if (d->waiting)
		return 0;
	d->tells = 0;
	d->sequences = 0;
	return hold_release(d);
}

/* Reads the hold again, now that enough was found in it; its last node is still held then. */
static int hold_read_again(struct repair_double *d, size_t at)
{
	const uint8_t *in = d->in;
	int rc = hold_keep(d, at);

	if (rc)
		return rc;
	uint8_t *text = d->held;
	size_t len = d->held_len;
	d->held = NULL;
	d->held_len = 0;
	d->holding = false;
	d->waiting = false;
	d->proven = true;
	if (d->next)
		d->next->place = d->began;
	d->place = d->began;
	d->node = DOUBLE_FRESH;
	rc = double_read(d, text, len);
	sequence_settle(d, 0);
	free(text);
	d->in = in;
	d->run = at;
	return rc;
}

/* The node ends, or what is held of it is judged by itself. */
static int double_node_end(struct repair_double *d, size_t at)
{
	int rc = 0;

	if (d->node == DOUBLE_HELD && (d->character_more > 0 || d->sequence_more > 0))
		rc = pass_node(d);
	sequence_settle(d, 0);
	if (rc == 0 && d->node == DOUBLE_HELD && !d->proven) {
		d->tells += d->node_tells;
		d->sequences += d->node_sequences;
		d->waiting = true;
		if (d->tells >= DOUBLE_TELLS && d->sequences >= DOUBLE_SEQUENCES)
			rc = hold_read_again(d, at);
	}
	if (rc == 0 && d->node == DOUBLE_HELD && d->proven)
		rc = d->node_tells > 0 || !d->place.right ? hold_undo(d, at) : hold_release(d);
	d->node = DOUBLE_FRESH;
	return rc;
}

/* No more can be held. */
static int hold_full(struct repair_double *d, size_t at)
{
	enum double_node node = d->node;
	int rc = double_node_end(d, at);

	if (node == DOUBLE_RIGHT)
		d->node = DOUBLE_RIGHT;
	if (rc || !d->holding)
		return rc;
	if (d->right_since) {
		d->tells = 0;
		d->sequences = 0;
	}
	return hold_release(d);
}

/* ---- characters ---- */

static const char section_start[] = "<![CDATA[";

static bool ends_node(const struct double_place *p, uint8_t c)
{
	return p->cdata ? c == '>' && p->matched == 2 : c == '<' || c == '>';
}

static void follow_markup(struct double_place *p, uint8_t c)
{
	if (p->cdata) {
		p->cdata = !(c == '>' && p->matched == 2);
		p->matched = c != ']' ? 0 : p->matched < 2 ? p->matched + 1 : 2;
	} else if (c != (uint8_t)section_start[p->matched]) {
		p->matched = c == '<';
	} else if (++p->matched == sizeof(section_start) - 1) {
		p->cdata = true;
		p->matched = 0;
	}
}

static int read_ascii(struct repair_double *d, uint8_t c, size_t at)
{
	int rc = 0;

	if (d->character_more > 0 || d->sequence_more > 0)
		rc = pass_node(d);
	sequence_settle(d, c);
	if (rc == 0 && ends_node(&d->place, c))
		rc = double_node_end(d, at);
	follow_markup(&d->place, c);
	d->place.last = c;
	return rc;
}

/* Goes on with a sequence by a byte of windows-1252; false: it is none. */
static bool sequence_go_on(struct repair_double *d, uint8_t byte)
{
	if (d->sequence_more == 0) {
		if (byte < 0xc2 || byte > 0xf4)
			return false;
		d->sequence = byte;
		d->sequence_more = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
		d->lower = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;
		d->upper = byte == 0xed ? 0x9f : byte == 0xf4 ? 0x8f : 0xbf;
		d->before = d->place.last;
		return true;
	}
	if (byte < d->lower || byte > d->upper)
		return false;
	d->lower = 0x80;
	d->upper = 0xbf;
	d->sequence = d->sequence << 8 | byte;
	d->complete = --d->sequence_more == 0;
	d->place.last = SEQUENCE;
	return true;
}

/* Goes on with a character of the text by one of its bytes; false: that is in no sequence. */
static bool character_go_on(struct repair_double *d, uint8_t c)
{
	bool more = (c & 0xc0) == 0x80;

	if (more != (d->character_more > 0) || (!more && (c < 0xc2 || c > 0xef)))
		return false;
	if (!more) {
		d->character_more = c < 0xe0 ? 1 : 2;
		d->character = c & (c < 0xe0 ? 0x1fu : 0x0fu);
		return true;
	}
	d->character = d->character << 6 | (c & 0x3fu);
	return --d->character_more > 0 || sequence_go_on(d, double_byte(d->character));
}

static int read_beyond_ascii(struct repair_double *d, uint8_t c, size_t at)
{
	d->place.matched = 0;
	sequence_settle(d, SEQUENCE);
	if (d->node == DOUBLE_FRESH && c == LEAD_BYTE) {
		int rc = d->holding ? 0 : hold_begin(d, at);

		if (rc)
			return rc;
		d->node = DOUBLE_HELD;
		d->node_tells = 0;
		d->node_sequences = 0;
	}
	return d->node == DOUBLE_RIGHT || (d->node == DOUBLE_HELD && character_go_on(d, c)) ? 0 : pass_node(d);
}

/* ---- text ---- */

/* The kinds of bytes outside of sequences. */
enum { MARK = 1, BRACKET = 2, BEYOND = 4 };

static const uint8_t double_kinds[0x80] = { ['<'] = MARK, ['>'] = MARK, [']'] = BRACKET };

/* The next byte, before `end`, that must be read by itself. */
static size_t double_skip(struct repair_double *d, const uint8_t *in, size_t at, size_t end)
{
	unsigned stops = (d->place.cdata ? BRACKET : MARK) | (d->node == DOUBLE_RIGHT ? 0 : BEYOND);
	size_t from = at;

	if (d->place.matched > 0 || d->complete || d->character_more > 0 || d->sequence_more > 0)
		return at;
	while (at < end && !((in[at] < 0x80 ? double_kinds[in[at]] : BEYOND) & stops))
		at++;
	if (at > from)
		d->place.last = in[at - 1];
	return at;
}

static int double_read(struct repair_double *d, const uint8_t *in, size_t len)
{
	size_t at = 0;
	int rc = 0;

	d->in = in;
	d->run = 0;
	while (rc == 0 && at < len) {
		size_t end = len;

		if (d->holding && hold_length(d, at) >= DOUBLE_HOLD) {
			if (d->character_more == 0 && d->sequence_more == 0)
				rc = hold_full(d, at);
		} else if (d->holding && hold_length(d, len) > DOUBLE_HOLD) {
			end = at + (DOUBLE_HOLD - hold_length(d, at));
		}
		if (rc)
			break;
		at = double_skip(d, in, at, end);
		if (at < end) {
			rc = in[at] < 0x80 ? read_ascii(d, in[at], at) : read_beyond_ascii(d, in[at], at);
			at++;
		}
	}
	if (rc)
		return rc;
	return d->holding ? hold_keep(d, len) : hold_emit(d, in + d->run, len - d->run);
}

int repair_double(struct repair_double *d, const uint8_t *in, size_t len, bool final)
{
	int rc = double_read(d, in, len);

	if (rc || !final)
		return rc;
	d->run = len;
	rc = double_node_end(d, len);
	if (rc == 0)
		rc = hold_release(d);
	return rc || !d->proven || !d->next ? rc : repair_double(d->next, in, 0, true);
}

void repair_double_free(struct repair_double *d)
{
	free(d->held);
	d->held = NULL;
}
