/* Checking a feed that was sent to the admin listener: /check for people, /api/check for programs; see
 * admin_internal.h. What comes is hostile: reports escape all of it. */
#include <string.h>

#include "conf/conf.h"
#include "proxy/admin/admin_internal.h"
#include "proxy/admin/form.h"
#include "proxy/admin/html.h"
#include "proxy/admin/multipart.h"
#include "proxy/report/check.h"
#include "proxy/report/check_html.h"
#include "proxy/report/check_json.h"

enum { CHECK_TYPE_MAX = 256, CHECK_NAME_MAX = 256 };

/* A feed to be checked. */
struct check_sent {
	struct slice bytes;
	char name[CHECK_NAME_MAX];
	char type[CHECK_TYPE_MAX]; /* the Content-Type that a server gave it; "": none was seen */
};

/* Makes the report. NULL: out of memory. */
static struct check *check_sent_feed(const struct check_sent *sent)
{
	const struct check_options options = { .normalise = { .policy = POLICY_AUTO,
		                                   .repairs = REPAIR_ALL,
		                                   .http = *sent->type,
		                                   .content_type = sent->type,
		                                   .content_type_len = strlen(sent->type) } };
	struct check *c = check_new(&options);

	if (c && (check_feed(c, (const uint8_t *)sent->bytes.at, sent->bytes.len) || check_finish(c)))
		check_free(&c);
	else if (c)
		check_report_of(c)->file = sent->name;
	return c;
}

/* Whether the text may stand in a field (RFC 9110 section 5.5). */
static bool check_type_is_clean(const char *type)
{
	for (; *type; type++)
		if ((unsigned char)*type < 0x20 || *type == 0x7f)
			return false;
	return true;
}

void admin_api_check(struct admin_exchange *x)
{
	struct check_sent sent = { .bytes = x->body, .name = "-" };
	struct check *c;
	struct json j = { .out = x->out };

	if (form_get(x->query, (struct slice){ NULL, 0 }, "content-type", sent.type, sizeof sent.type) ==
	        FORM_TOO_LONG ||
	    !check_type_is_clean(sent.type)) {
		admin_api_error(x, 400, "content-type is no Content-Type");
		return;
	}
	if (!(c = check_sent_feed(&sent))) {
		admin_api_error(x, 500, "utfeed ran out of memory.");
		return;
	}
	x->type = "application/json";
	(void)check_report_json(&j, NULL, check_report_of(c));
	putc('\n', x->out);
	check_free(&c);
}

static void check_page_form(FILE *out)
{
	fputs("<form method=\"post\" action=\"/check\" enctype=\"multipart/form-data\">\n"
	      "<p><label for=\"file\">The feed, as a file</label> <input type=\"file\" id=\"file\" name=\"file\" "
	      "required></p>\n"
	      "<p><label for=\"type\">The Content-Type that the server sends, if it is known</label>\n"
	      "<input id=\"type\" name=\"type\" maxlength=\"200\" placeholder=\"text/xml; charset=iso-8859-1\" "
	      "autocomplete=\"off\"></p>\n<p><button>Check</button></p>\n</form>\n"
	      "<p>A feed on the web is checked by <code>utfeed check URL</code>.</p>\n",
	    out);
}

/* Copies as much as fits, up to a NUL. */
static void check_copy(char *out, size_t cap, struct slice text)
{
	snprintf(out, cap, "%.*s", text.at ? (int)(text.len < cap ? text.len : cap) : 0, text.at ? text.at : "");
}

/* Takes the feed out of the form. False: there is none. */
static bool check_read_form(struct check_sent *sent, const struct admin_exchange *x)
{
	struct slice kind = http_msg_get(x->msg, H_CONTENT_TYPE);
	struct multipart_part file = multipart_find(kind, x->body, "file");

	sent->bytes = file.content;
	check_copy(sent->name, sizeof sent->name, file.file);
	check_copy(sent->type, sizeof sent->type, multipart_find(kind, x->body, "type").content);
	return sent->bytes.at && check_type_is_clean(sent->type);
}

void admin_page_check(struct admin_exchange *x)
{
	bool sends = x->msg->method != METHOD_GET && x->msg->method != METHOD_HEAD;
	struct check_sent sent;
	struct check *c = NULL;

	if (sends && !check_read_form(&sent, x)) {
		admin_answer_plainly(x, 400, "This form has no feed in it.");
		return;
	}
	if (sends && !(c = check_sent_feed(&sent))) {
		admin_answer_plainly(x, 500, "utfeed ran out of memory.");
		return;
	}
	admin_page_is_html(x);
	html_begin(x->out, "Check a feed", "/check");
	check_page_form(x->out);
	if (c)
		check_html_report(x->out, check_report_of(c), 1);
	html_end(x->out);
	check_free(&c);
}
