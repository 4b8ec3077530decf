/* Owns well-formed documents at random: every construct, and in each what looks like another.
 * Must not know: the normaliser. Source: XML 1.0, its productions by their numbers. */
#include "identity.h"

#include <stdio.h>
#include <string.h>

/* What is markup elsewhere, or a reference, or junk. */
static const char *const traps[] = {
	"<?xml version=\"1.0\" encoding=\"koi8-r\"?><a/>", "<?xml version='1.0' encoding='windows-1251'?><rss version='2.0'><channel/></rss>",
	"<?xml version=\"1.0\"?>\n<feed/>", "<?xml ", "<rss>", "<!--", "-->", "<?", "?>", "<![CDATA[", "]]>", "]>", "[", "]", "<", ">", "<!", "\"", "'", "<!DOCTYPE a [",
	"<!ENTITY", "&#1;", "&#x0;", "&#60;", "&amp;", "%p;", "--", "<br />", "Warning: a in b on line 3\n", "</x>", "=",
};

static const char *const feeds[] = { "rss", "feed", "rdf:RDF", "channel", "opml", "urlset", "sitemapindex", "atom:feed" };
static const char *const names[] = { "a", "x", "item", "root", "title", "rssx", "_b", "svg", "xmlfeed", "a.b-c", "ns:e", "string" };

struct writer {
	struct document *d;
	struct chance *c;
	struct text *t;
	unsigned room;              /* constructs it may still write */
	unsigned entities;          /* e0 .. of plain text, which content may name */
};

static void put(struct writer *w, const char *text)
{
	text_put(w->t, text);
}

static void space(struct writer *w, bool must)
{
	static const char *const spaces[] = { " ", "\n", "\t", "\r\n", "  ", " \n " };

	if (must || one_in(w->c, 3))
		put(w, ANY_OF(w->c, spaces));
}

/* Words and traps, as long as they hold none of what may not stand there. */
static void put_free_text(struct writer *w, const char *const *forbidden, unsigned pieces)
{
	while (pieces-- > 0) {
		size_t from = w->t->len;
		bool fine = true;

		if (one_in(w->c, 2))
			put(w, ANY_OF(w->c, traps));
		else
			put_word(w->t, w->c, w->d->charset);
		for (size_t i = 0; forbidden[i]; i++) {
			size_t back = strlen(forbidden[i]), start = from > back ? from - back : 0;

			fine = fine && memmem(w->t->bytes + start, w->t->len - start, forbidden[i], strlen(forbidden[i])) == NULL;
		}
		if (!fine) {
			w->t->len = from;
			w->t->bytes[from] = '\0';
		}
		put(w, " ");
	}
}

static void comment(struct writer *w)          /* [15] */
{
	static const char *const forbidden[] = { "--", "-", NULL };

	put(w, "<!--");
	put_free_text(w, forbidden, below(w->c, 4));
	put(w, " -->");
}

static void instruction(struct writer *w)      /* [16] */
{
	static const char *const forbidden[] = { "?>", NULL }, *const targets[] = { "a", "xml-stylesheet", "phpx", "xmlx", "x" };

	put(w, "<?");
	put(w, ANY_OF(w->c, targets));
	put(w, " ");
	put_free_text(w, forbidden, below(w->c, 4));
	put(w, one_in(w->c, 4) ? " ?\?>" : " ?>");
}

static void misc(struct writer *w)             /* [27] */
{
	while (one_in(w->c, 3)) {
		if (one_in(w->c, 2))
			comment(w);
		else
			instruction(w);
		space(w, false);
	}
}

static void section(struct writer *w)          /* [18] */
{
	static const char *const forbidden[] = { "]]>", "]", NULL };

	put(w, "<![CDATA[");
	put_free_text(w, forbidden, 1 + below(w->c, 4));
	put(w, one_in(w->c, 4) ? "]]]]>" : "]]>");
}

