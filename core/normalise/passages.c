/* Owns passing on, unread, stretches of a body that have come before; see passages.h. */
#include "core/normalise/passages.h"

#include <string.h>

enum { EDGE = '>' };    /* behind it a token has mostly ended */

void passages_begin(struct passages *p, const struct normalise_memory *memory, const struct normalise_name *window)
{
	p->memory = memory->passage_bytes > 0 ? memory : NULL;
	p->window = *window;
}

/* How many of these bytes belong to the passage at hand. *ends false: all, and it goes on behind them. */
static size_t passage_len(const struct passages *p, const uint8_t *in, size_t len, bool *ends)
{
	uint64_t least = p->least > p->at ? p->least - p->at : 0;
	const uint8_t *edge = NULL;

	if (p->at == 0)
		edge = memrchr(in, EDGE, len);
	else if (least < len)
		edge = memchr(in + least, EDGE, len - (size_t)least);
	*ends = edge != NULL;
	return edge ? (size_t)(edge - in) + 1 : len;
}

size_t passages_slice(const struct passages *p, const uint8_t *in, size_t len, size_t most)
{
	bool ends = false;
	size_t n = p->memory && len > most ? passage_len(p, in, most, &ends) : 0;

	if (ends)
		return n;
	return len < most ? len : most;
}

/* False: it has no name, since nothing can be said of the repairs before it. The bytes of the first are those of the
 * window, which has a name. */
static bool passage_name(const struct passages *p, const uint8_t *in, size_t len, struct normalise_name *name)
{
	bool first = p->at == 0;
	struct repair_state before;
	const struct normalise_piece pieces[] = {
		{ &p->window, sizeof p->window },
		{ &before, first ? 0 : sizeof before },
		{ in, first ? 0 : len },
	};

	if (!first && !recode_save(p->recode, &before))
		return false;
	p->memory->name(p->memory->arg, pieces, sizeof pieces / sizeof pieces[0], name);
	return true;
}

/* Whether the passage is known; then it has gone by. */
static bool passage_recall(const struct passages *p, const struct normalise_name *name, size_t len)
{
	const struct repair_state *behind = p->memory->recall_passage(p->memory->arg, name);

	if (behind)
		recode_restore(p->recode, behind, len);
	return behind != NULL;
}

/* name: that of a whole passage; NULL: it has none, or this is a part of it. The window's own repairs follow from its
 * name, so the passages behind it may be kept; a repair behind the window ends that for this body. */
static int passage_read(struct passages *p, const struct normalise_name *name, const uint8_t *in, size_t len)
{
	uint64_t events = recode_events(p->recode), written = *p->written;
	struct repair_state behind;
	int rc = recode_feed(p->recode, in, len);

	if (rc)
		return rc;
	if (recode_events(p->recode) != events) {
		if (p->at > 0)
			p->memory = NULL;
		return 0;
	}
	if (name && *p->written - written == len && recode_save(p->recode, &behind))
		p->memory->keep_passage(p->memory->arg, name, &behind);
	return 0;
}

int passages_feed(struct passages *p, const uint8_t *in, size_t len)
{
	int rc = 0;

	while (rc == 0 && len > 0 && p->memory) {
		bool ends;
		size_t n = passage_len(p, in, len, &ends);
		struct normalise_name name;
		bool named = ends && !p->cut && passage_name(p, in, n, &name);

		if (named && passage_recall(p, &name, n))
			rc = p->sink.write(p->sink.arg, in, n);
		else
			rc = passage_read(p, named ? &name : NULL, in, n);
		p->at += n;
		p->cut = !ends;
		if (ends && p->memory)
			p->least = p->at + p->memory->passage_bytes;
		in += n;
		len -= n;
	}
	return rc || len == 0 ? rc : recode_feed(p->recode, in, len);
}
