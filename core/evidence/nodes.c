/* Owns telling nodes of UTF-8 from others; see nodes.h. */
#include "core/evidence/nodes.h"

#include <errno.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "core/evidence/background.h"
#include "core/text/utf8.h"
#include "core/text/utf8_fault.h"

enum {
	/* What damage costs: a stray byte, a character that was cut or is forbidden, a pair of surrogates. */
	FAULT = 7 * LANGUAGE_NAT,
	PAIR = 2 * LANGUAGE_NAT,
	/* What a node of another charset costs in a text of UTF-8, in which a node is UTF-8 more often than not. */
	OTHER_NODE = 3 * LANGUAGE_NAT,
	/* By so much a node has to be likelier UTF-8 of which nothing is but characters that were cut. */
	CUT_ALONE = 4 * LANGUAGE_NAT,
	TEXT_BYTES = 1024,
	EDGE_STEP = 64
};

/* Whether there is a lead with a trail behind it, without which nothing is UTF-8. */
static bool has_sequence(const uint8_t *bytes, size_t len)
{
	size_t i;

	for (i = 1; i < len; i++)
		if ((bytes[i] & 0xC0) == 0x80 && bytes[i - 1] >= 0xC0)
			return true;
	return false;
}

/* A text as UTF-8: what it costs, with what its damage costs, and whether any of it is UTF-8 indeed. */
struct as_utf_8 {
	struct background text;
	unsigned damage;
	bool is_some;
};

static void read_fault(struct as_utf_8 *u, const struct utf8_fault *fault)
{
	uint8_t character[4];

	if (fault->kind != FAULT_PAIR) {
		u->damage += FAULT;
		return;
	}
	u->damage += PAIR;
	u->is_some = true;
	background_read(&u->text, character, utf8_encode(fault->character, character));
}

static void read_utf_8(struct as_utf_8 *u, const uint8_t *bytes, size_t len, bool complete)
{
	struct utf8_fault fault;
	size_t at = 0, valid;

	*u = (struct as_utf_8){ .damage = 0 };
	while (at < len) {
		valid = utf8_valid_prefix(bytes + at, len - at);
		background_read(&u->text, bytes + at, valid);
		u->is_some |= utf8_ascii_prefix(bytes + at, valid) < valid;
		at += valid;
		if (at == len)
			return;
		fault = utf8_fault(bytes + at, len - at);
		if (fault.incomplete && !complete)
			return;
		read_fault(u, &fault);
		at += fault.len;
	}
}

/* What the text costs in a charset. -1: out of memory. */
static int read_other(unsigned *cost, const uint8_t *bytes, size_t len, bool complete, enum charset cs)
{
	struct background b = { 0 };
	struct decoder *d = decoder_new(cs, 0);
	uint8_t text[TEXT_BYTES];
	size_t at, used;

	if (d == NULL)
		return -1;
	for (at = 0; at < len; at += used)
		background_read(&b, text, decoder_feed(d, bytes + at, len - at, &used, text, sizeof text));
	if (complete)
		background_read(&b, text, decoder_finish(d, text, sizeof text));
	decoder_free(&d);
	*cost = b.cost;
	return 0;
}

/* Whether ASCII behind a stray byte may be a part of a longer character. */
static bool takes_ascii(enum charset cs)
{
	return charset_info(cs)->kind == KIND_DOUBLE_BYTE;
}

/* By how much a node is likelier UTF-8 than text of the other charset; *some false: none of it is UTF-8 but characters
 * that were cut. */
static int weigh_node(int *lead, bool *some, const uint8_t *bytes, size_t len, bool complete, enum charset other)
{
	struct as_utf_8 u;
	unsigned cost;

	*lead = 0;
	*some = false;
	if (!has_sequence(bytes, len) && !takes_ascii(other))
		return 0;
	read_utf_8(&u, bytes, len, complete);
	*some = u.is_some;
	if (read_other(&cost, bytes, len, complete, other) != 0)
		return -1;
	*lead = (int)(cost - u.text.cost - u.damage);
	return 0;
}

static bool is_well_formed(const uint8_t *bytes, size_t len, bool complete)
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
	bool some;
	int lead;

	*kind = NODE_UTF_8;
	if (is_well_formed(bytes, len, complete))
		return 0;
	if (weigh_node(&lead, &some, bytes, len, complete, other) != 0)
		return -1;
	if (lead > least_lead(some, other, says_utf_8))
		*kind = NODE_STRAY;
	else
		*kind = complete || takes_ascii(other) || has_sequence(bytes, len) ? NODE_OTHER : NODE_OPEN;
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
		close = memchr(bytes + at, '>', (open != NULL ? (size_t)(open - bytes) : end) - at);
		if (close != NULL || open != NULL)
			return (size_t)((close != NULL ? close : open) - bytes);
	}
	return len;
}

size_t node_start(const uint8_t *bytes, size_t from, size_t at)
{
	const uint8_t *close = memrchr(bytes + from, '>', at - from), *open;

	if (close != NULL)
		from = (size_t)(close - bytes) + 1;
	open = memrchr(bytes + from, '<', at - from);
	return open != NULL ? (size_t)(open - bytes) + 1 : from;
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
	bool some;
	int lead;

	if (weigh_node(&lead, &some, bytes + at, end - at, complete, whole) != 0)
		return -1;
	if (some && lead > -OTHER_NODE - says_utf_8) {
		n->lead += lead;
		n->utf_8++;
		return 0;
	}
	if (is_well_formed(bytes + at, end - at, complete))
		return 0;
	keep_other(n, bytes + from, end - from);
	n->others++;
	n->lead -= OTHER_NODE;
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

int nodes_charset(enum charset *cs, const uint8_t *bytes, size_t len, const struct hints *hints,
    const struct proposal *proposals, size_t n)
{
	struct decoder_trial t;
	struct detection d;
	size_t i;

	*cs = CS_WINDOWS_1252;
	if (detector_weigh(&d, bytes, len, hints, proposals, n) != 0)
		return -1;
	for (i = 0; i < d.n && d.is_text; i++) {
		if (!is_for_nodes(d.readings[i].charset))
			continue;
		if (decoder_try(d.readings[i].charset, bytes, len, false, &t) != 0) {
			if (errno != EINVAL)
				return -1;
		} else if (t.accepts) {
			*cs = d.readings[i].charset;
			return 0;
		}
	}
	return 0;
}
