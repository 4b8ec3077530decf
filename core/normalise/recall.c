/* Owns asking a caller's memory whether these very bytes were decided on before; see recall.h. */
#include "core/normalise/recall.h"

#include <stdlib.h>
#include <string.h>

static struct normalise_piece piece_of_text(const char *text)
{
	return (struct normalise_piece){ text, text ? strlen(text) : 0 };
}

/* What is absent differs from what is empty: a body without a Content-Type is not one with an empty one. */
void normalise_name(const struct normalise_memory *m, const struct normalise_options *o, const char *coding,
    bool complete, const uint8_t *bytes, size_t len, struct normalise_name *name)
{
	const uint64_t facts[] = { o->policy, o->forced, o->http, o->repairs, o->characters, o->output, o->sniff_bytes,
		complete, o->unpacked, o->content_type != NULL, o->content_language != NULL, o->base != NULL,
		o->gateway != NULL };
	const struct normalise_piece pieces[] = {
		{ facts, sizeof facts },
		{ o->content_type, o->content_type ? o->content_type_len : 0 },
		{ o->content_language, o->content_language ? o->content_language_len : 0 },
		piece_of_text(o->base),
		piece_of_text(o->gateway),
		piece_of_text(coding),
		{ bytes, len },
	};

	m->name(m->arg, pieces, sizeof pieces / sizeof pieces[0], name);
}

bool recall_ask(struct recall *r, const struct normalise_options *o, const uint8_t *held, size_t len, bool complete)
{
	const struct normalise_learned *found;

	if (!r->memory || r->asked)
		return r->recalled;
	normalise_name(r->memory, o, "", complete, held, len, &r->name);
	r->asked = true;
	found = r->memory->recall(r->memory->arg, &r->name);
	if (!found)
		return false;
	r->found = *found;
	r->recalled = true;
	return true;
}

void recall_verdict(const struct recall *r, struct evidence *e, struct verdict *v)
{
	*v = r->found.verdict;
	e->utf8 = r->found.utf8;
	e->hints = r->found.hints;
}

static void recall_keep(const struct recall *r)
{
	r->memory->keep(r->memory->arg, &r->name, &r->found);
}

void recall_decided(struct recall *r, const struct evidence *e, const struct verdict *v)
{
	if (!r->asked)
		return;
	r->found = (struct normalise_learned){ .verdict = *v, .utf8 = e->utf8, .hints = e->hints };
	if (!e->complete)
		recall_keep(r);
	r->named = e->complete;
}

bool recall_is_same(const struct recall *r)
{
	return r->recalled && r->found.same;
}

const struct normalise_name *recall_window(const struct recall *r, const struct evidence *e)
{
	return r->recalled && !e->complete ? &r->name : NULL;
}

unsigned recall_repairs(const struct recall *r, unsigned repairs)
{
	return r->recalled && r->found.sound ? repairs & REPAIR_PROLOG : repairs;
}

void recall_watch(struct recall *r, const uint8_t *held, size_t len)
{
	r->watches = r->named;
	r->left = held;
	r->left_len = len;
}

void recall_written(struct recall *r, const uint8_t *bytes, size_t len)
{
	if (!r->watches)
		return;
	if (len > r->left_len || (bytes != r->left && memcmp(bytes, r->left, len) != 0)) {
		r->watches = false;
		return;
	}
	r->left += len;
	r->left_len -= len;
}

void recall_take(struct recall *r, uint8_t *held)
{
	if (r->watches && r->left_len > 0)
		r->held = held;
	else
		free(held);
}

void recall_free(struct recall *r)
{
	free(r->held);
	r->held = NULL;
}

/* Whether the report counts nothing but bytes. */
static bool is_uneventful(const struct normalise_report *report)
{
	uint64_t repairs = 0;
	size_t i;

	for (i = 0; i < REPAIR_COUNT; i++)
		repairs |= report->repairs[i];
	return !(repairs | report->malformed | report->others | report->lost | report->led) && !report->revised;
}

void recall_end(struct recall *r, const struct normalise_report *report, bool sound)
{
	if (r->named) {
		r->found.same = r->watches && r->left_len == 0 && is_uneventful(report);
		r->found.sound = sound;
		r->found.bytes = report->bytes_out;
		recall_keep(r);
	}
	r->named = false;
}
