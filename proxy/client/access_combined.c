/* The access log's line as Apache's combined log format has it, which nginx writes too; see access_log.h. Its bytes are
 * escaped as nginx does it. */
#include "proxy/client/access_log.h"

#include <time.h>

#include "proxy/base/text.h"
#include "proxy/base/url_secrets.h"

enum { COMBINED_WORDS_MAX = 512 };

/* Adds a peer's bytes between quotes: those that could end the quotes or the line, and all beyond ASCII, as \xHH. */
static void add_escaped(struct text *t, const char *bytes, size_t len, size_t max)
{
	for (size_t i = 0, n = 0; i < len && n < max; i++) {
		unsigned char c = (unsigned char)bytes[i];
		bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';

		if (plain)
			text_add(t, bytes + i, 1);
		else {
			text_puts(t, "\\x");
			text_hex(t, c, 2);
		}
		n += plain ? 1 : 4;
	}
}

/* A field's value, or "-" if there is none. A URL is shown as the request's own is. */
static void add_field(struct text *t, struct slice value)
{
	char shown[URL_SHOWN_MAX];

	text_puts(t, " \"");
	if (value.len)
		add_escaped(t, shown, url_show(shown, value.at, value.len), COMBINED_WORDS_MAX);
	else
		text_puts(t, "-");
	text_puts(t, "\"");
}

/* "21/Nov/2026:03:04:05 +0000". UTC, as all of utfeed's times; the months of strftime() are English, for utfeed never
 * calls setlocale(). */
static void add_when(struct text *t, int64_t wall_ms)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	char stamp[40] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(stamp, sizeof stamp, "%d/%b/%Y:%H:%M:%S +0000", &tm);
	text_puts(t, stamp);
}

/* A name, as a word of its own. */
static void add_combined_user(struct text *t, const char *name)
{
	char word[ACCESS_USER_MAX];

	text_puts(t, " - ");
	if (name)
		text_add(t, word, log_escape(word, sizeof word, name, strlen(name)));
	else
		text_puts(t, "-");
}

static void add_request_line(struct text *t, const struct access_log_entry *entry)
{
	char shown[URL_SHOWN_MAX];

	if (!entry->method.len) {
		text_puts(t, "-");
		return;
	}
	add_escaped(t, entry->method.at, entry->method.len, ACCESS_METHOD_MAX);
	text_puts(t, " ");
	add_escaped(t, shown, url_show(shown, entry->target.at, entry->target.len), ACCESS_TARGET_MAX);
	if (entry->version) {
		text_puts(t, " HTTP/");
		text_puts(t, entry->version);
	}
}

size_t access_log_combined(char buf[ACCESS_LOG_LINE_MAX], const struct access_log_entry *entry)
{
	struct text t = text_on(buf, ACCESS_LOG_LINE_MAX - 1);
	struct slice port, address = access_log_address(entry->client, &port);

	text_add(&t, address.at, address.len);
	add_combined_user(&t, entry->user);
	text_puts(&t, " [");
	add_when(&t, entry->wall_ms);
	text_puts(&t, "] \"");
	add_request_line(&t, entry);
	text_printf(&t, "\" %03d ", entry->status);
	text_number(&t, entry->body_bytes);
	add_field(&t, entry->referer);
	add_field(&t, entry->user_agent);
	buf[t.len] = '\n';
	return t.len + 1;
}
