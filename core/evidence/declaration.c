/* Owns reading XML declarations, malformed ones too; see declaration.h.
 * A malformed declaration is read by its words, whatever quotes, signs and blanks stand around them: a word that is the
 * name of a charset means nothing else. It ends at the first ">", or before the next "<". A right declaration has
 * neither inside. */
#include "core/evidence/declaration.h"

#include <string.h>
#include <strings.h>

#include "core/decode/charset.h"
#include "core/evidence/junk.h"

/* The most bytes of a character that only looks like a blank (U+00A0, U+3000), or of a sign in its place. */
enum { BLANK_BYTES = 3 };

/* More digits than any version behind "1." has; struct xmldecl has room for them. */
enum { VERSION_DIGITS = 5 };

/* ---- the beginning ---- */

/* How declarations begin. A blank stands for any white space or none, a small letter for its capital, too. asks: they
 * must end in "?>", since an element or a text may begin like that. */
static const struct {
	const char *open;
	bool vague, asks;
} openings[] = {
	{ "< ? xml", false, false }, { "<< ? xml", false, false }, { "<?? xml", false, false },
	{ "<?<? xml", false, false }, { "< ! xml", false, false }, { "< % xml", false, false },
	{ "< xml", true, true }, { "? xml", true, true }, { "xml", true, true },
	{ "&lt; ? xml", true, true }, { "&#60; ? xml", true, true }, { "&#x3c; ? xml", true, true },
};

/* The names that stand in a declaration. */
static const char *const names[] = { "version", "encoding", "standalone" };

