/* Owns reading and writing one tag; see repair_tag.h.
 * Text that only looks like a tag (`x <y and z`, `<me@example.org>`, a value whose quote does not end) is none, so that
 * nothing of it is lost. */
#include "core/repair/repair_tag.h"

#include <string.h>
#include <strings.h>

#include "core/repair/repair_name.h"

enum step { STEP_ATTRIBUTE, STEP_JUNK, STEP_END, STEP_EMPTY, STEP_CUT, STEP_NONE };

struct attribute {
	size_t from;                    /* the white space before it */
	size_t name, name_len;
	size_t value, value_len;
	size_t to;                      /* behind it */
	bool has_value;
	uint8_t quote;                  /* 0: none */
};

static size_t tag_skip_space(const uint8_t *in, size_t at, size_t len)
{
	while (at < len && name_is_space(in[at]))
		at++;
	return at;
}

/* ---- reading ---- */

static enum step step_value(struct attribute *a, const uint8_t *in, size_t len, size_t at)
{
	const uint8_t *end;

	if (at == len)
		return STEP_CUT;
	a->has_value = true;
	if (in[at] == '"' || in[at] == '\'') {
		a->quote = in[at];
		a->value = at + 1;
		end = memchr(in + a->value, a->quote, len - a->value);
		if (!end)
			return STEP_CUT;
		a->value_len = (size_t)(end - in) - a->value;
		a->to = a->value + a->value_len + 1;
		return STEP_ATTRIBUTE;
	}
	a->quote = 0;
	a->value = at;
	for (; at < len && in[at] != '>' && !name_is_space(in[at]); at++)
		if (in[at] == '<' || in[at] == '"' || in[at] == '\'' || in[at] == '`')
			return STEP_NONE;
	a->value_len = at - a->value;
	a->to = at;
	return at == len ? STEP_CUT : STEP_ATTRIBUTE;
}

static enum step step_attribute(struct attribute *a, const uint8_t *in, size_t len, size_t at)
{
	a->from = at;
	a->name = at = tag_skip_space(in, at, len);
	a->has_value = false;
	if (at == len || (in[at] == '/' && at + 1 == len))
		return STEP_CUT;
	a->to = at + 1;
	if (in[at] == '>')
		return STEP_END;
	if (in[at] == '/' && in[at + 1] == '>') {
		a->to++;
		return STEP_EMPTY;
	}
	a->name_len = name_length(in + at, len - at);
	if (a->name_len == 0)
		return memchr("\"',;/=", in[at], 6) ? STEP_JUNK : STEP_NONE;
	a->to = at + a->name_len;
	at = tag_skip_space(in, a->to, len);
	if (at == len)
		return STEP_CUT;
	return in[at] == '=' ? step_value(a, in, len, tag_skip_space(in, at + 1, len)) : STEP_ATTRIBUTE;
}

/* The offset of the next "<" or "&" of a value. */
static size_t value_stop(const uint8_t *in, size_t at, size_t end)
{
	typedef uint8_t lanes __attribute__((vector_size(16)));
	typedef uint64_t halves __attribute__((vector_size(16)));

	for (; at + sizeof(lanes) <= end; at += sizeof(lanes)) {
		lanes v;
		halves hit;

		memcpy(&v, in + at, sizeof(v));
		hit = (halves)((lanes)(v == '<') | (lanes)(v == '&'));
		if (hit[0] | hit[1])
			break;
	}
	while (at < end && in[at] != '<' && in[at] != '&')
		at++;
	return at;
}

static bool value_is_clean(struct tag *t, const struct tag_rules *r, const uint8_t *in, const struct attribute *a)
{
	size_t end = a->value + a->value_len, at = a->value;
	struct reference_number number;
	bool clean = true;

	while ((at = value_stop(in, at, end)) < end) {
		if (in[at] == '<') {
			t->markup = true;
			clean = clean && !r->ampersands;
			at++;
		} else {
			struct reference found = reference_read(r->references, &number, in + at, end - at, true);

			clean = clean && found.kind == REFERENCE_KEEP;
			at += found.len;
		}
	}
	return clean;
}

static bool is_known(const struct tag *t, const uint8_t *in, unsigned before, const struct attribute *a)
{
	for (unsigned i = 0; i < before; i++)
		if (t->attribute[i].len == a->name_len &&
		    memcmp(in + t->attribute[i].at, in + a->name, a->name_len) == 0)
			return true;
	return false;
}

