/* Owns telling nodes of UTF-8 from others; see nodes.h. */
#include "core/evidence/nodes.h"

#include <errno.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "core/text/utf8.h"

enum {
	/* In text of a two-byte set one character in ten is well-formed UTF-8, so a node has two of them by accident
	 * now and then; longer ones hardly ever. */
	ACCIDENT = 2,
	/* A node with fewer well-formed characters for each stray byte is no UTF-8, if it may be of a two-byte set. */
	PER_STRAY_OF_PAIRS = 3,
	/* So many stray bytes, and fewer than half as many characters beside them, are no UTF-8 whatever follows. */
	STRAY_ENOUGH = 16,
	COUNT_STEP = 64,
	TRAILS_MOST = 3,
	EDGE_STEP = 64,
	/* The least that counts against accident in a text, and against a label. */
	ENOUGH = 3,
	ENOUGH_AGAINST_LABEL = 12,
	/* So many nodes of another set have one such accident at most. */
	OTHERS_PER_ACCIDENT = 10
};

/* Counts as utf8_count() does, and ends where so many bytes are stray that no more of the text makes it UTF-8. */
static struct utf8_count count_some(const uint8_t *bytes, size_t len)
{
	struct utf8_count n = { 0 }, more;
	size_t at = 0, step;

	for (; at < len && (n.stray < STRAY_ENOUGH || n.multibyte > n.stray / 2); at += step) {
		step = len - at < COUNT_STEP ? len - at : COUNT_STEP;
		while (at + step < len && step < COUNT_STEP + TRAILS_MOST && (bytes[at + step] & 0xC0) == 0x80)
			step++;
		more = utf8_count(bytes + at, step, at + step < len);
		n.multibyte += more.multibyte;
		n.stray += more.stray;
	}
	return n;
}

struct node node_look(const uint8_t *bytes, size_t len, bool complete, bool pairs)
{
	struct utf8_count n;

	if (utf8_is_far(bytes, len))
		return (struct node){ NODE_OTHER, 0 };
	if (utf8_valid_prefix(bytes, len) == len)
		return (struct node){ NODE_UTF_8, utf8_leads(bytes, len) };
	n = count_some(bytes, len);
	if (n.stray == 0 && !complete)
		return (struct node){ NODE_UTF_8, n.multibyte };
	if (n.multibyte > 0 && n.multibyte >= n.stray * (pairs ? PER_STRAY_OF_PAIRS : 1))
		return (struct node){ NODE_STRAY, n.multibyte };
	return (struct node){ NODE_OTHER, n.multibyte };
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

void nodes_read(struct nodes *n, const uint8_t *bytes, size_t len, bool complete, bool pairs)
{
	size_t at = 0, last = 0, from, end;
	struct node node;

	n->utf_8 = n->others = n->len = 0;
	while ((at += utf8_ascii_prefix(bytes + at, len - at)) < len) {
		end = node_end(bytes, at, len);
		node = node_look(bytes + at, end - at, end < len || complete, pairs);
		if (node.kind != NODE_OTHER) {
			n->utf_8 += node.multibyte > ACCIDENT ? node.multibyte - ACCIDENT : 0;
		} else {
			from = node_start(bytes, last, at);
			keep_other(n, bytes + from, end - from);
			n->others++;
		}
		at = last = end;
	}
}

bool nodes_are_mixed(const struct nodes *n, bool labelled)
{
	size_t enough = labelled ? ENOUGH_AGAINST_LABEL + n->others : ENOUGH + n->others / OTHERS_PER_ACCIDENT;

	return n->utf_8 >= enough;
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
