/* Checking a feed that was sent to the admin listener: /check for people, /api/check for programs; see
 * admin_internal.h. What comes is hostile: reports escape all of it. */
#include <string.h>

#include "conf/conf.h"
#include "proxy/admin/admin_internal.h"
#include "proxy/admin/check_job.h"
#include "proxy/admin/form.h"
#include "proxy/admin/html.h"
#include "proxy/admin/multipart.h"
#include "proxy/http/meant_url.h"
#include "proxy/report/check_html.h"
#include "proxy/report/check_json.h"
#include "proxy/report/visible.h"

enum { CHECK_TYPE_MAX = 256, CHECK_NAME_MAX = 256, CHECK_URL_MAX = 4096, CHECK_WHY_MAX = 256 };

/* What is to be checked: the response of a URL, or a feed that was sent. */
struct check_sent {
	char url[CHECK_URL_MAX]; /* "": it is the feed */
	char why[CHECK_WHY_MAX]; /* what is wrong with the URL, a peer's, too */
	struct slice bytes;
	char name[CHECK_NAME_MAX];
	char type[CHECK_TYPE_MAX]; /* the Content-Type that a server gave it; "": none was seen */
};

/* Whether the text may stand in a field (RFC 9110 section 5.5). */
static bool check_type_is_clean(const char *type)
{
	for (; *type; type++)
		if ((unsigned char)*type < 0x20 || *type == 0x7f)
			return false;
	return true;
}

static void check_api_done(struct admin_exchange *x, const struct check_report *report, const char *why)
{
	if (report) {
		struct json j = { .out = x->out };

		x->type = "application/json";
		(void)check_report_json(&j, NULL, report);
		putc('\n', x->out);
	} else {
		admin_api_error(x, why ? 502 : 500, why ? why : CHECK_NO_MEMORY);
	}
	admin_conn_answer_later(x);
}

static check_job_done_f check_page_done;

/* The report for people says why auto decided so, too. -1: as check_job_start() tells. */
static int check_begin(struct admin_exchange *x, const struct check_sent *sent, check_job_done_f *done)
{
	const struct check_order order = { *sent->url ? sent->url : NULL, sent->bytes, sent->name, sent->type,
		done == check_page_done };

	return check_job_start(x, &order, done);
}

/* Copies as much as fits, up to a NUL. */
static void check_copy(char *out, size_t cap, struct slice text)
{
	snprintf(out, cap, "%.*s", text.at ? (int)(text.len < cap ? text.len : cap) : 0, text.at ? text.at : "");
}

static bool check_is_of_type(const struct admin_exchange *x, const char *type)
{
	struct slice rest;

	return slice_is(slice_until(http_msg_get(x->msg, H_CONTENT_TYPE), ';', &rest), type);
}

static bool check_is_multipart(const struct admin_exchange *x)
{
	return check_is_of_type(x, "multipart/form-data");
}

/* The body where it is a form that has a URL in it; at NULL: it is something else. curl gives any body the type of a
 * form, a feed as well. A feed has a '<' in it, which is %3C in a form. */
static struct slice check_form_body(const struct admin_exchange *x)
{
	struct slice none = { NULL, 0 };
	char url[2];

	if (!check_is_of_type(x, "application/x-www-form-urlencoded") ||
	    memchr(x->body.at, '<', x->body.len) || form_get(none, x->body, "url", url, sizeof url) == FORM_ABSENT)
		return none;
	return x->body;
}

/* Takes the feed and its type out of a form with a file, under that name of the type. False: the form lacks a file. */
static bool check_read_file(struct check_sent *sent, const struct admin_exchange *x, const char *type)
{
	struct slice kind = http_msg_get(x->msg, H_CONTENT_TYPE), given = multipart_find(kind, x->body, type).content;
	struct multipart_part file = multipart_find(kind, x->body, "file");

	sent->bytes = file.content;
	if (file.file.at)
		check_copy(sent->name, sizeof sent->name, file.file);
	if (given.at && !*sent->type)
		check_copy(sent->type, sizeof sent->type, given);
	return sent->bytes.at;
}

/* Notes that the URL is none that can be fetched, and which one may be meant. */
static void check_tell_url(struct check_sent *sent)
{
	struct text meant = { 0 };
	bool is_meant = meant_url(&meant, (struct slice){ sent->url, strlen(sent->url) }) == MEANT_URL && !meant.failed;

	snprintf(sent->why, sizeof sent->why, "This is not an http or https URL of at most %d characters; %s%.*s%s",
	    CHECK_URL_MAX - 1, is_meant ? "did you mean " : "write one such as https://example.org/feed.xml",
	    is_meant ? (int)meant.len : 0, is_meant ? meant.bytes : "", is_meant ? "?" : ".");
	text_free(&meant);
}

/* Reads the URL of the query or of a form. FORM_ABSENT: there is none. */
static enum form_result check_read_url(struct check_sent *sent, const struct admin_exchange *x, struct slice form)
{
	enum form_result r = form_get(x->query, form, "url", sent->url, sizeof sent->url);
	struct slice part = { NULL, 0 };