static int declaration_lower(int c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static void declaration_step(struct scan *s)
{
	s->at += s->family.unit;
}

/* Moves past an opening, which the cursor may leave within it where the answer is SCAN_NO. */
static enum scan_match take_opening(struct scan *s, const char *open)
{
	for (; *open; open++) {
		int c = scan_peek(s, 0);

		if (*open == ' ') {
			scan_skip_space(s);
			continue;
		}
		if (c == SCAN_END)
			return SCAN_SHORT;
		if (declaration_lower(c) != *open)
			return SCAN_NO;
		declaration_step(s);
	}
	return SCAN_YES;
}

/* Whether one of the names stands at the cursor, and no longer one. */
static enum scan_match at_name(const struct scan *s)
{
	enum scan_match found = SCAN_NO;

	for (size_t i = 0; i < sizeof names / sizeof names[0] && found == SCAN_NO; i++) {
		found = scan_match(s, names[i], true);
		if (found == SCAN_YES && scan_peek(s, strlen(names[i])) == SCAN_END)
			found = SCAN_SHORT;
		else if (found == SCAN_YES && scan_is_name(scan_peek(s, strlen(names[i]))))
			found = SCAN_NO;
	}
	return found;
}

/* Judges the text behind "<?xml". A longer name is that of an instruction, unless "=" follows it ("<?xmlversion="). */
static enum scan_match behind_xml(const struct scan *s)
{
	struct scan look = *s;
	int c = scan_peek(s, 0);

	if (c != SCAN_END && c != SCAN_OTHER && !scan_is_name(c))
		return SCAN_YES;
	for (size_t n = 0; n < BLANK_BYTES && c != SCAN_END && !scan_is_letter(c) && !scan_is_space(c); n++) {
		declaration_step(&look);
		c = scan_peek(&look, 0);
	}
	enum scan_match found = c == SCAN_END ? SCAN_SHORT : at_name(&look);
	if (found != SCAN_YES)
		return found;
	while (scan_is_letter(scan_peek(&look, 0)))
		declaration_step(&look);
	return scan_peek(&look, 0) == '=' ? SCAN_YES : SCAN_NO;
}

/* Judges the text behind an "xml" that may begin other text. */
static enum scan_match behind_vague(const struct scan *s)
{
	struct scan look = *s;

	scan_skip_space(&look);
	if (scan_peek(&look, 0) == SCAN_END)
		return SCAN_SHORT;
	return look.at == s->at ? SCAN_NO : at_name(&look);
}

/* *behind: past the opening. */
static enum scan_match find_opening(const struct scan *s, struct scan *behind, bool *vague, bool *asks)
{
	int first = scan_peek(s, 0);
	enum scan_match found = SCAN_NO;
	bool is_short = false;

	*vague = *asks = false;
	if (first != SCAN_END && (first <= 0 || !strchr("<?&xX", first)))
		return SCAN_NO;
	for (size_t i = 0; i < sizeof openings / sizeof openings[0] && found != SCAN_YES; i++) {
		*behind = *s;
		*vague = openings[i].vague;
		*asks = openings[i].asks;
		found = take_opening(behind, openings[i].open);
		if (found == SCAN_YES)
			found = *vague ? behind_vague(behind) : behind_xml(behind);
		is_short |= found == SCAN_SHORT;
	}
	return found == SCAN_YES ? SCAN_YES : is_short ? SCAN_SHORT : SCAN_NO;
}

enum scan_match declaration_starts(const struct scan *s, bool *vague)
{
	struct scan behind;
	bool asks;

	return find_opening(s, &behind, vague, &asks);
}

/* ---- the end ---- */

/* Moves past a reference to ">" that stands at the cursor. */
static enum scan_match take_escaped(struct scan *s)
{
	static const char *const ends[] = { "&gt;", "&#62;", "&#x3e;" };
	enum scan_match found = SCAN_NO;

	for (size_t i = 0; i < sizeof ends / sizeof ends[0] && found == SCAN_NO; i++) {
		found = scan_match(s, ends[i], true);
		if (found == SCAN_YES)
			s->at += strlen(ends[i]) * s->family.unit;
	}
	return found;
}

/* Moves past the declaration's end; *inner: the end of its words. asks: it must end in "?>". */
static enum xmldecl_state skip_to_end(struct scan *s, bool asks, size_t limit, bool complete, size_t *inner)
{
	enum scan_match escaped = SCAN_NO;
	size_t unit = s->family.unit;
	bool mark = false;
	int c;

	for (*inner = s->at; s->at < limit && (c = scan_peek(s, 0)) != SCAN_END; declaration_step(s)) {
		escaped = asks && c == '&' ? take_escaped(s) : SCAN_NO;
		if (escaped == SCAN_SHORT)
			break;
		if (c == '<')
			s->at = *inner;
		else if (c == '>')
			declaration_step(s);
		if (c == '<' || c == '>' || escaped == SCAN_YES)
			return asks && (c == '<' || !mark) ? XMLDECL_BROKEN : XMLDECL_PRESENT;
		mark = c == '?' || (mark && scan_is_space(c));
		if (!scan_is_space(c))
			*inner = s->at + unit;
	}
	return complete || s->at >= limit ? XMLDECL_BROKEN : XMLDECL_INCOMPLETE;
}

/* ---- a right one ---- */

static bool fits_version(const char *value)
{
	size_t digits = strspn(value + strnlen(value, 2), "0123456789");

	return strncmp(value, "1.", 2) == 0 && digits > 0 && value[2 + digits] == '\0' && digits <= VERSION_DIGITS;
}

static bool fits_encoding(const char *value)
{
	return scan_is_letter((unsigned char)value[0]) && !strchr(value, ':');
}

static bool fits_standalone(const char *value)
{
	return strcmp(value, "yes") == 0 || strcmp(value, "no") == 0;
}

/* Moves past S? "=" S?. */
static bool take_equals(struct scan *s)
{
	scan_skip_space(s);
	if (scan_peek(s, 0) != '=')
		return false;
	declaration_step(s);
	scan_skip_space(s);
	return true;
}

/* Moves past a name, "=" and a value in quotes that has name characters only. */
static bool take_attribute(struct scan *s, const char *name, char *value)
{
	size_t n = 0;
	int c;

	s->at += strlen(name) * s->family.unit;
	if (!take_equals(s))
		return false;
	int quote = scan_peek(s, 0);
	if (quote != '"' && quote != '\'')
		return false;
	for (declaration_step(s); scan_is_name(c = scan_peek(s, 0)) && n + 1 < XMLDECL_LABEL_MAX; declaration_step(s))
		value[n++] = (char)c;
	value[n] = '\0';
	declaration_step(s);
	return c == quote;
}

/* Reads the i-th of the names and its value. Only the first must be there. */
static bool read_part(struct declaration *d, struct scan *s, size_t i)
{
	static bool (*const fits[])(const char *) = { fits_version, fits_encoding, fits_standalone };
	char value[XMLDECL_LABEL_MAX], *const into[] = { d->said.version, d->encoding, NULL };
	size_t before = s->at;

	scan_skip_space(s);
	if (s->at == before || scan_match(s, names[i], false) != SCAN_YES) {
		s->at = before;
		return i > 0;
	}
	size_t start = s->at;
	if (!take_attribute(s, names[i], value) || !fits[i](value))
		return false;
	if (into[i])
		memcpy(into[i], value, strlen(value) + 1);
	else
		d->said.standalone = value[0] == 'y';
	if (into[i] == d->encoding)
		d->enc_start = start, d->enc_end = s->at;
	return true;
}

/* Reads [23] XMLDecl behind its "<?xml". The bytes end with it. */
static bool read_right(struct declaration *d, struct scan s)
{
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (!read_part(d, &s, i))
			return false;
	memcpy(d->said.encoding, d->encoding, sizeof d->encoding);
	scan_skip_space(&s);
	return scan_match(&s, "?>", false) == SCAN_YES;
}

/* ---- the words of any other ---- */

/* Copies the characters of names that stand at the cursor, which moves; blanks: over white space between them. */
static void take_word(struct scan *s, char word[XMLDECL_LABEL_MAX], bool blanks)
{
	size_t n = 0;
	int c;

	while (scan_is_name(c = scan_peek(s, 0)) || (blanks && scan_is_space(c) && n + 1 < XMLDECL_LABEL_MAX)) {
		if (scan_is_name(c) && n + 1 < XMLDECL_LABEL_MAX)
			word[n++] = (char)c;
		declaration_step(s);
	}
	word[n] = '\0';
}

/* The charset that a word names; *word is cut to its name. */
static const struct charset_label *label_of(char *word)
{
	const struct charset_label *label = charset_lookup(word, strlen(word));

	for (size_t n = strlen(word); !label && n > 1 && strchr(".:-_", word[n - 1]); n--) {
		word[n - 1] = '\0';
		label = charset_lookup(word, n - 1);
	}
	return label;
}

static void add_label(struct declaration *d, const struct charset_label *label, const char *name)
{
	const struct charset_label *known = charset_lookup(d->said.encoding, strlen(d->said.encoding));

	if (!label && d->said.encoding[0])
		return;
	if (!known)
		memcpy(d->said.encoding, name, strlen(name) + 1);
	else if (known->charset != label->charset && !d->other[0])
		memcpy(d->other, name, strlen(name) + 1);
}

/* Finds the name of a charset that begins at a word. The name may have blanks in it. The word may also begin with the
 * second byte of a quotation mark: in Shift_JIS the curly ones are 81 67 and 81 68. */
static bool find_label(struct declaration *d, const struct scan *at, bool beyond)
{
	char word[XMLDECL_LABEL_MAX];
	struct scan look = *at;
	char *name = word;

	take_word(&look, word, true);
	const struct charset_label *label = label_of(name);
	if (!label) {
		look = *at;
		take_word(&look, word, false);
		label = label_of(name);
	}
	if (!label && beyond && word[0])
		label = label_of(++name);
	if (label)
		add_label(d, label, name);
	return label;
}

static bool is_declared_name(const char *word)
{
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcasecmp(word, names[i]) == 0)
			return true;
	return false;
}

