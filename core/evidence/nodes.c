/* Owns telling nodes of UTF-8 from others; see nodes.h. */
#include "core/evidence/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "core/evidence/background.h"
#include "core/text/utf8.h"
#include "core/text/utf8_fault.h"

enum {
	/* The costs of damage: a stray byte, or a character that was cut or is forbidden; a pair of surrogates. */
	FAULT = 7 * LANGUAGE_NAT,
	PAIR = 2 * LANGUAGE_NAT,
	/* The cost of a node in another charset, beside its text: most nodes of a text of UTF-8 are UTF-8. */
	OTHER_NODE = 3 * LANGUAGE_NAT,
	/* The least lead of UTF-8 in a node whose only signs of it are characters that were cut. */
	CUT_ALONE = 4 * LANGUAGE_NAT,
	CLEAR = 80 * LANGUAGE_NAT,      /* With this lead, the rest of a node is not read. */
	ENOUGH = 10 * CLEAR,            /* With this lead of a text, well-formed nodes are not weighed any more. */
	PIECE = 32,
	SHORT = 12,
	CHARACTER = 4,                  /* bytes, at most */
	TEXT_BYTES = 512,
	EDGE_STEP = 64
};

/* The place of the first trail byte, from `at` on, that has a lead byte before it; len: there is none. Text beyond
 * ASCII without such a place is not UTF-8. `at` must not be 0. The function compares eight bytes with the eight that
 * begin one byte earlier. */
static size_t next_sequence(const uint8_t *bytes, size_t at, size_t len)
{
	const uint64_t first_bits = UINT64_C(0x8080808080808080);
	uint64_t leads, trails;

	for (; at + sizeof trails <= len; at += sizeof trails) {
		memcpy(&leads, bytes + at - 1, sizeof leads);
		memcpy(&trails, bytes + at, sizeof trails);
		if (leads & leads << 1 & trails & ~(trails << 1) & first_bits)
			break;
	}
	while (at < len && ((bytes[at] & 0xC0) != 0x80 || bytes[at - 1] < 0xC0))
		at++;
	return at;
}

static bool has_sequence(const uint8_t *bytes, size_t len)
{
	return next_sequence(bytes, 1, len) < len;
}

/* Whether there is a whole character beyond ASCII, or a pair of surrogates. */
static bool has_character(const uint8_t *bytes, size_t len)
{
	const uint8_t *lead;
	size_t left;

	for (size_t at = 1; (at = next_sequence(bytes, at, len)) < len; at++) {
		lead = bytes + at - 1;
		left = len - at + 1;
		if (*lead >= 0xC2 && (utf8_valid_prefix(lead, left < CHARACTER ? left : CHARACTER) > 0 ||
					 utf8_fault(lead, left).kind == FAULT_PAIR))
			return true;
	}
	return false;
}

/* A node as UTF-8, and as text of another charset. */
struct weighing {
	struct background utf_8, other;
	unsigned damage;
	size_t characters, faults;  /* of UTF-8, beyond ASCII */
};

static void weigh_fault(struct weighing *w, const struct utf8_fault *fault)
{
	uint8_t character[4];

	if (fault->kind != FAULT_PAIR) {
		w->damage += FAULT;
		w->faults++;
		return;
	}
	w->damage += PAIR;
	w->characters++;
	background_read(&w->utf_8, character, utf8_encode(fault->character, character));
}

/* As utf8_valid_prefix(), made for text in which faults follow each other. */
static size_t valid_run(const uint8_t *bytes, size_t len)
{
	if (bytes[0] >= 0x80 && (len < 2 || bytes[0] < 0xC2 || (bytes[1] & 0xC0) != 0x80))
		return 0;
	size_t valid = utf8_valid_prefix(bytes, len < SHORT ? len : SHORT);
	return valid < SHORT - CHARACTER ? valid : utf8_valid_prefix(bytes, len);
}

static void weigh_as_utf_8(struct weighing *w, const uint8_t *bytes, size_t len, bool complete)
{
	struct utf8_fault fault;
	size_t at = 0, valid;

	while (at < len) {
		valid = valid_run(bytes + at, len - at);
		background_read(&w->utf_8, bytes + at, valid);
		w->characters += utf8_leads(bytes + at, valid);
		at += valid;
		if (at == len)
			return;
		fault = utf8_fault(bytes + at, len - at);
		if (fault.incomplete && !complete)
			return;
		weigh_fault(w, &fault);
		at += fault.len;
	}
}

