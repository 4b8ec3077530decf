/* Writing the page at "/"; see start_page.h. */
#include "proxy/http/start_page.h"

#include "proxy/http/accept_feeds.h"

#define START_PAGE_STYLE \
	":root{color-scheme:light dark}" \
	"body{margin:0 auto;max-width:44rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif}" \
	"h1{line-height:1.2}label{display:block}" \
	"input,button{font:inherit;padding:.4rem .6rem;max-width:100%;box-sizing:border-box}input{width:100%}" \
	"button{margin-top:.5rem}pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:.5rem .75rem;" \
	"border:1px solid;margin:.5rem 0}" \
	":focus-visible{outline:3px solid currentColor;outline-offset:2px}"
/* tests/e2e/test_start_page.py compares it with the style. */
#define START_PAGE_STYLE_HASH "sha256-KztyRloGovPhp0xfmFR4p3THdwus6uRV/UCkz354pr0="

enum start_page_way { FROM_GATEWAY, FROM_FORWARD, FROM_PAC, FROM_URL_WITH_PASSWORD, FROM_COUNT };

/* What is said of a way in, and an example of it for a reader's settings and for a shell. '$' stands for utfeed's own
 * URL. */
static const struct {
	enum start_page_way way;
	const char *sentence, *settings, *shell;
} start_page_ways[] = {
	{ FROM_GATEWAY, "Subscribe to a feed through utfeed: put the address of utfeed before the URL of the feed.",
		"$/https://example.org/feed.xml", "curl $/https://example.org/feed.xml" },
	{ FROM_GATEWAY, "Or put the URL of the feed into a query.",
		"$/?url=https://example.org/feed.xml", "curl '$/?url=https://example.org/feed.xml'" },
	{ FROM_URL_WITH_PASSWORD,
		"utfeed asks for a name and a password. For readers that cannot send them, the URL can have both.",
		"$/NAME:PASSWORD@/https://example.org/feed.xml",
		"curl $/NAME:PASSWORD@/https://example.org/feed.xml" },
	{ FROM_FORWARD, "Or set utfeed as the HTTP proxy of your reader, for feeds with http:// in their URL.",
		"$", "curl -x $ http://example.org/feed.xml" },
	{ FROM_PAC, "Systems and browsers find their proxy settings here.",
		"$/proxy.pac", "curl $/proxy.pac" },
};

static const char start_page_about[] =
    "utfeed makes mislabelled feeds readable: it finds the real character encoding of a feed, whatever its labels "
    "say, and sends the feed on as UTF-8.";
static const char start_page_rule[] = "The header field X-Encoding-Rule of a response says how the encoding was found.";
static const char start_page_closed[] = "utfeed serves only the paths here that its operator has configured.";

static const char start_page_begin[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>utfeed</title>\n"
    "<style>" START_PAGE_STYLE "</style>\n</head>\n<body>\n<main>\n<h1>utfeed</h1>";

/* Without an action it leads to the page's own URL, also behind a server that puts utfeed below a path. */
static const char start_page_form[] =
    "\n<form>\n<label for=\"url\">URL of a feed</label>\n"
    "<input id=\"url\" name=\"url\" type=\"text\" inputmode=\"url\" autocomplete=\"url\" autocapitalize=\"none\" "
    "spellcheck=\"false\" required>\n<button>Read this feed as UTF-8</button>\n</form>";

bool start_page_is(struct slice target)
{
	struct slice query, path = slice_until(target, '?', &query);

	return path.len == 1 && *path.at == '/' && !query.len;
}

enum start_page start_page_of(const struct http_msg *m)
{
	int html = accept_named(m, "text/html");

	return html && html >= accept_named(m, "text/plain") ? START_PAGE_HTML : START_PAGE_TEXT;
}

static void start_page_add(struct text *t, enum start_page page, struct slice words)
{
	for (size_t i = 0; i < words.len; i++)
		switch (page == START_PAGE_HTML ? words.at[i] : '\0') {
		case '&': text_puts(t, "&amp;"); break;
		case '<': text_puts(t, "&lt;"); break;
		case '>': text_puts(t, "&gt;"); break;
		default: text_add(t, words.at + i, 1);
		}
}

static void start_page_sentence(struct text *t, enum start_page page, const char *sentence)
{
	text_puts(t, page == START_PAGE_HTML ? "\n<p>" : t->len ? "\n\n" : "");
	text_puts(t, sentence);
	text_puts(t, page == START_PAGE_HTML ? "</p>" : "");
}

static void start_page_example(struct text *t, enum start_page page, const char *example, struct slice own)
{
	text_puts(t, page == START_PAGE_HTML ? "\n<pre>" : "\n    ");
	for (; *example; example++)
		start_page_add(t, page, *example == '$' ? own : (struct slice){ example, 1 });
	text_puts(t, page == START_PAGE_HTML ? "</pre>" : "");
}

void start_page_write(struct text *t, enum start_page page, const struct conf *conf, struct slice own)
{
	const bool there[FROM_COUNT] = { [FROM_GATEWAY] = conf->gateway, [FROM_FORWARD] = conf->forward,
		[FROM_PAC] = conf->pac, [FROM_URL_WITH_PASSWORD] = conf->gateway && *conf->client_auth };

	text_puts(t, page == START_PAGE_HTML ? start_page_begin : "");
	start_page_sentence(t, page, start_page_about);
	if (page == START_PAGE_HTML && conf->gateway)
		text_puts(t, start_page_form);
	for (size_t i = 0; i < sizeof start_page_ways / sizeof *start_page_ways; i++) {
		if (!there[start_page_ways[i].way])
			continue;
		start_page_sentence(t, page, start_page_ways[i].sentence);
		start_page_example(t, page,
		    page == START_PAGE_HTML ? start_page_ways[i].settings : start_page_ways[i].shell, own);
	}
	if (!conf->gateway && !conf->forward)
		start_page_sentence(t, page, start_page_closed);
	start_page_sentence(t, page, start_page_rule);
	text_puts(t, page == START_PAGE_HTML ? "\n</main>\n</body>\n</html>" : "");
}

const char *start_page_fields(enum start_page page)
{
	static const char *const fields[] = {
		[START_PAGE_TEXT] = "Content-Type: text/plain; charset=utf-8\r\nVary: Accept\r\n",
		[START_PAGE_HTML] = "Content-Type: text/html; charset=utf-8\r\nVary: Accept\r\n"
		    "Content-Security-Policy: default-src 'none'; style-src '" START_PAGE_STYLE_HASH "'; "
		    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\n",
	};

	return fields[page];
}