/* Reads a word that names no charset. key: the word before it. */
static void read_said(struct declaration *d, const char *key, const char *word, bool first)
{
	if (strncasecmp(key, "enc", 3) == 0 && !is_declared_name(word))
		add_label(d, NULL, word);
	if (first && strcasecmp(key, "standalone") == 0 && (!strcasecmp(word, "yes") || !strcasecmp(word, "no")))
		d->said.standalone = strcasecmp(word, "yes") == 0;
	if (first && strcmp(word, "1.1") == 0)
		memcpy(d->said.version, "1.1", 4);
}

static void read_words(struct declaration *d, struct scan s, bool first)
{
	char word[XMLDECL_LABEL_MAX], key[XMLDECL_LABEL_MAX] = "";
	bool beyond = false;

	if (first)
		memcpy(d->said.version, "1.0", 4);
	while (scan_peek(&s, 0) != SCAN_END) {
		struct scan at = s;

		if (!scan_is_name(scan_peek(&s, 0))) {
			beyond = scan_peek(&s, 0) == SCAN_OTHER;
			declaration_step(&s);
			continue;
		}
		take_word(&s, word, false);
		if (!find_label(d, &at, beyond))
			read_said(d, key, word, first);
		memcpy(key, word, sizeof key);
		beyond = false;
	}
}