static void reference(struct writer *w)        /* [67] */
{
	static const char *const any[] = { "&amp;", "&lt;", "&#65;", "&#x1F600;", "&#9;", "&#xD;", "&#x85;", "&#10;", "&#0000000000000000000000000065;", "&#127;", "&#60;" };
	static const char *const in_1_1[] = { "&#1;", "&#x1f;", "&#8;", "&#x0000B;", "&#12;" };
	char name[16];

	if (w->entities > 0 && one_in(w->c, 3)) {
		snprintf(name, sizeof(name), "&e%u;", below(w->c, w->entities));
		put(w, name);
	} else {
		put(w, w->d->xml_1_1 && one_in(w->c, 2) ? ANY_OF(w->c, in_1_1) : ANY_OF(w->c, any));
	}
}

/* [10]; in an attribute's default no entity is named, for it must have been declared before. */
static void value(struct writer *w, bool references)
{
	const char *quote = one_in(w->c, 2) ? "\"" : "'", *forbidden[] = { "<", "&", quote, NULL };

	put(w, quote);
	for (unsigned n = below(w->c, 3); n > 0; n--) {
		if (references && one_in(w->c, 3))
			reference(w);
		else
			put_free_text(w, forbidden, 1);
	}
	put(w, quote);
}

static void literal(struct writer *w)          /* [11] */
{
	const char *quote = one_in(w->c, 2) ? "\"" : "'", *forbidden[] = { quote, NULL };

	put(w, quote);
	put_free_text(w, forbidden, below(w->c, 3));
	put(w, quote);
}

static void external_id(struct writer *w)      /* [75] */
{
	put(w, one_in(w->c, 2) ? "SYSTEM " : "PUBLIC \"-//Ours//DTD 'a' 1.0//EN\" ");
	literal(w);
}

/* [9], [70]-[72]: plain ones are for content; what the others hold is no content of a document's. */
static void entity(struct writer *w)
{
	const char *quote = one_in(w->c, 2) ? "\"" : "'", *forbidden[] = { quote, "&", "%", NULL }, *markup[] = { quote, "&", "%", "<", "]", NULL };
	bool plain = w->entities < 4 && one_in(w->c, 2);
	char name[32];

	snprintf(name, sizeof(name), plain ? "<!ENTITY e%u " : "<!ENTITY f%u ", plain ? w->entities : below(w->c, 1000000));
	put(w, name);
	if (!plain && one_in(w->c, 4)) {
		external_id(w);
		put(w, one_in(w->c, 3) ? " NDATA n>" : ">");
		return;
	}
	put(w, quote);
	put_free_text(w, plain ? markup : forbidden, 1 + below(w->c, 3));
	if (one_in(w->c, 4))
		put(w, plain ? "&#38;amp;" : "&#38;&#x26;");
	put(w, quote);
	put(w, ">");
	w->entities += plain;
}

static void declaration(struct writer *w)      /* [29] */
{
	static const char *const others[] = { "<!ELEMENT a (#PCDATA|b)*>", "<!ELEMENT x ANY >", "<!NOTATION m SYSTEM '<!--'>", "<!ENTITY % p '<!--'>", "<!ENTITY % q \"']>\">" };

	switch (below(w->c, 6)) {
	case 0:
		comment(w);
		break;
	case 1:
		instruction(w);
		break;
	case 2:
		put(w, ANY_OF(w->c, others));
		break;
	case 3:
		put(w, "<!ATTLIST a b CDATA ");
		value(w, false);
		put(w, ">");
		break;
	default:
		entity(w);
	}
	space(w, false);
}

static void document_type(struct writer *w, const char *root)  /* [28] */
{
	put(w, "<!DOCTYPE ");
	put(w, root);
	if (one_in(w->c, 4)) {
		put(w, " ");
		external_id(w);
	}
	space(w, false);
	if (!one_in(w->c, 4)) {
		put(w, "[");
		for (unsigned n = below(w->c, 6); n > 0; n--)
			declaration(w);
		put(w, "<!NOTATION n SYSTEM ']>'>]");
		space(w, false);
	}
	put(w, ">");
}

static void content(struct writer *w, unsigned depth);

static void element(struct writer *w, const char *name, const char *attributes, unsigned depth)
{
	put(w, "<");
	put(w, name);
	put(w, attributes);
	for (unsigned n = below(w->c, 3); n > 0; n--) {
		space(w, true);
		put(w, n == 2 ? "b" : "c");
		put(w, one_in(w->c, 4) ? " = " : "=");
		value(w, true);
	}
	space(w, false);
	if (one_in(w->c, 6)) {
		put(w, "/>");
		return;
	}
	put(w, ">");
	content(w, depth);
	put(w, "</");
	put(w, name);
	space(w, false);
	put(w, ">");
}

