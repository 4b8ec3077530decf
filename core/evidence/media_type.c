/* Owns reading a Content-Type field value into CTMime and CTEnc.
 * Must not know: what a charset means, or bytes of the body.
 * Invariant: reads only value[0..len), writes only NUL-terminated text into its struct. */
#include "core/evidence/media_type.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The first row that matches decides. subtype: empty for any; "+xml" is a suffix. Sources: RFC 3023 section 2 (as
 * ROME's APP-XML and TEXT-XML), RFC 7303 section 8 (+xml anywhere), RFC 8259 and RFC 6839 section 3.1 (json). */
#define ROW(top, subtype, class) { top, sizeof top - 1, subtype, sizeof subtype - 1, class }
static const struct {
	char top[12];
	uint8_t top_len;                /* 0: any */
	char subtype[28];
	uint8_t subtype_len;
	enum mime_class class;
} classes[] = {
	ROW("application", "xml",                        MIME_APP_XML),
	ROW("application", "xml-dtd",                    MIME_APP_XML),
	ROW("application", "xml-external-parsed-entity", MIME_APP_XML),
	ROW("application", "+xml",                       MIME_APP_XML),
	ROW("text",        "xml",                        MIME_TEXT_XML),
	ROW("text",        "xml-external-parsed-entity", MIME_TEXT_XML),
	ROW("text",        "+xml",                       MIME_TEXT_XML),
	ROW("",            "+xml",                       MIME_OTHER_XML),
	ROW("application", "json",                       MIME_JSON),
	ROW("",            "+json",                      MIME_JSON),
	ROW("text",        "html",                       MIME_TEXT_HTML),
	ROW("text",        "",                           MIME_TEXT_OTHER),
	ROW("image",       "",                           MIME_MEDIA),
	ROW("audio",       "",                           MIME_MEDIA),
	ROW("video",       "",                           MIME_MEDIA),
	ROW("font",        "",                           MIME_MEDIA),
	ROW("",            "",                           MIME_OTHER),
};
#undef ROW

static const char *const class_names[] = {
	[MIME_NONE] = "none", [MIME_APP_XML] = "APP-XML", [MIME_TEXT_XML] = "TEXT-XML", [MIME_OTHER_XML] = "other-xml",
	[MIME_TEXT_HTML] = "text/html", [MIME_TEXT_OTHER] = "text-other", [MIME_JSON] = "json", [MIME_MEDIA] = "media",
	[MIME_OTHER] = "other",
};