/* ---- all of them ---- */

/* Reads the one at the cursor, which moves past it. */
static enum xmldecl_state read_one(struct declaration *d, struct scan *s, bool complete, bool first)
{
	size_t limit = s->at + XMLDECL_MAX_CHARS * s->family.unit, inner;
	struct scan behind;
	bool vague, asks;

	switch (find_opening(s, &behind, &vague, &asks)) {
	case SCAN_NO:
		return XMLDECL_ABSENT;
	case SCAN_SHORT:
		return complete ? XMLDECL_ABSENT : XMLDECL_INCOMPLETE;
	case SCAN_YES:
		break;
	}
	struct scan part = behind;
	enum xmldecl_state state = skip_to_end(&behind, asks, limit, complete, &inner);
	if (state != XMLDECL_PRESENT)
		return state;
	part.len = behind.at;
	if (first && scan_match(s, "<?xml", false) == SCAN_YES) {
		struct declaration right = *d;

		right.right = read_right(&right, part);
		*d = right.right ? right : *d;
	}
	part.len = inner;
	if (!d->right || !first)
		read_words(d, part, first);
	s->at = behind.at;
	return XMLDECL_PRESENT;
}

/* Whether markup starts at the cursor: what may follow a declaration. */
static enum scan_match at_markup(const struct scan *s)
{
	int c = scan_peek(s, 1);

	if (scan_peek(s, 0) != '<')
		return SCAN_NO;
	if (c == SCAN_END)
		return SCAN_SHORT;
	return scan_is_letter(c) || c == SCAN_OTHER || c == '_' || c == '!' || c == '?' ? SCAN_YES : SCAN_NO;
}

/* Whether a tag starts at the cursor whose name begins otherwise than an opening or a message. */
static bool at_plain_tag(const struct scan *s)
{
	int c = scan_peek(s, 1);

	return scan_peek(s, 0) == '<' && scan_is_letter(c) && c != 'b' && c != 'x' && c != 'X';
}

/* Steps over one thing that may not stand between a declaration and the document: another declaration, a message, a
 * character of text. In XML 1.1 the character may be white space. XMLDECL_ABSENT: the document starts here. */
static enum xmldecl_state step_over(struct declaration *d, struct scan *s, bool complete, size_t *text)
{
	if (at_plain_tag(s))
		return XMLDECL_ABSENT;
	enum xmldecl_state state = read_one(d, s, complete, false);
	if (state == XMLDECL_PRESENT)
		d->again = true;
	if (state == XMLDECL_PRESENT || state == XMLDECL_INCOMPLETE)
		return state;
	enum scan_match message = junk_message(s);
	enum scan_match markup = at_markup(s);
	if (message == SCAN_YES)
		return XMLDECL_PRESENT;
	if (scan_peek(s, 0) == SCAN_END || message == SCAN_SHORT || markup == SCAN_SHORT)
		return complete ? XMLDECL_ABSENT : XMLDECL_INCOMPLETE;
	if (markup == SCAN_YES || strcmp(d->said.version, "1.1") == 0 || (*text += s->family.unit) > JUNK_MAX)
		return XMLDECL_ABSENT;
	declaration_step(s);
	return XMLDECL_PRESENT;
}

/* Finds where the document goes on. All of it stays if no markup follows. */
static enum xmldecl_state skip_between(struct declaration *d, struct scan s, bool complete)
{
	enum xmldecl_state state = XMLDECL_PRESENT;
	struct declaration before = *d;
	size_t text = 0, end = s.at;

	while (state == XMLDECL_PRESENT) {
		end = s.at;
		scan_skip_space(&s);
		state = step_over(d, &s, complete, &text);
	}
	if (state == XMLDECL_INCOMPLETE)
		return state;
	if (at_markup(&s) == SCAN_YES)
		d->said.end = end;
	else
		*d = before;
	return XMLDECL_PRESENT;
}

void declaration_read(struct declaration *d, const struct scan *from, bool complete)
{
	const struct declaration none = { .said = { .start = from->at, .end = from->at, .standalone = -1 } };
	struct scan s = *from;

	*d = none;
	enum xmldecl_state state = read_one(d, &s, complete, true);
	d->end = d->said.end = s.at;
	if (state == XMLDECL_PRESENT)
		state = skip_between(d, s, complete);
	if (state != XMLDECL_PRESENT)
		*d = none;
	d->said.state = state;
}
