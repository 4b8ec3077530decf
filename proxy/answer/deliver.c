/* The last choices about a response when its head goes out: the cache's own field lines, preconditions, ranges; see
 * answer.h. */
#include "proxy/answer/answer_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/answer/gateway.h"
#include "proxy/base/http_date.h"
#include "proxy/http/etag.h"
#include "proxy/http/head_text.h"
#include "proxy/http/location.h"
#include "proxy/object/response_head.h"

struct conditional_stored answer_validators(const struct answer *a, const struct object_head *head)
{
	struct slice bytes = { head->bytes, head->len };
	struct conditional_stored stored = { .etag = head_text_get(bytes, "etag"),
		.last_modified = head_text_get(bytes, "last-modified"),
		.variant = head->gzip ? ETAG_GZIP : NULL };

	if (!http_date_read(head_text_get(bytes, "date"), answer_now(a), &stored.date))
		stored.date = answer_now(a);
	return stored;
}

static void deliver_lines(const struct answer *a, bool stored, struct delivery *delivery)
{
	struct text t = text_on(delivery->lines, sizeof delivery->lines - 1);

	if (stored) {
		text_puts(&t, "Age: ");
		text_integer(&t, freshness_age(&a->freshness, answer_now(a)));
		text_puts(&t, "\r\n");
	}
	cache_status_line(&t, a->ctx->conf->via, &a->status);
	delivery->lines[t.failed ? 0 : t.len] = '\0';
}

/* A head of that text, which it takes over. NULL: out of memory. */
static struct object_head *deliver_take_head(struct text *t, int status)
{
	struct object_head *head = object_head_new();

	if (!head || !(head->bytes = text_take(t, &head->len))) {
		text_free(t);
		object_head_unref(&head);
		return NULL;
	}
	head->status = status;
	return head;
}

/* Puts that text in the place of the head that goes out; the body stays as it is. -1: out of memory. */
static int deliver_replace_head(struct delivery *delivery, struct text *t)
{
	const struct object_head *from = delivery->head;
	struct object_head *head = deliver_take_head(t, from->status);

	if (!head)
		return -1;
	head->no_body = from->no_body;
	head->content_length = from->content_length;
	head->gzip = from->gzip;
	head->coded = from->coded;
	head->etag_end = (uint32_t)head_text_etag_end((struct slice){ head->bytes, head->len });
	object_head_unref(&delivery->head);
	delivery->head = head;
	return 0;
}

static void deliver_begin(struct text *t, int status)
{
	text_printf(t, "HTTP/1.1 %d %s\r\n", status, http_reason_phrase(status));
}

static struct object_head *deliver_make_head(const struct object_head *from, int status, const char *const *names,
    bool keep)
{
	struct object_head *head;
	struct text t = { 0 };

	deliver_begin(&t, status);
	head_text_copy(&t, (struct slice){ from->bytes, from->len }, names, keep);
	if (!(head = deliver_take_head(&t, status)))
		return NULL;
	head->no_body = status == 304;
	head->content_length = -1;
	return head;
}

/* Where the request's precondition names the gzip form, which the client then holds, the 304 gets the ETag of that
 * form. */
static int deliver_mark_gzip(struct object_head *head, const struct http_msg *m)
{
	size_t at = head_text_etag_end((struct slice){ head->bytes, head->len }), n = sizeof ETAG_GZIP - 1;
	char *bytes;

	if (!at || !conditional_names_variant(m, ETAG_GZIP))
		return 0;
	if (!(bytes = realloc(head->bytes, head->len + n)))
		return -1;
	memmove(bytes + at + n, bytes + at, head->len - at);
	memcpy(bytes + at, ETAG_GZIP, n);
	head->bytes = bytes;
	head->len += n;
	return 0;
}

static int deliver_not_modified(const struct answer *a, const struct object_head *from, struct delivery *delivery)
{
	/* the fields of RFC 9110 section 15.4.5, and those that utfeed adds by itself. To caches between here and the
	 * client, CDN-Cache-Control does what Cache-Control does (RFC 9213 section 2.2). */
	static const char *const kept[] = { CDN_CACHE_CONTROL, "cache-control", "content-location", "date", "etag",
		"expires", "vary", "last-modified", "via", "x-encoding-rule", "cache-status", "set-cookie",
		"content-security-policy", "x-content-type-options", NULL };
	struct object_head *head = deliver_make_head(from, 304, kept, true);
	bool made = head && (!from->gzip || !deliver_mark_gzip(head, a->request->msg));

	object_head_unref(&delivery->head);
	delivery->head = head;
	return made ? 0 : -1;
}

/* Whether the status gives Location a meaning (RFC 9110 section 10.2.2). */
static bool deliver_leads(int status)
{
	return status == 201 || (status / 100 == 3 && status != 304);
}

/* Writes the gateway's own URL of the place that Location names. If the value is not an http URL, it stays when it has
 * a scheme: user agents do not resolve it then. Otherwise nothing is written. */
