/* Owns the stream of nodes; see mixed.h. */
#include "core/normalise/mixed.h"

#include <stdbool.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "core/evidence/nodes.h"
#include "core/memory/held.h"
#include "core/memory/spares.h"
#include "core/text/utf8.h"

enum {
	HELD_FIRST = 512,
	OUT_BYTES = 4096,
	SAYS_ENOUGH = 12,               /* Bytes beyond ASCII in a node by which the other charset is settled. */
	TRIES_MAX = 16,                 /* Nodes with fewer that are asked; then the last one's is settled. */
	/* What the settled charset weighs against others, by which a node may be in a second one. */
	SETTLED = 16 * LANGUAGE_NAT,
	SAYS_SECOND = 6,                /* bytes beyond ASCII in a node that is asked for a second charset */
	ASKED_MAX = 256                 /* nodes that are asked for it */
};

struct mixed {
	struct spares *spares;
	struct sink sink;
	enum charset other;             /* CS_NONE: no node has said which. */
	unsigned tries;                 /* Nodes that were asked and were too short to settle it. */
	enum charset second;            /* That of some nodes that `other` does not fit; CS_NONE: none. */
	unsigned asked;                 /* Nodes that were asked for it. */
	enum charset read_as;           /* That of `others`. */
	struct hints hints;
	int says_utf_8;                 /* What labels say for it. */
	struct decoder *strays;         /* Reads UTF-8 and stray bytes. */
	struct decoder *others;         /* NULL: there was no such node. */
	struct decoder *rest;           /* Reads the rest of a node longer than NODE_MAX; NULL: there is none. */
	uint64_t nodes, malformed;      /* Malformed: what decoders that are closed have counted. */
	struct held held;               /* The open node from its first byte beyond ASCII on. */
};

struct mixed *mixed_new(struct sink sink, struct spares *spares)
{
	struct mixed *m = spares_take(spares, sizeof(*m));

	if (!m)
		return NULL;
	m->spares = spares;
	m->sink = sink;
	m->strays = decoder_new(CS_UTF_8, DECODER_STRAYS);
	if (!m->strays)
		mixed_free(&m);
	return m;
}

void mixed_free(struct mixed **m)
{
	if (*m) {
		decoder_free(&(*m)->strays);
		decoder_free(&(*m)->others);
		held_free(&(*m)->held);
		spares_give((*m)->spares, *m, sizeof(**m));
	}
	*m = NULL;
}

int mixed_set_other(struct mixed *m, enum charset other, const struct hints *hints, int says_utf_8)
{
	m->other = other;
	m->says_utf_8 = says_utf_8;
	m->hints = *hints;
	return other == CS_NONE || decoder_set_strays(m->strays, other) == 0 ? 0 : -1;
}

static int mixed_emit(const struct mixed *m, const uint8_t *text, size_t len)
{
	return len > 0 ? m->sink.write(m->sink.arg, text, len) : 0;
}

static int mixed_decode(const struct mixed *m, struct decoder *d, const uint8_t *in, size_t len)
{
	uint8_t text[OUT_BYTES];
	int rc = 0;

	while (rc == 0 && len > 0) {
		size_t used = 0, out = decoder_feed(d, in, len, &used, text, sizeof(text));

		rc = mixed_emit(m, text, out);
		in += used;
		len -= used;
	}
	return rc;
}

static int end_node(const struct mixed *m, struct decoder *d)
{
	uint8_t text[DECODER_MIN_OUT];

	return mixed_emit(m, text, decoder_finish(d, text, sizeof(text)));
}

/* Whether a node has so many bytes beyond ASCII. */
static bool says(const uint8_t *node, size_t len, size_t enough)
{
	size_t beyond = 0;

	for (size_t i = 0; i < len && beyond < enough; i++)
		beyond += node[i] >= 0x80;
	return beyond == enough;
}

/* The charset that a node would be in if it were not UTF-8. */
static int find_other(const struct mixed *m, enum charset *other, const uint8_t *node, size_t len)
{
	*other = m->other;
	return *other != CS_NONE ? 0 : nodes_charset(other, node, len, &m->hints, NULL, 0);
}

/* From now on all other nodes are read as this charset, if this one says enough. */
static int settle_other(struct mixed *m, enum charset other, const uint8_t *node, size_t len, bool ends)
{
	if (m->other != CS_NONE || (ends && !says(node, len, SAYS_ENOUGH) && ++m->tries < TRIES_MAX))
		return 0;
	m->other = other;
	return decoder_set_strays(m->strays, other) == 0 ? 0 : -1;
}

/* Which of two charsets a node is in. The second is the first charset that fits some node far better than the settled
 * one. */
static int choose_other(struct mixed *m, enum charset *other, const uint8_t *node, size_t len)
{
	const struct proposal known[] = { { m->other, SETTLED }, { m->second, SETTLED } };
	enum charset found;

	*other = m->other;
	if (m->asked == ASKED_MAX || !says(node, len, SAYS_SECOND))
		return 0;
	m->asked++;
	if (nodes_second(&found, node, len, &m->hints, known, m->second == CS_NONE ? 1 : 2) != 0)
		return -1;
	if (found != m->other && m->second == CS_NONE)
		m->second = found;
	*other = found == m->second ? found : m->other;
	return 0;
}

