/* Owns reading one token, and which mode comes behind it; see repair_token.h. */
#include "core/repair/repair_token.h"

#include <string.h>

#include "core/repair/repair_gateway.h"
#include "core/repair/repair_name.h"

enum { TARGET_MAX = 64 };

#define IN(mode) (1u << LEX_##mode)

static const struct {
	unsigned in;
	const char *word;
	enum lex_mode mode;
} openings[] = {
	{ IN(TEXT) | IN(PROLOG) | IN(SUBSET) | IN(EPILOG), "<!--", LEX_COMMENT },
	{ IN(PROLOG) | IN(SUBSET), "<?", LEX_INSTRUCTION },
	{ IN(TEXT) | IN(PROLOG), "<![CDATA[", LEX_CDATA },
	{ IN(PROLOG), "<!DOCTYPE", LEX_DOCTYPE },
	{ IN(SUBSET), "<!ENTITY", LEX_ENTITY },
	{ IN(SUBSET), "<!", LEX_DECLARATION },
};

static const struct {
	enum lex_mode in;
	char byte;
	enum lex_mode mode;
} delimiters[] = {
	{ LEX_DOCTYPE, '[', LEX_SUBSET }, { LEX_DOCTYPE, '>', LEX_PROLOG },
	{ LEX_DOCTYPE, '"', LEX_LITERAL }, { LEX_DOCTYPE, '\'', LEX_LITERAL },
	{ LEX_SUBSET, ']', LEX_DOCTYPE },
	{ LEX_DECLARATION, '>', LEX_SUBSET },
	{ LEX_DECLARATION, '"', LEX_LITERAL }, { LEX_DECLARATION, '\'', LEX_LITERAL },
	{ LEX_TAG, '"', LEX_VALUE }, { LEX_TAG, '\'', LEX_VALUE },
};

/* Between the root's tags, or as far as is known. */
static bool in_root(const struct repair_lex *l)
{
	return l->elements.rooted && !l->elements.closed;
}

static struct token token_keep(size_t len)
{
	return (struct token){ .kind = TOKEN_KEEP, .len = len };
}

static struct token token_text(struct repair_lex *l, size_t len, const char *text, enum repair_index repair)
{
	l->text = text;
	l->repair = repair;
	return (struct token){ .kind = TOKEN_TEXT, .len = len };
}

static struct token token_drop(struct repair_lex *l, size_t len)
{
	l->dropped = len < TRAILING_MAX - l->dropped ? l->dropped + len : TRAILING_MAX;
	return (struct token){ .kind = TOKEN_DROP, .len = len };
}

/* Whether the text starts with the word. TOKEN_KEEP of length 0: it does not. */
static inline struct token token_word(const char *word, const uint8_t *in, size_t len, bool final)
{
	size_t n = strlen(word);

	if (memcmp(in, word, len < n ? len : n) != 0 || (len < n && final))
		return token_keep(0);
	return (struct token){ .kind = len < n ? TOKEN_CUT : TOKEN_KEEP, .len = n };
}

static void lex_enter(struct repair_lex *l, enum lex_mode mode)
{
	if (mode == LEX_DOCTYPE || mode == LEX_ENTITY || mode == LEX_DECLARATION)
		l->external = mode == LEX_DOCTYPE;
	/* The names of entities may come from elsewhere: a parser that does not read it takes any. */
	l->references.declared.any |= l->mode == LEX_DOCTYPE && mode == LEX_LITERAL;
	if (mode == LEX_LITERAL || mode > LEX_TEXT)
		l->back = mode == LEX_CDATA ? LEX_TEXT : l->mode;
	if (mode == LEX_ENTITY)
		l->name_len = 0;
	/* A type may declare attributes, and namespaces by them */
	if (mode == LEX_SUBSET || (l->mode == LEX_DOCTYPE && mode == LEX_LITERAL))
		namespaces_doubt(&l->namespaces, 0);
	l->elements.doubtful |= mode == LEX_CDATA && !l->elements.rooted;
	l->mode = mode;
}