static void deliver_add_location(struct text *t, const struct answer *a, struct slice location)
{
	struct destination to = { .path = NULL };
	const char *why;

	switch (location_follow(&to, &a->target.to, location, &why)) {
	case DESTINATION_OK:
		text_puts(t, "Location: ");
		gateway_add_own(t, a->ctx, a->request, &a->target);
		gateway_add_token(t, a->request);
		text_puts(t, "/");
		destination_url(t, &to);
		text_puts(t, "\r\n");
		break;
	case DESTINATION_BAD_URL:
		if (location_has_scheme(location))
			text_field(t, (struct slice){ "Location", sizeof "Location" - 1 }, location);
		break;
	case DESTINATION_NO_MEMORY:
		t->failed = true;
		break;
	}
	destination_free(&to);
}

/* A relative Location would lead the gateway's client to utfeed itself, and an absolute one past utfeed. The stored
 * head keeps the origin's Location, because clients may know the gateway by several names. */
static int deliver_lead(const struct answer *a, struct delivery *delivery)
{
	static const char *const replaced[] = { "location", NULL };
	struct slice from = { delivery->head->bytes, delivery->head->len }, location;
	struct text t = { 0 };

	if (a->target.mode != TARGET_GATEWAY || !deliver_leads(delivery->head->status))
		return 0;
	location = head_text_get(from, "location");
	if (!location.at)
		return 0;
	deliver_begin(&t, delivery->head->status);
	head_text_copy(&t, from, replaced, false);
	deliver_add_location(&t, a, location);
	return deliver_replace_head(delivery, &t);
}

static int deliver_range(const struct object_head *from, enum range_answer what, const struct byte_range *range,
    uint64_t length, struct delivery *delivery)
{
	static const char *const replaced[] = { "content-range", NULL };
	size_t n = strlen(delivery->lines);
	struct object_head *head = deliver_make_head(from, what == RANGE_ONE ? 206 : 416, replaced, false);

	if (!head)
		return -1;
	object_head_unref(&delivery->head);
	delivery->head = head;
	if (what == RANGE_ONE) {
		delivery->offset = range->first;
		delivery->content_length = (int64_t)(range->last - range->first + 1);
		snprintf(delivery->lines + n, sizeof delivery->lines - n, "Content-Range: bytes %llu-%llu/%llu\r\n",
		    (unsigned long long)range->first, (unsigned long long)range->last, (unsigned long long)length);
	} else {
		delivery->offset = length;
		delivery->content_length = 0;
		snprintf(delivery->lines + n, sizeof delivery->lines - n, "Content-Range: bytes */%llu\r\n",
		    (unsigned long long)length);
	}
	return 0;
}

static bool deliver_keeps(struct slice name)
{
	return !cors_is_field(name);
}

/* Gives the response the fields by which a web page may read it, in the place of the origin's own. They depend on the
 * page, so no stored head has them. */
static int deliver_cors(const struct answer *a, struct delivery *delivery)
{
	struct text t = { 0 };

	deliver_begin(&t, delivery->head->status);
	head_text_copy_if(&t, (struct slice){ delivery->head->bytes, delivery->head->len }, deliver_keeps);
	cors_add(&t, answer_cors(a), a->request->msg);
	return deliver_replace_head(delivery, &t);
}

static int deliver_choose(struct answer *a, struct object *o, struct object_head *head, struct delivery *delivery)
{
	bool from_store = a->source == SOURCE_STORED || a->source == SOURCE_SUBSTITUTED;
	struct byte_range range;
	const struct entry *part;
	int failed;

	deliver_lines(a, from_store, delivery);
	answer_count(a);
	if (deliver_lead(a, delivery))
		return -1;
	if (a->source == SOURCE_PAST || (head->status != 200 && head->status != 206) || !request_reads(a->request))
		return 0;
	if (!a->request->conditional && !a->request->ranged)
		return 0;
	struct conditional_stored stored = answer_validators(a, head);
	switch (conditional_evaluate(a->request->msg, &stored, answer_now(a))) {
	case CONDITIONAL_NOT_MODIFIED:
		return deliver_not_modified(a, head, delivery);
	case CONDITIONAL_FAILED:
		delivery->head =
		    deliver_make_head(head, 412, (const char *const[]){ "date", "via", "etag", NULL }, true);
		delivery->content_length = 0;
		object_head_unref(&head);
		return delivery->head ? 0 : -1;
	case CONDITIONAL_PROCEED:
		break;
	}
	if (from_store && (part = lookup_part(a, &range))) {
		failed = deliver_range(head, RANGE_ONE, &range, part->part.total, delivery);
		delivery->offset -= part->part.first;
		return failed;
	}
	if (a->request->method != METHOD_GET || head->status != 200 || object_phase(o) != OBJECT_DONE)
		return 0;
	enum range_answer what = range_evaluate(a->request->msg, &stored, object_length(o), answer_now(a), &range);
	return what == RANGE_NONE ? 0 : deliver_range(head, what, &range, object_length(o), delivery);
}

int answer_deliver(struct answer *a, struct object *o, struct object_head *head, struct delivery *delivery)
{
	delivery->head = head;
	delivery->content_length = object_content_length(o);
	delivery->offset = 0;
	*delivery->lines = '\0';
	if (a->state == ANSWER_NEW)
		return 0;
	answer_begin(a);
	int failed = deliver_choose(a, o, head, delivery);
	return !failed && answer_cors(a) ? deliver_cors(a, delivery) : failed;
}