	if (r == FORM_ABSENT && check_is_multipart(x))
		part = multipart_find(http_msg_get(x->msg, H_CONTENT_TYPE), x->body, "url").content;
	if (part.at) {
		check_copy(sent->url, sizeof sent->url, part);
		r = strlen(sent->url) == part.len ? FORM_FOUND : FORM_TOO_LONG;
	}
	if (r == FORM_TOO_LONG || (r == FORM_FOUND && !url_is_http(sent->url, strlen(sent->url)))) {
		check_tell_url(sent);
		return FORM_TOO_LONG;
	}
	return r;
}

/* Reads what a program sent. NULL: it is right; else what is wrong. */
static const char *check_read_api(struct check_sent *sent, const struct admin_exchange *x)
{
	struct slice form = check_form_body(x);
	enum form_result type = form_get(x->query, form, "content-type", sent->type, sizeof sent->type);

	switch (check_read_url(sent, x, form)) {
	case FORM_TOO_LONG:
		return sent->why;
	case FORM_FOUND:
		break;
	case FORM_ABSENT:
		if (check_is_multipart(x) && !check_read_file(sent, x, "content-type"))
			return "this form has neither url nor file; send one of them";
	}
	if (type == FORM_TOO_LONG || !check_type_is_clean(sent->type))
		return "content-type is not a Content-Type; write one such as text/xml; charset=utf-8";
	return NULL;
}

void admin_api_check(struct admin_exchange *x)
{
	struct check_sent sent = { .bytes = x->body, .name = "-" };
	const char *wrong = check_read_api(&sent, x);

	if (wrong)
		admin_api_error(x, 400, wrong);
	else if (!check_begin(x, &sent, check_api_done))
		return;
	else if (*sent.url)
		admin_api_error(x, 503, CHECK_BUSY);
	else
		admin_api_error(x, 500, CHECK_NO_MEMORY);
}

/* url: what the form has in it; "": nothing. */
static void check_page_form(FILE *out, const char *url)
{
	fputs("<p>utfeed says whether readers can show a feed, what is wrong with it, and what to write to its "
	      "publisher.</p>\n<form action=\"/check\">\n"
	      "<p><label for=\"url\">The feed's URL</label> <input type=\"url\" id=\"url\" "
	      "name=\"url\" required size=\"40\" value=\"",
	    out);
	visible_html(out, url);
	fputs("\"> <button>Fetch and check</button></p>\n</form>\n"
	      "<form method=\"post\" action=\"/check\" enctype=\"multipart/form-data\">\n"
	      "<p><label for=\"file\">Or a file</label> <input type=\"file\" id=\"file\" name=\"file\" required></p>\n"
	      "<p><label for=\"type\">The Content-Type that the server sends, if it is known</label>\n"
	      "<input id=\"type\" name=\"type\" size=\"30\" maxlength=\"200\" "
	      "placeholder=\"text/xml; charset=iso-8859-1\" autocomplete=\"off\"> "
	      "<button>Check</button></p>\n</form>\n",
	    out);
}

void check_page_alert(FILE *out, const char *why)
{
	fputs("<p role=\"alert\" class=\"bad\">", out);
	visible_html(out, why);
	fputs("</p>\n", out);
}

/* Writes the page: a report or why there is none, where one was asked for, and the forms. */
static void check_page(struct admin_exchange *x, const struct check_report *report, const char *why)
{
	char url[CHECK_URL_MAX];

	(void)form_get(x->query, (struct slice){ NULL, 0 }, "url", url, sizeof url);
	admin_page_begin(x, "Check a feed", "/check", report);
	if (why)
		check_page_alert(x->out, why);
	if (report) {
		check_html_report(x->out, report, 1);
		fputs("<h2>Check another</h2>\n", x->out);
	}
	check_page_form(x->out, url);
	admin_page_end(x, report);
}

static void check_page_done(struct admin_exchange *x, const struct check_report *report, const char *why)
{
	check_page(x, report, report ? NULL : why ? why : CHECK_NO_MEMORY);
	admin_conn_answer_later(x);
}

static void check_page_sent(struct admin_exchange *x)
{
	struct check_sent sent = { .name = "" };

	if (!check_read_file(&sent, x, "type") || !check_type_is_clean(sent.type))
		admin_answer_plainly(x, 400, "This form has no feed in it, or a wrong Content-Type; choose a file.");
	else if (check_begin(x, &sent, check_page_done))
		admin_answer_plainly(x, 500, CHECK_NO_MEMORY);
}

/* A page of another site can lead a browser to any URL of ours, so utfeed fetches only what a page of ours asks for. */
void admin_page_check(struct admin_exchange *x)
{
	struct check_sent sent = { .name = "" };

	if (!admin_reads(x)) {
		check_page_sent(x);
		return;
	}
	enum form_result asked = check_read_url(&sent, x, (struct slice){ NULL, 0 });
	if (asked == FORM_FOUND && !admin_page_of_ours_asks(x->msg)) {
		check_page(x, NULL, "No page of this site asked for it. Press the button to fetch the URL.");
		return;
	}
	switch (asked) {
	case FORM_ABSENT:
		check_page(x, NULL, NULL);
		break;
	case FORM_TOO_LONG:
		check_page(x, NULL, sent.why);
		break;
	case FORM_FOUND:
		if (check_begin(x, &sent, check_page_done))
			check_page(x, NULL, CHECK_BUSY);
	}
}