static int open_others(struct mixed *m, enum charset other)
{
	if (m->others && m->read_as == other)
		return 0;
	if (m->others)
		m->malformed += decoder_malformed(m->others);
	decoder_free(&m->others);
	m->read_as = other;
	m->others = decoder_new(other, 0);
	return m->others ? 0 : -1;
}

/* The decoder of a node that is not well-formed; NULL: out of memory. */
static struct decoder *decoder_of(struct mixed *m, const uint8_t *node, size_t len, bool ends)
{
	enum node_kind kind;
	enum charset other;

	if (find_other(m, &other, node, len) != 0 || node_look(&kind, node, len, ends, other, m->says_utf_8) != 0)
		return NULL;
	if (kind == NODE_UTF_8 || kind == NODE_STRAY)
		return m->strays;
	if (m->other != CS_NONE && choose_other(m, &other, node, len) != 0)
		return NULL;
	if (settle_other(m, other, node, len, ends) != 0)
		return NULL;
	if (kind == NODE_OPEN)
		return m->strays;               /* reads the same of it, and UTF-8 in the rest */
	if (open_others(m, other) != 0)
		return NULL;
	m->nodes++;
	return m->others;
}

/* Writes a node from its first byte beyond ASCII on. ends: these bytes are all of it; else the rest is read as they
 * are. */
static int write_node(struct mixed *m, const uint8_t *node, size_t len, bool ends)
{
	bool valid = utf8_valid_prefix(node, len) == len;
	struct decoder *d = valid ? m->strays : decoder_of(m, node, len, ends);

	if (!d)
		return -1;
	if (valid && ends)
		return mixed_emit(m, node, len);
	int rc = mixed_decode(m, d, node, len);
	if (!ends)
		m->rest = d;
	return rc || !ends ? rc : end_node(m, d);
}

/* The next piece of the input: what it takes is added to *at. */
static int feed_rest(struct mixed *m, const uint8_t *in, size_t *at, size_t len)
{
	size_t end = node_end(in, *at, len);
	int rc = mixed_decode(m, m->rest, in + *at, end - *at);

	*at = end;
	if (rc == 0 && end < len) {
		rc = end_node(m, m->rest);
		m->rest = NULL;
	}
	return rc;
}

static int feed_held_node(struct mixed *m, const uint8_t *in, size_t *at, size_t len)
{
	size_t most = len - *at < NODE_MAX - m->held.len ? len : *at + NODE_MAX - m->held.len;
	size_t end = node_end(in, *at, most);

	if (held_add(&m->held, in + *at, end - *at, HELD_FIRST) != 0)
		return -1;
	*at = end;
	size_t held = m->held.len;
	if (end == most && held < NODE_MAX)
		return 0;
	m->held.len = 0;
	return write_node(m, m->held.bytes, held, end < most);
}

/* Takes the node whose first byte beyond ASCII is at *at. */
static int feed_node(struct mixed *m, const uint8_t *in, size_t *at, size_t len)
{
	size_t from = *at, most = len - from < NODE_MAX ? len : from + NODE_MAX, end = node_end(in, from, most);

	*at = end;
	if (end == most && end - from < NODE_MAX)
		return held_add(&m->held, in + from, end - from, HELD_FIRST);
	return write_node(m, in + from, end - from, end < most);
}

/* Passes well-formed text on, up to the node that may be malformed: the first one with a bad byte, or the open one. */
static int feed_text(struct mixed *m, const uint8_t *in, size_t *at, size_t len)
{
	size_t valid = *at + utf8_valid_prefix(in + *at, len - *at);
	size_t node = node_start(in, *at, valid);

	node += utf8_ascii_prefix(in + node, valid - node);
	int rc = mixed_emit(m, in + *at, node - *at);
	*at = node;
	return rc || node == len ? rc : feed_node(m, in, at, len);
}

int mixed_feed(struct mixed *m, const uint8_t *in, size_t len)
{
	size_t at = 0;
	int rc = 0;

	while (rc == 0 && at < len) {
		if (m->rest)
			rc = feed_rest(m, in, &at, len);
		else if (m->held.len > 0)
			rc = feed_held_node(m, in, &at, len);
		else
			rc = feed_text(m, in, &at, len);
	}
	return rc;
}

int mixed_finish(struct mixed *m)
{
	struct decoder *rest = m->rest;
	size_t held = m->held.len;

	m->rest = NULL;
	m->held.len = 0;
	if (rest)
		return end_node(m, rest);
	return held > 0 ? write_node(m, m->held.bytes, held, true) : 0;
}

uint64_t mixed_malformed(const struct mixed *m)
{
	return m->malformed + decoder_malformed(m->strays) + (m->others ? decoder_malformed(m->others) : 0);
}

uint64_t mixed_others(const struct mixed *m)
{
	return m->nodes;
}
