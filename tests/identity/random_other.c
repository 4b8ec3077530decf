/* Owns bodies that are no feed and hold one, or markup, at random: scripts, data, mail, archives, prose.
 * Must not know: the normaliser. */
#include "identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* %D a feed with its declaration in one line, %M the same in lines, %J as in a JSON string, %S another document with its
 * declaration, %R a feed's root alone, %W words, %N a number, %B bytes, %% a percent sign, %Z a NUL. */
static const struct kind {
	const char *type, *body;
	bool html;
} kinds[] = {
	{ "application/json", "\"%J\"", true },
	{ "application/json; charset=utf-8", "{\"d\":\"%J\"}", true },
	{ "application/json", "[\"%J\", %N, \"%W\"]\n", true },
	{ "application/json", " {\n  \"%W\": %N,\n  \"body\": \"%J\"\n}", true },
	{ "application/feed+json", "{\"version\":\"https://jsonfeed.org/version/1\",\"title\":\"%R %W\"}", true },
	{ "application/ld+json", "{\"@context\":\"%W\",\"text\":\"%R\"}", true },
	{ "application/x-ndjson", "{\"a\":\"%J\"}\n{\"b\":\"%W\"}\n", true },
	{ "application/problem+json", "{\"detail\":\"%W %J\"}", true },
	{ "application/javascript", "export default '%D'\n", true },
	{ "text/javascript", "var feed = '%D'; // %W\n", true },
	{ "application/javascript", "callback(\"%J\");", true },
	{ "text/javascript", "/* %W %D */ alert(%N);", true },
	{ "text/javascript", "document.write('%R')", true },
	{ "text/typescript", "const feed: string = `%M`\n", true },
	{ "text/css", "/* %W %D */ a { color: red }", false },
	{ "text/css", "a { background: url('data:image/svg+xml,%S') }", true },
	{ "text/css", "@import \"%W\"; b::after { content: '%R' }", true },
	{ "text/csv", "id,body\n%N,\"%D\"\n%N,%W\n", true },
	{ "text/csv", "%N;%D;%W\n", false },
	{ "text/tab-separated-values", "%N\t%D\t%W\n", false },
	{ "text/x-python", "#!/usr/bin/env python3\n# %W\nFEED = \"\"\"%M\"\"\"\n", true },
	{ "text/x-c", "/* %W */\nchar const *feed = \"%J\";\n", true },
	{ "text/x-java-source", "String f = \"%J\"; // %W\n", true },
	{ "text/x-php", "<?php // %W\necho '%D';\n", false },
	{ "application/x-httpd-php", "<?php header('Content-Type: text/xml') ?>\n%M", false },
	{ "text/x-php", "<?PHP echo 1; ?>%R", false },
	{ "application/x-sh", "#!/bin/sh\ncat <<'END' # %W\n%MEND\n", true },
	{ "application/x-sh", "cat <<END\n%MEND\necho %W\n", true },
	{ "application/sql", "INSERT INTO feeds VALUES (%N, '%D');\n", true },
	{ "text/yaml", "title: %W\nbody: '%D'\n", true },
	{ "text/yaml", "- |\n  %D\n- %W\n", false },
	{ "application/toml", "title = '%W'\nbody = '%D'\n", true },
	{ "text/ini", "[%W]\nfeed=%D\n", true },
	{ "text/markdown", "# %W\n\n    %D\n", false },
	{ "text/markdown", "```xml\n%M```\n%W\n", true },
	{ "text/x-rst", "::\n\n  %D\n\n%W\n", false },
	{ "text/x-tex", "\\begin{verbatim}\n%M\\end{verbatim} %% %W\n", true },
	{ "text/x-diff", "--- a/feed.xml\n+++ b/feed.xml\n@@ -1 +1 @@\n-<title>%W</title>\n+%D\n", true },
	{ "text/calendar", "BEGIN:VCALENDAR\r\nSUMMARY:%W\r\nDESCRIPTION:%D\r\nEND:VCALENDAR\r\n", false },
	{ "text/vcard", "BEGIN:VCARD\r\nNOTE:%D\r\nEND:VCARD\r\n", false },
	{ "text/vtt", "WEBVTT\n\n%D\n", false },
	{ "text/event-stream", "data: %D\n\n", false },
	{ "text/uri-list", "# %W\nhttp://example.com/?%R\n", false },
	{ "text/plain", "%W %W: a feed starts with %D and then goes on.\n", false },
	{ "text/plain", "%W:\n%M", false },
	{ "text/plain", "> %D\n\nThat is what the server sent, %W.\n", true },
	{ "text/plain", "Warning: a feed on a line is\n%M", false },
	{ "text/plain", "%W %W", false },
	{ "text/plain", "%N\n%D", false },
	{ "text/x-log", "%N GET /feed 200 %D\n%N %W\n", false },
	{ "multipart/mixed; boundary=b", "--b\r\nContent-Type: application/rss+xml\r\n\r\n%M\r\n--b--\r\n", false },
	{ "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n%M\r\n--b--\r\n", true },
	{ "multipart/related; boundary=b", "--b\r\nX: %W\r\n\r\n%D\r\n--b--\r\n", false },
	{ "message/rfc822", "From: a@example.com\r\nSubject: %W\r\n\r\n%M", false },
	{ "message/http", "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n\r\n%M", false },
	{ "application/http", "GET / HTTP/1.1\r\n\r\n%M", false },
	{ "application/pdf", "%%PDF-1.4\n%%%B\n1 0 obj <</Type/Metadata>> stream\n%Mendstream\n%%%%EOF\n", true },
	{ "application/postscript", "%%!PS-Adobe-3.0\n%% %W\n(%D) show\n", true },
	{ "application/rtf", "{\\rtf1 %W %D}", true },
	{ "application/zip", "PK\x03\x04\n%Z%Z%Z%B%Zfeed.xml%M", true },
	{ "application/gzip", "\x1f\x8b\x08%Z%B%M", true },
	{ "application/x-tar", "feed.xml%Z%Z%B%Z0000644%Z%M%Z%Z", true },
	{ "application/wasm", "%Zasm\x01%Z%Z%Z%M", true },
	{ "application/x-7z-compressed", "7z\xbc\xaf\x27\x1c%Z%B%D", true },
	{ "application/vnd.ms-excel", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1%Z%B%S", true },
	{ "application/x-protobuf", "\x0a\x10%Z%B%D", true },
	{ "application/msgpack", "\x81\xa1" "d\xd9%Z%D", true },
	{ "application/x-bittorrent", "d4:feed%N:%De", false },
	{ "image/png", "\x89PNG\r\n\x1a\n%Z%Z%Z\rtEXt%M%B", true },
	{ "image/jpeg", "\xff\xd8\xff\xe1%Z%B%S", true },
	{ "image/gif", "GIF89a%B%M", true },
	{ "audio/mpeg", "ID3\x03%Z%Z%M%B", true },
	{ "video/mp4", "%Z%Z%Z\x18" "ftyp%M%B", true },
	{ "font/woff2", "wOF2%Z%B%D", true },
	{ "text/html", "<!DOCTYPE html>\n<html><head><title>%W</title></head><body><xmp>%M</xmp></body></html>", true },
	{ "text/html", "<html><body><script type=\"text/xml\">%M</script>%W</body></html>", true },
	{ "text/html; charset=utf-8", "<!-- %W -->\n<html><pre>%S</pre></html>", true },
	{ "text/html", "<p>%W %D</p>", true },
	{ "text/html", "<br />\n%W<textarea>%M</textarea>", true },
	{ "application/xhtml+xml", "<?xml version=\"1.0\"?>\n<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title>%W</title></head></html>", true },
	{ "application/octet-stream", "%B%B%B%D", false },
	{ "image/svg+xml", "<svg xmlns=\"http://www.w3.org/2000/svg\"><title>%W</title></svg>\n", true },
	{ "application/vnd.google-earth.kml+xml", "<kml><name>%W</name></kml>\n", true },
	{ "application/soap+xml; charset=utf-8", "<s:Envelope xmlns:s=\"u\"><s:Body>%W</s:Body></s:Envelope>", true },
	{ "text/xml", "PK\x03\x04%Z%B%M", true },
	{ "application/xml; charset=utf-8", "\x89PNG\r\n\x1a\n%Z%Z%Z\rtEXt%M%B", true },
	{ "application/rss+xml", "\x1f\x8b\x08%Z%B%M", true },
	{ "application/atom+xml", "ID3\x03%Z%Z%M%B", true },
	{ "text/xml; charset=iso-8859-1", "%%PDF-1.4\n%%%B\n%M%%%%EOF\n", true },
};

const size_t other_kinds = sizeof(kinds) / sizeof(kinds[0]);

static const char *const encodings[] = { "iso-8859-1", "UTF-8", "windows-1251", "koi8-r", "shift_jis" };

static void put_document(struct text *t, struct chance *c, bool feed, const char *line_end)
{
	static const char *const roots[] = { "rss version=\"2.0\"", "feed xmlns=\"http://www.w3.org/2005/Atom\"", "opml", "urlset", "channel" };
	char text[256];
	const char *root = feed ? ANY_OF(c, roots) : "svg";

	snprintf(text, sizeof(text), "<?xml version=\"1.0\" encoding=\"%s\"?>%s<%s><title>", ANY_OF(c, encodings), line_end, root);
	text_put(t, text);
	put_word(t, c, &charsets[0]);
	snprintf(text, sizeof(text), "</title></%.*s>%s", (int)strcspn(root, " "), root, line_end);
	text_put(t, text);
}

static void put_escaped(struct text *t, struct chance *c)
{
	struct text plain = { 0 };
	bool slashes = one_in(c, 3);

	put_document(&plain, c, true, one_in(c, 2) ? "" : "\n");
	for (size_t i = 0; i < plain.len; i++) {
		if (plain.bytes[i] == '\n')
			text_put(t, "\\n");
		else if (plain.bytes[i] == '"' || (plain.bytes[i] == '/' && slashes))
			text_put(t, "\\");
		if (plain.bytes[i] != '\n')
			text_add(t, plain.bytes + i, 1);
	}
	free(plain.bytes);
}

static void put_bytes(struct text *t, struct chance *c)
{
	for (unsigned n = 8 + below(c, 24); n > 0; n--) {
		uint8_t byte = (uint8_t)(0x80 + below(c, 0x80));

		text_add(t, &byte, 1);
	}
}

static void put_words(struct text *t, struct chance *c)
{
	const struct charset_words *set = &charsets[below(c, (unsigned)charset_count)];

	for (unsigned n = 1 + below(c, 3); n > 0; n--) {
		put_word(t, c, set);
		if (n > 1)
			text_put(t, " ");
	}
}

static void put_part(struct text *t, struct chance *c, char part)
{
	char number[16];

	switch (part) {
	case 'D':
		put_document(t, c, true, "");
		break;
	case 'M':
		put_document(t, c, true, "\n");
		break;
	case 'S':
		put_document(t, c, false, "");
		break;
	case 'J':
		put_escaped(t, c);
		break;
	case 'R':
		text_put(t, one_in(c, 2) ? "<rss>" : "<feed xmlns='a'>");
		break;
	case 'W':
		put_words(t, c);
		break;
	case 'N':
		snprintf(number, sizeof(number), "%u", below(c, 100000));
		text_put(t, number);
		break;
	case 'B':
		put_bytes(t, c);
		break;
	case 'Z':
		text_add(t, "", 1);
		break;
	default:
		text_put(t, "%");
	}
}

void random_other(struct other *o, size_t kind, struct chance *c)
{
	const struct kind *k = &kinds[kind];

	o->type = k->type;
	o->html = k->html;
	text_clear(&o->body);
	for (const char *p = k->body; *p; p++) {
		if (*p == '%')
			put_part(&o->body, c, *++p);
		else
			text_add(&o->body, p, 1);
	}
}