/* Text may not stand before the root. It may be a spoilt tag. Nothing behind it may vanish, or it would be a tag. */
static void lex_enter_text(struct repair_lex *l)
{
	l->mode = LEX_TEXT;
	if (l->elements.rooted)
		return;
	l->elements.doubtful = true;
	l->references.flags &= ~(unsigned)REPAIR_REFERENCES;
	l->tags.tags = false;
	l->elements.spoilt = true;
}

static struct token token_lone(struct repair_lex *l)
{
	if (in_root(l) && (l->flags & REPAIR_AMPERSANDS))
		return token_text(l, 1, "&lt;", REPAIRED_AMPERSANDS);
	return token_keep(1);
}

/* From the root on only what has a name, and white space or its end behind that, is an instruction; no name of it is
 * "xml" ([16] PI, [17] PITarget). Names too long to see their end pass. */
static struct token token_instruction(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	bool strict = l->flags & REPAIR_AMPERSANDS || l->mode == LEX_EPILOG;
	size_t most = len < TARGET_MAX ? len : TARGET_MAX, end = 2 + name_length(in + 2, most - 2);
	struct token t;

	if (strict && end < TARGET_MAX) {
		t = token_word("?>", in + end, len - end, final);
		if ((end == len && !final) || t.kind == TOKEN_CUT)
			return (struct token){ .kind = TOKEN_CUT };
		if (end == 2 || (end == 5 && memcmp(in + 2, "xml", 3) == 0) ||
		    (t.len == 0 && (end == len || !name_is_space(in[end]))))
			return token_keep(0);
	}
	lex_enter(l, LEX_INSTRUCTION);
	return token_keep(2);
}

void lex_behind_tag(struct repair_lex *l)
{
	while (l->namespaces.depth > l->elements.stack.depth)
		namespaces_leave(&l->namespaces);
	if (!l->elements.closed)
		return;
	l->references.content = false;
	l->mode = l->flags & REPAIR_TRAILING && !l->elements.doubtful ? LEX_EPILOG : LEX_TEXT;
}

/* A start tag of more than TAG_MAX bytes goes by as it is, except its values. */
static struct token token_long_tag(struct repair_lex *l, const uint8_t *in)
{
	struct tag_name name = l->tag.name;

	if (l->tag.markup || l->tag.end || name.len == 0)
		lex_enter_text(l);
	if (l->tag.markup)
		return token_lone(l);
	if (l->tag.end || name.len == 0) {
		stack_lose(&l->elements.stack);
		return token_keep(1);
	}
	if (elements_open(&l->elements, in + name.at, name.len))
		return (struct token){ .kind = TOKEN_NO_MEMORY };
	l->mode = LEX_TAG;
	l->slash = false;
	namespaces_doubt(&l->namespaces, l->elements.stack.depth);
	return token_keep((size_t)name.at + name.len);
}

/* The namespaces that the tag which was read has to declare; its element is open. */
static void lex_namespaces(struct repair_lex *l, const uint8_t *in)
{
	const struct tag *t = &l->tag;

	l->missing = 0;
	if (l->flags & REPAIR_NAMESPACES && !l->elements.stack.lost &&
	    (t->colons || memchr(in + t->name.at, ':', t->name.len)))
		l->missing = namespaces_enter(&l->namespaces, t, in, t->empty ? 0 : l->elements.stack.depth);
}

/* XML Base: the root's own base counts, whatever it is. */
static bool lex_needs_base(const struct repair_lex *l, const uint8_t *in)
{
	static const char base[] = "xml:base";
	const struct tag *t = &l->tag;

	if (!(l->flags & REPAIR_BASE) || !l->base || l->elements.rooted || t->attributes == TAG_ATTRIBUTES_MAX)
		return false;
	for (unsigned i = 0; i < t->attributes; i++)
		if (t->attribute[i].len == strlen(base) && memcmp(in + t->attribute[i].at, base, strlen(base)) == 0)
			return false;
	return true;
}

