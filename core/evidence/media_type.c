/* Owns reading a Content-Type field value into CTMime and CTEnc.
 * Must not know: what a charset means, or bytes of the body.
 * Invariant: reads only value[0..len), writes only NUL-terminated text into its struct. */
#include "core/evidence/media_type.h"

#include <stdbool.h>
#include <string.h>

/* The first row that matches decides. subtype: NULL for any; "+xml" is a suffix. Sources: RFC 3023 section 2 (as ROME's
 * APP-XML and TEXT-XML), RFC 7303 section 8 (+xml anywhere), RFC 8259 and RFC 6839 section 3.1 (json). */
static const struct {
	const char *top;
	const char *subtype;
	enum mime_class class;
} classes[] = {
	{ "application", "xml",                        MIME_APP_XML },
	{ "application", "xml-dtd",                    MIME_APP_XML },
	{ "application", "xml-external-parsed-entity", MIME_APP_XML },
	{ "application", "+xml",                       MIME_APP_XML },
	{ "text",        "xml",                        MIME_TEXT_XML },
	{ "text",        "xml-external-parsed-entity", MIME_TEXT_XML },
	{ "text",        "+xml",                       MIME_TEXT_XML },
	{ NULL,          "+xml",                       MIME_OTHER_XML },
	{ "application", "json",                       MIME_JSON },
	{ NULL,          "+json",                      MIME_JSON },
	{ "text",        "html",                       MIME_TEXT_HTML },
	{ "text",        NULL,                         MIME_TEXT_OTHER },
	{ "image",       NULL,                         MIME_MEDIA },
	{ "audio",       NULL,                         MIME_MEDIA },
	{ "video",       NULL,                         MIME_MEDIA },
	{ "font",        NULL,                         MIME_MEDIA },
	{ NULL,          NULL,                         MIME_OTHER },
};

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
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
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

static bool fits(const char *want, const char *got)
{
	size_t n, w;

	if (want == NULL)
		return true;
	n = strlen(got), w = strlen(want);
	if (want[0] == '+')
		return n > w && memcmp(got + n - w, want, w) == 0;
	return strcmp(want, got) == 0;
}

static enum mime_class media_type_classify(const char *mime)
{
	char top[MEDIA_TYPE_MAX];
	const char *slash = strchr(mime, '/');
	size_t i = 0;

	memcpy(top, mime, (size_t)(slash - mime));
	top[slash - mime] = '\0';
	while (!fits(classes[i].top, top) || !fits(classes[i].subtype, slash + 1))
		i++;
	return classes[i].class;
}

static bool read_mime(struct media_type *m, struct field *f)
{
	const char *start = f->p;
	size_t top, sub, len, i;

	top = take_token(f);
	if (top == 0 || f->p == f->end || *f->p++ != '/')
		return false;
	sub = take_token(f);
	len = top + 1 + sub;
	if (sub == 0 || len >= sizeof m->mime)
		return false;
	for (i = 0; i < len; i++)
		m->mime[i] = lower(start[i]);
	m->mime[len] = '\0';
	return true;
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

void media_type_read(struct media_type *m, const char *value, size_t len)
{
	struct field f = { value, value == NULL ? NULL : value + len };
	const char *name;
	size_t name_len;

	memset(m, 0, sizeof *m);
	if (value == NULL)
		return;
	skip_blanks(&f);
	if (!read_mime(m, &f))
		return;
	m->CTMime = media_type_classify(m->mime);
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