const char *mime_class_name(enum mime_class class)
{
	return class_names[class];
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* RFC 9110 section 5.6.2. */
static bool media_type_is_token(char c)
{
	static const bool tokens[256] = {
		['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['0' ... '9'] = true, ['!'] = true, ['#'] = true,
		['$'] = true, ['%'] = true, ['&'] = true, ['\''] = true, ['*'] = true, ['+'] = true, ['-'] = true,
		['.'] = true, ['^'] = true, ['_'] = true, ['`'] = true, ['|'] = true, ['~'] = true,
	};

	return tokens[(unsigned char)c];
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

struct field {
	const char *p, *end;
};

static void skip_blanks(struct field *f)
{
	while (f->p < f->end && is_blank(*f->p))
		f->p++;
}

static size_t take_token(struct field *f)
{
	const char *start = f->p;

	while (f->p < f->end && media_type_is_token(*f->p))
		f->p++;
	return (size_t)(f->p - start);
}

/* Moves to the ';' that ends a parameter, over quoted strings (RFC 9110 section 5.6.4). */
static void skip_parameter(struct field *f)
{
	bool quoted = false;

	for (; f->p < f->end && (quoted || *f->p != ';'); f->p++) {
		if (*f->p == '"')
			quoted = !quoted;
		else if (quoted && *f->p == '\\' && f->p + 1 < f->end)
			f->p++;
	}
}

static bool fits_top(size_t row, const char *top, size_t len)
{
	return !classes[row].top_len || (classes[row].top_len == len && memcmp(classes[row].top, top, len) == 0);
}

static bool fits_subtype(size_t row, const char *subtype, size_t len)
{
	size_t want = classes[row].subtype_len;

	if (classes[row].subtype[0] == '+')
		return len > want && memcmp(subtype + len - want, classes[row].subtype, want) == 0;
	return !want || (want == len && memcmp(subtype, classes[row].subtype, len) == 0);
}

static enum mime_class media_type_classify(const char *mime, size_t top, size_t len)
{
	size_t i = 0;

	while (!fits_top(i, mime, top) || !fits_subtype(i, mime + top + 1, len - top - 1))
		i++;
	return classes[i].class;
}

/* Writes the type in lower case. */
static enum mime_class read_mime(char mime[MEDIA_TYPE_MAX], struct field *f)
{
	skip_blanks(f);
	const char *start = f->p;

	size_t top = take_token(f);
	if (top == 0 || f->p == f->end || *f->p++ != '/')
		return MIME_NONE;
	size_t sub = take_token(f);
	size_t len = top + 1 + sub;
	if (sub == 0 || len >= MEDIA_TYPE_MAX)
		return MIME_NONE;
	for (size_t i = 0; i < len; i++)
		mime[i] = lower(start[i]);
	mime[len] = '\0';
	return media_type_classify(mime, top, len);
}

/* Reads the value of charset: a token, a quoted-string, or text in single quotes. A name that is too long is cut: no
 * label is that long. */
static void read_value(char out[MEDIA_TYPE_CHARSET_MAX], struct field f)
{
	char quote = '\0';
	size_t n = 0;

	if (f.p < f.end && (*f.p == '"' || *f.p == '\''))
		quote = *f.p++;
	for (; f.p < f.end && n + 1 < MEDIA_TYPE_CHARSET_MAX; f.p++) {
		if (quote != '\0' ? *f.p == quote : *f.p == ';' || *f.p == ',' || is_blank(*f.p))
			break;
		if (quote == '"' && *f.p == '\\' && f.p + 1 < f.end)
			f.p++;
		if (*f.p == '\0')
			break;
		if (n > 0 || !is_blank(*f.p))
			out[n++] = *f.p;
	}
	while (n > 0 && is_blank(out[n - 1]))
		n--;
	out[n] = '\0';
}

static bool is_charset(const char *name, size_t len)
{
	static const char want[] = "charset";
	size_t i;

	if (len != sizeof want - 1)
		return false;
	for (i = 0; i < len && lower(name[i]) == want[i]; i++)
		;
	return i == len;
}

/* Moves past the parameter at the cursor, its semicolon included. Whether it is a charset. */
static bool pass_parameter(struct field *f)
{
	f->p++;
	skip_blanks(f);
	const char *name = f->p;
	bool charset = is_charset(name, take_token(f));
	skip_blanks(f);
	charset = charset && f->p < f->end && *f->p == '=';
	skip_parameter(f);
	return charset;
}

static const char label[] = "; charset=";

/* Writes the value without its charsets. Returns its length. */
static size_t copy_unlabelled(char *out, const char *value, size_t len)
{
	struct field f = { value, value + len };
	size_t n;

	skip_parameter(&f);
	for (n = (size_t)(f.p - value); n > 0 && is_blank(value[n - 1]); n--)
		;
	memcpy(out, value, n);
	while (f.p < f.end) {
		const char *start = f.p;

		if (pass_parameter(&f))
			continue;
		memcpy(out + n, start, (size_t)(f.p - start));
		n += (size_t)(f.p - start);
	}
	return n;
}

char *media_type_relabel(const char *value, size_t len, const char *charset)
{
	char *out = malloc(MEDIA_TYPE_MAX + len + sizeof label + strlen(charset));
	struct media_type m;

	if (!out)
		return NULL;
	char *end = stpcpy(stpcpy(out + copy_unlabelled(out, value, len), label), charset);
	media_type_read(&m, out, (size_t)(end - out));
	/* A quote that nothing closes swallows the label. */
	if (strcmp(m.charset, charset) != 0)
		stpcpy(stpcpy(stpcpy(out, m.mime), label), charset);
	return out;
}

void media_type_read(struct media_type *m, const char *value, size_t len)
{
	struct field f = { value, value ? value + len : NULL };
	const char *name;
	size_t name_len;

	memset(m, 0, sizeof *m);
	if (!value)
		return;
	m->CTMime = read_mime(m->mime, &f);
	if (m->CTMime == MIME_NONE)
		return;
	skip_parameter(&f);
	while (f.p < f.end && m->charset[0] == '\0') {
		f.p++;
		skip_blanks(&f);
		name = f.p;
		name_len = take_token(&f);
		skip_blanks(&f);
		if (is_charset(name, name_len) && f.p < f.end && *f.p == '=') {
			f.p++;
			skip_blanks(&f);
			read_value(m->charset, f);
		}
		skip_parameter(&f);
	}
}