/* Finds the URL that the start tag which was read has, in a value or as its element's text; the element is not open
 * yet. */
static void lex_find_url(struct repair_lex *l, const uint8_t *in)
{
	const struct repair_stack *stack = &l->elements.stack;
	size_t len;

	l->lead = LEAD_NONE;
	if (!l->gateway)
		return;
	if (l->tag.attributes > 0)
		l->tag.gateway = gateway_in_tag(l->gateway, &l->tag, in);
	if (l->tag.empty || stack->depth == 0)
		return;
	const uint8_t *parent = stack_top(stack, &len);
	if (gateway_has_text(in + l->tag.name.at, l->tag.name.len, parent, len))
		l->lead = LEAD_TEXT;
}

static struct token token_start_tag(struct repair_lex *l, const uint8_t *in)
{
	struct tag_name name = l->tag.name;

	lex_find_url(l, in);
	l->needs_base = lex_needs_base(l, in);
	if (l->tag.empty)
		elements_pass(&l->elements, in + name.at, name.len);
	else if (elements_open(&l->elements, in + name.at, name.len))
		return (struct token){ .kind = TOKEN_NO_MEMORY };
	lex_namespaces(l, in);
	l->mode = LEX_TEXT;
	lex_behind_tag(l);
	bool clean = l->tag.state == TAG_CLEAN && !l->missing && !l->needs_base && !l->tag.gateway;
	return (struct token){ .len = l->tag.len, .kind = clean ? TOKEN_KEEP : TOKEN_TAG };
}

static struct token token_end_tag(struct repair_lex *l, const uint8_t *in)
{
	struct token t = { .kind = TOKEN_TAG, .len = l->tag.len };

	if (l->elements.spoilt && elements_drops(&l->elements, in + l->tag.name.at, l->tag.name.len))
		return token_lone(l);
	if (l->tag.state == TAG_CLEAN && elements_match(&l->elements, in + l->tag.name.at, l->tag.name.len)) {
		elements_close(&l->elements);
		lex_behind_tag(l);
		t.kind = TOKEN_KEEP;
	}
	return t;
}

/* in[1] starts a name, or is "/". */
static struct token token_tag(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	bool within = l->references.content;

	l->references.content |= !l->elements.rooted;
	tag_read(&l->tag, &l->tags, in, len < TAG_MAX ? len : TAG_MAX);
	if (l->tag.state == TAG_CUT && len < TAG_MAX && !final) {
		l->references.content = within;
		return (struct token){ .kind = TOKEN_CUT };
	}
	if (l->tag.state == TAG_CUT && len >= TAG_MAX)
		return token_long_tag(l, in);
	if (l->tag.state == TAG_CUT || l->tag.state == TAG_NONE || (l->tag.end && !l->elements.rooted)) {
		l->references.content = within;
		lex_enter_text(l);
		return token_lone(l);
	}
	return l->tag.end ? token_end_tag(l, in) : token_start_tag(l, in);
}

/* Reads "<". */
static struct token token_open(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	struct token t = token_keep(0);

	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]) && t.len == 0; i++) {
		const char *word = openings[i].word;

		if (!(openings[i].in >> l->mode & 1) || (len > 2 && word[2] && (uint8_t)word[2] != in[2]))
			continue;
		t = token_word(word, in, len, final);
		if (t.kind == TOKEN_KEEP && t.len > 0)
			lex_enter(l, openings[i].mode);
	}
	if (t.len > 0)
		return t;
	if (len < 2 && !final)
		return (struct token){ .kind = TOKEN_CUT };
	if (len < 2) {
		lex_enter_text(l);
		return token_lone(l);
	}
	if (in[1] == '?' && (l->mode == LEX_TEXT || l->mode == LEX_EPILOG))
		t = token_instruction(l, in, len, final);
	if (t.len > 0 || t.kind == TOKEN_CUT)
		return t;
	if (l->mode == LEX_EPILOG)
		return t;
	if (in[1] == '/' || in[1] >= 0x80 || (name_bytes[in[1]] & NAME_START))
		return token_tag(l, in, len, final);
	lex_enter_text(l);
	return token_lone(l);
}