static void weigh_as_other(struct weighing *w, struct decoder *d, const uint8_t *bytes, size_t len, bool ends)
{
	uint8_t text[TEXT_BYTES];
	size_t used;

	for (size_t at = 0; at < len; at += used)
		background_read(&w->other, text, decoder_feed(d, bytes + at, len - at, &used, text, sizeof text));
	if (ends)
		background_read(&w->other, text, decoder_finish(d, text, sizeof text));
}

static int lead_so_far(const struct weighing *w)
{
	return (int)(w->other.cost - w->utf_8.cost - w->damage);
}

/* Where a piece of a node ends: not within a character of UTF-8, nor within a pair of surrogates. */
static size_t piece_end(const uint8_t *bytes, size_t at, size_t len)
{
	enum { SURROGATE = 0xED, HALF = 3 };
	size_t end = len - at < PIECE ? len : at + PIECE;

	if (end + HALF <= len && bytes[end] == SURROGATE && bytes[end - HALF] == SURROGATE)
		end += HALF;
	while (end < len && (bytes[end] & 0xC0) == 0x80)
		end++;
	return end;
}

/* Whether ASCII behind a stray byte may be a part of a longer character. */
static bool takes_ascii(enum charset cs)
{
	return charset_info(cs)->kind == KIND_DOUBLE_BYTE;
}

/* How a node fares as UTF-8 against text of another charset. */
struct weighed {
	int lead;                   /* by how much it is likelier UTF-8 */
	bool some;                  /* some of it is UTF-8: there are characters that were not cut */
	bool doubtful;              /* it has more faults than characters */
};

/* Reads no more of the node once the lead is clear. -1: out of memory. */
static int weigh_node(struct weighed *result, const uint8_t *bytes, size_t len, bool complete, enum charset other)
{
	struct weighing w = { .damage = 0 };
	struct decoder *d = decoder_new(other, 0);
	size_t end;
	bool ends;

	if (!d)
		return -1;
	for (size_t at = 0; at < len && abs(lead_so_far(&w)) < CLEAR; at = end) {
		end = piece_end(bytes, at, len);
		ends = end == len && complete;
		weigh_as_utf_8(&w, bytes + at, end - at, end < len || complete);
		weigh_as_other(&w, d, bytes + at, end - at, ends);
	}
	decoder_free(&d);
	*result = (struct weighed){ lead_so_far(&w), w.characters > 0, w.faults > w.characters };
	return 0;
}

static bool is_utf_8(const uint8_t *bytes, size_t len, bool complete)
{
	size_t valid = utf8_valid_prefix(bytes, len);

	return valid == len || (!complete && utf8_fault(bytes + valid, len - valid).incomplete);
}

/* By how much a node has to be likelier UTF-8 to be read so. Where none of it is but characters that were cut, labels
 * count only against a charset that might spoil the ASCII, too. */
static int least_lead(bool some, enum charset other, int says_utf_8)
{
	if (some)
		return -OTHER_NODE - says_utf_8;
	return takes_ascii(other) ? CUT_ALONE - says_utf_8 : CUT_ALONE;
}

int node_look(enum node_kind *kind, const uint8_t *bytes, size_t len, bool complete, enum charset other, int says_utf_8)
{
	struct weighed w;

	*kind = NODE_UTF_8;
	if (is_utf_8(bytes, len, complete))
		return 0;
	*kind = complete ? NODE_OTHER : NODE_OPEN;
	if (!has_sequence(bytes, len) && !takes_ascii(other))
		return 0;
	if (weigh_node(&w, bytes, len, complete, other) != 0)
		return -1;
	*kind = w.lead > least_lead(w.some, other, says_utf_8) ? NODE_STRAY : NODE_OTHER;
	return 0;
}

/* The two edges are searched for in turn, in stretches that double, so that the time is in
 * proportion to the node even where one of them is missing. */
size_t node_end(const uint8_t *bytes, size_t at, size_t len)
{
	const uint8_t *open, *close;
	size_t step = EDGE_STEP, end;

	for (; at < len; at = end, step *= 2) {
		end = len - at < step ? len : at + step;
		open = memchr(bytes + at, '<', end - at);
		close = memchr(bytes + at, '>', (open ? (size_t)(open - bytes) : end) - at);
		if (close || open)
			return (size_t)((close ? close : open) - bytes);
	}
	return len;
}