static void words(struct writer *w)            /* [14] */
{
	static const char *const forbidden[] = { "<", "&", "]", NULL };

	put_free_text(w, forbidden, 1 + below(w->c, 6));
}

static void content(struct writer *w, unsigned depth)          /* [43] */
{
	for (unsigned n = below(w->c, 5); n > 0 && w->room > 0; n--) {
		w->room--;
		switch (below(w->c, 8)) {
		case 0:
			comment(w);
			break;
		case 1:
			instruction(w);
			break;
		case 2:
			section(w);
			break;
		case 3:
			reference(w);
			break;
		case 4:
			if (depth > 0)
				element(w, ANY_OF(w->c, names), " xmlns:ns='u'", depth - 1);
			break;
		default:
			words(w);
		}
	}
}

/* [23] */
static void xml_declaration(struct writer *w)
{
	const char *quote = one_in(w->c, 2) ? "\"" : "'";

	put(w, "<?xml");
	space(w, true);
	put(w, one_in(w->c, 2) ? "version=" : "version = ");
	put(w, quote);
	put(w, w->d->xml_1_1 ? "1.1" : "1.0");
	put(w, quote);
	if (w->d->declared) {
		space(w, true);
		w->d->enc_start = w->t->len;
		put(w, one_in(w->c, 2) ? "encoding=" : "encoding = ");
		put(w, quote);
		put(w, w->d->charset->label);
		put(w, quote);
		w->d->enc_end = w->t->len;
	}
	if (one_in(w->c, 3))
		put(w, " standalone='yes'");
	space(w, false);
	put(w, "?>");
}

/* Now and then longer than the windows that are held, in ASCII up to there or not. */
static void bulk(struct writer *w)
{
	bool ascii = one_in(w->c, 2);

	for (unsigned n = 500 + below(w->c, 3000); n > 0; n--) {
		put(w, "<item>a story of this and that, on the river</item>\n");
		if (!ascii && one_in(w->c, 3))
			put_word(w->t, w->c, w->d->charset);
	}
}

static void set_up(struct document *d, struct chance *c)
{
	text_clear(&d->text);
	text_add(&d->text, "", 0);
	d->charset = &charsets[below(c, (unsigned)charset_count)];
	d->enc_start = d->enc_end = 0;
	d->xml_1_1 = one_in(c, 8);
	d->feed = one_in(c, 2);
	d->mark = d->charset->wide ? !one_in(c, 3) : d->charset->iconv == NULL && strcmp(d->charset->label, "us-ascii") != 0 && one_in(c, 4);
	/* What needs no label: UTF-8, and what a mark tells */
	d->declared = !(d->charset->iconv == NULL || (d->charset->wide && d->mark)) || !one_in(c, 3);
	if (d->charset->wide && strcmp(d->charset->label, "UTF-16LE") != 0 && strcmp(d->charset->label, "UTF-16BE") != 0 && !d->declared)
		d->mark = true;
}

void random_xml(struct document *d, struct chance *c)
{
	struct writer w = { .d = d, .c = c, .t = &d->text, .room = 30 };
	const char *root;

	set_up(d, c);
	root = d->feed ? ANY_OF(c, feeds) : ANY_OF(c, names);
	if (d->declared || d->xml_1_1 || one_in(c, 2))
		xml_declaration(&w);
	if (d->text.len > 0)
		space(&w, false);
	misc(&w);
	if (one_in(c, 2))
		document_type(&w, root);
	space(&w, false);
	misc(&w);
	if (one_in(c, 300)) {
		put(&w, "<");
		put(&w, root);
		put(&w, " xmlns:ns='u' xmlns:rdf='u' xmlns:atom='u'>");
		bulk(&w);
		content(&w, 3);
		put(&w, "</");
		put(&w, root);
		put(&w, ">");
	} else {
		element(&w, root, " xmlns:ns='u' xmlns:rdf='u' xmlns:atom='u'", 3);
	}
	space(&w, false);
	misc(&w);
}