/* [75] ExternalID: its literals are names of other entities, in which nothing is a reference. */
static struct token token_external(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	struct token t = token_word(in[0] == 'S' ? "SYSTEM" : "PUBLIC", in, len, final);

	if (t.len == 0)
		return token_keep(1);
	l->external |= t.kind == TOKEN_KEEP;
	return t;
}

/* A byte of the name that an entity declaration begins with; "%": it is one of a parameter entity. */
static struct token token_entity(struct repair_lex *l, uint8_t byte)
{
	bool in_name = name_bytes[byte] & NAME_CHAR || byte >= 0x80;

	if (in_name && l->name_len < sizeof(l->name))
		l->name[l->name_len++] = byte;
	if (in_name || (l->name_len == 0 && name_is_space(byte)))
		return token_keep(1);
	l->mode = LEX_DECLARATION;
	if (l->name_len > 0 && declared_add(&l->references.declared, l->name, l->name_len))
		return (struct token){ .kind = TOKEN_NO_MEMORY };
	return token_keep(byte == '%');
}

static struct token token_delimiter(struct repair_lex *l, const uint8_t *in)
{
	if (l->mode == LEX_LITERAL || l->mode == LEX_VALUE) {
		if (in[0] == l->quote)
			l->mode = l->mode == LEX_VALUE ? LEX_TAG : l->back;
		return token_keep(1);
	}
	if (l->mode == LEX_TAG && in[0] == '>') {
		l->mode = LEX_TEXT;
		if (l->slash && elements_are_open(&l->elements))
			elements_close(&l->elements);
		lex_behind_tag(l);
	}
	l->slash = in[0] == '/';
	l->references.declared.any |= l->mode == LEX_SUBSET && in[0] == '%';
	for (size_t i = 0; i < sizeof(delimiters) / sizeof(delimiters[0]); i++) {
		if (delimiters[i].in != l->mode || (uint8_t)delimiters[i].byte != in[0])
			continue;
		l->quote = in[0];
		lex_enter(l, delimiters[i].mode);
		break;
	}
	return token_keep(1);
}

/* Outside the root and its document type references stay: the text around them may be spoilt markup. */
static struct token token_reference(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	struct token t = { .kind = TOKEN_REFERENCE };

	if (l->mode == LEX_LITERAL ? l->external : !l->references.content)
		return token_keep(1);
	l->found = reference_read(&l->references, &l->number, in, len, final);
	t.len = l->found.len;
	if (l->found.kind == REFERENCE_KEEP)
		t.kind = TOKEN_KEEP;
	else if (l->found.kind == REFERENCE_CUT)
		t.kind = TOKEN_CUT;
	else if (l->found.kind == REFERENCE_CUT_NUMBER)
		t.kind = TOKEN_CUT_NUMBER;
	return t;
}

/* "]]>" may not stand in text ([14] CharData). */
static struct token token_brackets(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	struct token t = token_word("]]>", in, len, final);

	if (t.len == 0 || !in_root(l) || !(l->flags & REPAIR_AMPERSANDS))
		return token_keep(1);
	return t.kind == TOKEN_CUT ? t : token_text(l, 3, "]]&gt;", REPAIRED_AMPERSANDS);
}

/* The same, but something has vanished between the brackets and here. */
static struct token token_behind_brackets(struct repair_lex *l, const uint8_t *in)
{
	unsigned had = l->brackets;

	l->brackets = in[0] == ']' ? 2 : 0;
	if (in[0] == '>' && had == 2 && in_root(l) && (l->flags & REPAIR_AMPERSANDS))
		return token_text(l, 1, "&gt;", REPAIRED_AMPERSANDS);
	return token_keep(in[0] == ']');
}