static bool note_name(struct tag *t, const uint8_t *in, const struct attribute *a)
{
	bool known = t->attributes > 0 && is_known(t, in, t->attributes, a);

	if (t->attributes < TAG_ATTRIBUTES_MAX)
		t->attribute[t->attributes++] = (struct tag_name){ (uint16_t)a->name, (uint16_t)a->name_len };
	t->colons |= memchr(in + a->name, ':', a->name_len) != NULL;
	return known;
}

/* HTML's attributes that are written without a value. */
static bool is_switch(const uint8_t *name, size_t len)
{
	static const char *const switches[] = { "allowfullscreen", "async", "autofocus", "autoplay", "checked",
		"compact", "controls", "declare", "defer", "disabled", "hidden", "ismap", "loop", "multiple", "muted",
		"nohref", "noresize", "noshade", "nowrap", "readonly", "required", "reversed", "selected" };

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (strlen(switches[i]) == len && strncasecmp(switches[i], (const char *)name, len) == 0)
			return true;
	return false;
}

/* Words that are not attributes: without an attribute beside them the whole is text. */
struct doubts {
	bool word, value;
};

/* Whether the attribute may be one of a tag. Sets *clean false where it must be mended. */
static bool judge_attribute(struct tag *t, const struct tag_rules *r, const uint8_t *in, size_t len,
    const struct attribute *a, struct doubts *d, bool *clean)
{
	bool before = t->markup;

	if ((note_name(t, in, a) || a->name == a->from || !a->has_value || a->quote == 0) && r->tags)
		*clean = false;
	if (!a->has_value) {
		d->word |= !is_switch(in + a->name, a->name_len);
		return true;
	}
	d->value = true;
	if (a->value_len > 0 && !value_is_clean(t, r, in, a))
		*clean = false;
	if (before == t->markup)
		return true;
	return a->to < len && (name_is_space(in[a->to]) || in[a->to] == '/' || in[a->to] == '>');
}

static enum tag_state read_start(struct tag *t, const struct tag_rules *r, const uint8_t *in, size_t len)
{
	struct doubts doubts = { false, false };
	size_t at = t->name.at + t->name.len;
	bool clean = true;
	struct attribute a;

	for (bool first = true;; first = false, at = a.to) {
		switch (step_attribute(&a, in, len, at)) {
		case STEP_CUT:
			return TAG_CUT;
		case STEP_NONE:
			return TAG_NONE;
		case STEP_JUNK:
			if (first && a.name == a.from)
				return TAG_NONE;
			clean = clean && !r->tags;
			break;
		case STEP_ATTRIBUTE:
			if (a.to == len)
				return TAG_CUT;
			if (!judge_attribute(t, r, in, len, &a, &doubts, &clean))
				return TAG_NONE;
			break;
		case STEP_EMPTY:
			t->empty = true;
			/* fallthrough */
		case STEP_END:
			if (doubts.word && (t->markup || !doubts.value))
				return TAG_NONE;
			t->tail = a.from;
			t->len = a.to;
			return clean ? TAG_CLEAN : TAG_FAULTY;
		}
	}
}

/* What stands in an end tag behind its name means nothing; where the next tag begins there its ">" was forgotten. */
static enum tag_state read_end(struct tag *t, const uint8_t *in, size_t len)
{
	size_t at = tag_skip_space(in, (size_t)t->name.at + t->name.len, len);

	t->tail = at;
	while (at < len && in[at] != '>' && in[at] != '<')
		at++;
	if (at == len)
		return TAG_CUT;
	if (in[at] == '<' && at != t->tail)
		return TAG_NONE;
	t->len = at + (in[at] == '>');
	return in[at] == '>' && at == t->tail ? TAG_CLEAN : TAG_FAULTY;
}

void tag_read(struct tag *t, const struct tag_rules *r, const uint8_t *in, size_t len)
{
	t->end = len > 1 && in[1] == '/';
	t->gateway = 0;
	t->empty = t->colons = t->markup = false;
	t->attributes = 0;
	t->len = 0;
	t->name.len = 0;
	size_t start = t->end ? 2 : 1;
	size_t n = len > start ? name_length(in + start, len - start) : 0;
	t->state = start + n >= len ? TAG_CUT : TAG_NONE;
	if (n == 0 || t->state == TAG_CUT)
		return;
	t->name = (struct tag_name){ (uint16_t)start, (uint16_t)n };
	t->state = t->end ? read_end(t, in, len) : read_start(t, r, in, len);
}

