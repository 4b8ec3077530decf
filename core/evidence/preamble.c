/* Owns finding where a document starts; see preamble.h.
 * A step goes over white space and marks, over a whole construct, or over a single character of junk. The type limits
 * how much junk there may be. */
#include "core/evidence/preamble.h"

#include "core/evidence/declaration.h"
#include "core/evidence/markup.h"

/* How many bytes beyond ASCII may be damaged marks: cut ones, or marks decoded as another charset (U+FEFF as three
 * characters of windows-1251). */
enum { STRAY_MARKS_MAX = 16 };

struct preamble_look {
	struct scan scan;
	enum junk allowed;
	bool complete;
	bool other;                 /* There was more than white space and marks. */
	bool junk;                  /* There was something that is neither white space nor markup. */
	/* No document can start at `markup`, because since then there was something that may not precede a root. */
	bool broken;
	bool in_markup;
	size_t markup;              /* offset of the first construct, where in_markup */
	size_t stray, text;         /* bytes of damaged marks, of junk text */
};

/* Skips white space and marks. SCAN_SHORT: the bytes may end within a mark. */
static enum scan_match skip_blank(struct preamble_look *l)
{
	enum scan_match m;

	for (;;) {
		scan_skip_space(&l->scan);
		m = scan_skip_mark(&l->scan);
		if (m != SCAN_YES)
			return m;
		l->junk = true;
	}
}

/* Judges the beginning of a declaration at the cursor. Where other text stands before it, or may begin like that, it is
 * one only where it can be read and a feed's root follows. */
static enum preamble_state declaration(const struct preamble_look *l, bool vague)
{
	struct scan s = l->scan;
	struct declaration d;

	if (!vague && !l->other)
		return PREAMBLE_DECLARATION;
	if (vague && l->other)
		return PREAMBLE_NONE;
	declaration_read(&d, &s, l->complete);
	if (d.said.state != XMLDECL_PRESENT)
		return d.said.state == XMLDECL_INCOMPLETE ? PREAMBLE_MORE : PREAMBLE_NONE;
	s.at = d.said.end;
	enum root root = markup_root(&s);
	return root == ROOT_FEED ? PREAMBLE_DECLARATION : root == ROOT_SHORT ? PREAMBLE_MORE : PREAMBLE_NONE;
}

static void note_text(struct preamble_look *l)
{
	l->other = l->junk = true;
	l->broken |= l->in_markup;
}

static bool skip_stray(struct preamble_look *l, int c)
{
	if (c != SCAN_OTHER || l->allowed != JUNK_TEXT || l->stray + l->scan.family.unit > STRAY_MARKS_MAX || l->other)
		return false;
	l->stray += l->scan.family.unit;
	l->junk = true;
	return true;
}

/* Skips one character of text. False: it cannot be junk, or there was too much of it. */
static bool skip_text(struct preamble_look *l)
{
	int c = scan_peek(&l->scan, 0);

	if (!skip_stray(l, c)) {
		l->text += l->scan.family.unit;
		if (!junk_may_be(l->allowed, c) || l->text > JUNK_MAX)
			return false;
		note_text(l);
		l->broken |= c == '<';
	}
	l->scan.at += l->scan.family.unit;
	return true;
}

/* Whether an instruction for PHP starts here: the source of a script is not a feed. */
static bool is_php(const struct scan *s)
{
	static const char open[] = "<?php";

	return scan_match(s, open, true) == SCAN_YES && !scan_is_name(scan_peek(s, sizeof open - 1));
}

/* Whether the markup never stands before a document. */
static bool is_foreign(const struct preamble_look *l, const struct scan *before, enum markup kind)
{
	if (kind == MARKUP_HTML)
		return true;
	return l->allowed != JUNK_TEXT && (kind == MARKUP_CDATA || is_php(before));
}

/* Steps over one character of text, or one message. *ended: the bytes end in what may be a message. */
static enum preamble_state step_text(struct preamble_look *l, bool *ended)
{
	enum scan_match message = l->allowed >= JUNK_MESSAGES ? junk_message(&l->scan) : SCAN_NO;

	if (message == SCAN_YES)
		note_text(l);
	*ended = message == SCAN_SHORT && !l->complete;
	return message == SCAN_YES || *ended || skip_text(l) ? PREAMBLE_MORE : PREAMBLE_NONE;
}

/* Steps over a construct, else over text. */
static enum preamble_state step_markup(struct preamble_look *l, bool *ended)
{
	struct scan before = l->scan;
	enum markup markup = markup_skip(&l->scan);

	if (is_foreign(l, &before, markup))
		return PREAMBLE_NONE;
	if (markup == MARKUP_SHORT) {
		*ended = true;
		return PREAMBLE_MORE;
	}
	if (markup != MARKUP_NONE) {
		if (!l->in_markup)
			l->markup = before.at;
		l->in_markup = l->other = true;
		l->broken |= markup == MARKUP_CDATA;
		return PREAMBLE_MORE;
	}
	enum root root = root_at(&l->scan);
	*ended = root == ROOT_SHORT;
	if (root == ROOT_FEED || root == ROOT_HTML)
		return root == ROOT_FEED && !l->broken ? PREAMBLE_FEED : PREAMBLE_NONE;
	return *ended ? PREAMBLE_MORE : step_text(l, ended);
}

/* Makes one step. PREAMBLE_MORE with *ended: the bytes end before the next step is clear. */
static enum preamble_state preamble_step(struct preamble_look *l, bool *ended)
{
	enum scan_match blank = skip_blank(l);
	bool vague;

	enum scan_match decl = declaration_starts(&l->scan, &vague);
	*ended = true;
	if (blank == SCAN_SHORT || (decl == SCAN_SHORT && !l->complete) || scan_peek(&l->scan, 0) == SCAN_END)
		return PREAMBLE_MORE;
	enum preamble_state state = decl == SCAN_YES ? declaration(l, vague) : PREAMBLE_NONE;
	if (decl == SCAN_YES && (state != PREAMBLE_NONE || !vague))
		return state;
	*ended = false;
	return step_markup(l, ended);
}

void preamble_look(struct preamble *p, const struct scan *from, enum junk allowed, bool complete)
{
	struct preamble_look l = { .scan = *from, .allowed = allowed, .complete = complete };
	bool ended = from->family.unit == 0;

	*p = (struct preamble){ .state = PREAMBLE_MORE, .at = from->at };
	while (p->state == PREAMBLE_MORE && !ended)
		p->state = preamble_step(&l, &ended);
	if (p->state == PREAMBLE_MORE && complete)
		p->state = PREAMBLE_NONE;
	if (p->state == PREAMBLE_MORE || p->state == PREAMBLE_NONE)
		return;
	p->at = p->state == PREAMBLE_FEED && l.in_markup ? l.markup : l.scan.at;
	p->junk = l.junk;
}