size_t node_start(const uint8_t *bytes, size_t from, size_t at)
{
	const uint8_t *close = memrchr(bytes + from, '>', at - from);

	if (close)
		from = (size_t)(close - bytes) + 1;
	const uint8_t *open = memrchr(bytes + from, '<', at - from);
	return open ? (size_t)(open - bytes) + 1 : from;
}

static void keep_other(struct nodes *n, const uint8_t *bytes, size_t len)
{
	size_t room = NODES_BYTES - n->len, most = len < room ? len : room;

	if (len >= room && n->len > 0)
		return;
	memcpy(n->other + n->len, bytes, most);
	n->len += most;
	if (most < room)
		n->other[n->len++] = '\n';
}

/* Adds what the node from the first byte beyond ASCII on is; `from`: where it begins. */
static int add_node(struct nodes *n, const uint8_t *bytes, size_t from, size_t at, size_t end, bool complete,
    enum charset whole, int says_utf_8)
{
	bool valid = is_utf_8(bytes + at, end - at, complete);
	struct weighed w = { .doubtful = true };

	if (valid && n->lead > ENOUGH) {
		n->utf_8++;
		return 0;
	}
	if (has_character(bytes + at, end - at) && weigh_node(&w, bytes + at, end - at, complete, whole) != 0)
		return -1;
	if (w.doubtful && !valid)
		keep_other(n, bytes + from, end - from);
	if (w.some && w.lead > -OTHER_NODE - says_utf_8) {
		n->lead += w.lead;
		n->utf_8++;
	} else if (!valid) {
		n->others++;
		n->lead -= OTHER_NODE;
	}
	return 0;
}

int nodes_read(struct nodes *n, const uint8_t *bytes, size_t len, bool complete, enum charset whole, int says_utf_8)
{
	size_t at = 0, last = 0, end;

	n->lead = 0;
	n->utf_8 = n->others = n->len = 0;
	while ((at += utf8_ascii_prefix(bytes + at, len - at)) < len) {
		end = node_end(bytes, at, len);
		if (add_node(n, bytes, node_start(bytes, last, at), at, end, end < len || complete, whole,
		        says_utf_8) != 0)
			return -1;
		at = last = end;
	}
	return 0;
}

/* Node by node no state is carried, so a charset must have none; and to begin anew for each has to cost little. */
static bool is_for_nodes(enum charset cs)
{
	enum charset_kind kind = charset_info(cs)->kind;

	return kind == KIND_SINGLE_BYTE || kind == KIND_DOUBLE_BYTE;
}

/* Whether all bytes except a few stray ones can be read as a charset of nodes. -1: out of memory. */
static int fits_nodes(enum charset cs, const uint8_t *bytes, size_t len)
{
	struct decoder_trial t;

	if (!is_for_nodes(cs))
		return 0;
	if (decoder_try(cs, bytes, len, false, &t) != 0)
		return errno == EINVAL ? 0 : -1;
	return t.reads;
}

int nodes_charset(enum charset *cs, const uint8_t *bytes, size_t len, const struct hints *hints,
    const struct proposal *proposals, size_t n)
{
	struct detection d;
	int fits = 0;

	*cs = CS_WINDOWS_1252;
	if (detector_weigh(&d, bytes, len, hints, proposals, n) != 0)
		return -1;
	for (size_t i = 0; i < d.n && d.is_text && fits == 0; i++) {
		fits = fits_nodes(d.readings[i].charset, bytes, len);
		if (fits > 0)
			*cs = d.readings[i].charset;
	}
	return fits < 0 ? -1 : 0;
}

int nodes_second(enum charset *cs, const uint8_t *bytes, size_t len, const struct hints *hints,
    const struct proposal *known, size_t n)
{
	struct detection d;

	*cs = known[0].charset;
	if (detector_weigh(&d, bytes, len, hints, known, n) != 0)
		return -1;
	if (d.n == 0 || !d.is_text || d.readings[0].charset == *cs)
		return 0;
	int fits = fits_nodes(d.readings[0].charset, bytes, len);
	if (fits > 0)
		*cs = d.readings[0].charset;
	return fits < 0 ? -1 : 0;
}