/* Two hyphens may not stand in a comment but at its end ([15] Comment). */
static struct token token_hyphen(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	struct token t = token_word("-->", in, len, final);

	if (t.kind == TOKEN_KEEP && t.len > 0)
		l->mode = l->back;
	if (t.len > 0)
		return t;
	if (len > 1 && in[1] == '-' && (l->flags & REPAIR_TAGS))
		return token_text(l, 1, "- ", REPAIRED_TAGS);
	return token_keep(1);
}

static struct token token_close(struct repair_lex *l, const char *word, const uint8_t *in, size_t len, bool final)
{
	struct token t = token_word(word, in, len, final);

	if (t.len == 0)
		return token_keep(1);
	if (t.kind == TOKEN_KEEP)
		l->mode = l->back;
	return t;
}

/* What is neither comment nor instruction may not stand behind the root ([27] Misc). */
static struct token token_epilog(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	struct token t = in[0] == '<' && len > 1 ? token_open(l, in, len, final) : token_keep(0);

	if (t.kind == TOKEN_CUT || t.len > 0)
		return t;
	if (in[0] == '<' && len == 1 && !final)
		return (struct token){ .kind = TOKEN_CUT };
	l->counts[REPAIRED_TRAILING]++;
	l->mode = LEX_DROP;
	return token_drop(l, len);
}

/* Reads the beginning of a text that is a URL. */
static struct token token_url(struct repair_lex *l, const uint8_t *in, size_t len)
{
	size_t space = name_skip_space(in, 0, len);

	if (space > 0)
		return token_keep(space);
	if (in[0] == '<' && l->mode == LEX_TEXT) {
		l->lead = LEAD_SECTION;
		return token_keep(0);
	}
	enum gateway_answer answer = gateway_takes(l->gateway, in, len, l->mode == LEX_CDATA);
	if (answer == GATEWAY_CUT)
		return (struct token){ .kind = TOKEN_CUT };
	l->lead = LEAD_NONE;
	return answer == GATEWAY_YES ? (struct token){ .kind = TOKEN_GATEWAY } : token_keep(0);
}

static struct token token_of_mode(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	switch (l->mode) {
	case LEX_COMMENT:
		return token_hyphen(l, in, len, final);
	case LEX_INSTRUCTION:
		return token_close(l, "?>", in, len, final);
	case LEX_CDATA:
		return token_close(l, "]]>", in, len, final);
	case LEX_DROP:
		return token_drop(l, len);
	case LEX_EPILOG:
		return token_epilog(l, in, len, final);
	case LEX_ENTITY:
		return token_entity(l, in[0]);
	case LEX_TAG:
		if (in[0] != '<')
			break;
		l->mode = LEX_TEXT;
		stack_lose(&l->elements.stack);
		return token_keep(0);
	case LEX_VALUE:
		if (in[0] == '<')
			return token_lone(l);
		break;
	default:
		break;
	}
	if (in[0] == '<' && len > 1 && l->mode == LEX_TEXT && (in[1] == '/' || (name_bytes[in[1]] & NAME_START)))
		return token_tag(l, in, len, final);
	if (in[0] == '<')
		return token_open(l, in, len, final);
	if (in[0] == '&')
		return token_reference(l, in, len, final);
	if (l->mode == LEX_TEXT)
		return token_brackets(l, in, len, final);
	return in[0] == 'S' || in[0] == 'P' ? token_external(l, in, len, final) : token_delimiter(l, in);
}

struct token token_read(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	if (l->brackets > 0)
		return token_behind_brackets(l, in);
	if (l->lead == LEAD_TEXT)
		return token_url(l, in, len);
	struct token t = token_of_mode(l, in, len, final);
	if (l->lead == LEAD_SECTION && t.kind != TOKEN_CUT)
		l->lead = l->mode == LEX_CDATA ? LEAD_TEXT : LEAD_NONE;
	return t;
}