size_t tag_find(const struct tag *t, const uint8_t *in, const char *name, size_t *len)
{
	struct attribute a;

	for (size_t at = (size_t)t->name.at + t->name.len; at < t->tail; at = a.to)
		if (step_attribute(&a, in, t->len, at) == STEP_ATTRIBUTE && a.has_value && a.name_len == strlen(name) &&
		    memcmp(in + a.name, name, a.name_len) == 0) {
			*len = a.value_len;
			return a.value;
		}
	return 0;
}

/* ---- writing ---- */

static int tag_put(struct sink sink, const void *text, size_t len)
{
	return len > 0 ? sink.write(sink.arg, text, len) : 0;
}

static int write_text(const struct tag_rules *r, const uint8_t *in, size_t at, size_t end, struct sink sink)
{
	size_t run = at;
	struct reference_number number;
	char text[REFERENCE_TEXT_MAX];
	int rc = 0;

	while (rc == 0 && (at = value_stop(in, at, end)) < end) {
		struct reference found = { .kind = r->ampersands ? REFERENCE_BARE : REFERENCE_KEEP, .len = 1 };

		if (in[at] == '&')
			found = reference_read(r->references, &number, in + at, end - at, true);
		if (found.kind != REFERENCE_KEEP) {
			rc = tag_put(sink, in + run, at - run);
			if (rc == 0 && in[at] == '<')
				rc = tag_put(sink, "&lt;", 4);
			else if (rc == 0)
				rc = tag_put(sink, text, reference_text(r->references, &found, text));
			r->counts[reference_repair(found.kind)]++;
			run = at + found.len;
		}
		at += found.len;
	}
	return rc ? rc : tag_put(sink, in + run, end - run);
}

static int write_value(const struct tag *t, const struct tag_rules *r, const uint8_t *in, const struct attribute *a,
    struct sink sink)
{
	size_t at = a->value, end = at + a->value_len;
	int rc = 0;

	if (t->gateway >= at && t->gateway < end) {
		rc = tag_put(sink, in + at, t->gateway - at);
		rc = rc ? rc : tag_put(sink, r->gateway, strlen(r->gateway));
		rc = rc ? rc : tag_put(sink, "/", 1);
		at = t->gateway;
	}
	return rc ? rc : write_text(r, in, at, end, sink);
}

static int write_attribute(const struct tag *t, const struct tag_rules *r, const uint8_t *in, const struct attribute *a,
    struct sink sink)
{
	size_t text = a->has_value ? a->value : a->to;
	bool mend = r->tags && (a->name == a->from || !a->has_value || a->quote == 0);
	int rc = 0;

	r->counts[REPAIRED_TAGS] += mend;
	if (mend && a->name == a->from)
		rc = tag_put(sink, " ", 1);
	if (mend && (!a->has_value || a->quote == 0)) {
		rc = rc ? rc : tag_put(sink, in + a->from, a->name + a->name_len - a->from);
		rc = rc ? rc : tag_put(sink, "=\"", 2);
		if (rc == 0 && a->has_value)
			rc = write_value(t, r, in, a, sink);
		return rc ? rc : tag_put(sink, "\"", 1);
	}
	rc = rc ? rc : tag_put(sink, in + a->from, text - a->from);
	if (rc == 0 && a->has_value)
		rc = write_value(t, r, in, a, sink);
	return rc || !a->has_value ? rc : tag_put(sink, in + a->value + a->value_len, a->quote != 0);
}

int tag_write(const struct tag *t, const struct tag_rules *r, const uint8_t *in, struct sink sink)
{
	size_t at = t->name.at + t->name.len;
	int rc = tag_put(sink, in, at);
	unsigned nth = 0;

	while (rc == 0 && at < t->tail) {
		struct attribute a;
		enum step step = step_attribute(&a, in, t->len, at);

		if (r->tags && (step == STEP_JUNK || (nth > 0 && is_known(t, in, nth, &a))))
			r->counts[REPAIRED_TAGS]++;
		else if (step == STEP_JUNK)
			rc = tag_put(sink, in + a.from, a.to - a.from);
		else
			rc = write_attribute(t, r, in, &a, sink);
		if (step == STEP_ATTRIBUTE && nth < t->attributes)
			nth++;
		at = a.to;
	}
	return rc;
}
