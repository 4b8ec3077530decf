/* Owns the stored parts of a response: the mark that its URL may be asked for in parts, and how a part that came joins
 * the stored part (RFC 9111 sections 3.3 and 3.4).
 * Must not know: answers. Invariant: bytes are joined only under one strong validator and one key, without a gap. If a
 * route normalises, joined parts never become a whole response, because a whole body has to be examined from its
 * beginning. */
#include "proxy/cache/fill_internal.h"

#include <stdlib.h>
#include <string.h>

/* Whether memory has a mark, and not a part, that will hold for long yet. */
static bool fill_is_marked(struct fill *fill, const struct text *key)
{
	enum { RENEW_SHARE = 8 };
	struct entry *e = cache_peek(fill->params.cache, key->bytes, key->len);
	bool marked = e && !e->object &&
	    fill_now(fill) - e->freshness.response_time < ENTRY_PARTS_KNOWN_S / RENEW_SHARE;

	entry_unref(&e);
	return marked;
}

/* Stores the mark that ranges of this URL may go to the origin: the body is nothing that utfeed changes, and no
 * complete copy will answer them. */
static void fill_mark(struct fill *fill)
{
	const struct freshness known = { .response_time = fill_now(fill) };
	struct entry_parts parts = { .freshness = &known };
	struct text key = { 0 };
	struct entry *e = NULL;

	fill->marks = false;
	text_add(&key, fill->busy.at, fill->busy.len);
	text_puts(&key, fill->ranged ? "" : ENTRY_PARTS);         /* the fill of a part has that key already */
	if (!key.failed && !fill_is_marked(fill, &key) && (e = entry_new(key.bytes, key.len, &parts)))
		cache_put(fill->params.cache, e, &fill->ticket);
	entry_unref(&e);
	text_free(&key);
}

/* RFC 9110 section 14.3 */
static bool takes_ranges(const struct http_msg *m)
{
	struct http_list it = { 0, 0 };
	struct slice unit;

	while (http_msg_next_member(m, H_ACCEPT_RANGES, &it, &unit))
		if (slice_is(unit, "bytes"))
			return true;
	return false;
}

/* Whether the body was examined, is not a feed, and went out as the origin sent it. */
static bool is_no_feed(struct object *o)
{
	struct verdict v;

	return object_verdict(o, &v) && v.kind == VERDICT_NONE &&
	    (v.reason == VREASON_NOT_XML || v.reason == VREASON_NO_TRANSFORM) && fill_body(o) == RESPONSE_RAW;
}

/* Whether the stored part belongs to the same representation as this response. */
static bool part_fits(struct fill *fill, const struct http_msg *m)
{
	const struct entry *old = fill->params.part;
	struct http_msg stored;

	if (fill_parse(fill, &stored, old->upstream, old->upstream_len) != FILL_HEAD)
		return false;
	bool same = content_range_same(&stored, m, fill->response_time);
	http_msg_free(&stored);
	return same;
}

void fill_note_head(struct fill *fill, const struct http_msg *m)
{
	/* The stored part is out of date: the response is a whole one, or a part of another representation. */
	if (fill->params.part && (m->status == 200 || (m->status == 206 && !part_fits(fill, m))))
		fill_mark(fill);
	fill->marks = fill->marks && m->status == 200 && takes_ranges(m);
	/* The type alone says that the body is not a feed: the mark need not wait for the end of the body. */
	if (fill->marks && fill->plan != PLAN_STORE && fill_media(m) == MEDIA_KIND_MEDIA)
		fill_mark(fill);
}

void fill_note_end(struct fill *fill)
{
	if (fill->marks && is_no_feed(fill->object))
		fill_mark(fill);
}

bool fill_takes_part(struct fill *fill, const struct http_msg *m)
{
	struct content_range r;

	if (!fill->ranged || m->status != 206 || http_msg_has(m, H_CONTENT_ENCODING) || !content_range_read(&r, m) ||
	    (m->has_length && m->content_length != content_range_length(&r)) ||
	    content_range_length(&r) > fill->params.max_object || !content_range_same(m, m, fill->response_time))
		return false;
	fill->part = r;
	return true;
}

/* The stored part, if the new one can be joined with it to make *whole; NULL: the new part stands alone. */
static const struct entry *part_before(struct fill *fill, const struct http_msg *m, struct content_range *whole)
{
	const struct entry *old = fill->params.part;
	struct content_range joined;
	struct text key = { 0 };

	*whole = fill->part;
	if (!old || !content_range_join(&joined, &old->part, &fill->part) ||
	    content_range_length(&joined) > fill->params.max_object || !part_fits(fill, m))
		return NULL;
	/* Last-Modified as a strong validator does not tell variants apart: the keys must be equal too. */
	fill_key(fill, fill->vary, true, &key);
	bool same = !key.failed && key.len == old->key_len && !memcmp(key.bytes, old->key, key.len);
	text_free(&key);
	if (!same)
		return NULL;
	*whole = joined;
	return old;
}

static int part_copy(struct object *to, struct object *from, uint64_t offset, uint64_t len)
{
	struct object_reader r = { 0 };
	struct iovec iov[16];
	int status = 0;

	object_attach(from, &r);
	object_seek(&r, offset);
	while (len && !status) {
		size_t n;
		int count =
		    object_peek(&r, iov, sizeof iov / sizeof iov[0], len < SIZE_MAX ? (size_t)len : SIZE_MAX, &n);

		for (int i = 0; i < count && !status; i++)
			status = object_append(to, iov[i].iov_base, iov[i].iov_len);
		object_consume(&r, n);
		len -= n;
	}
	object_detach(&r);
	return status;
}

/* Makes the body that both parts give; where they overlap, the newer bytes count. */
static struct object *part_object(const struct entry *old, const struct content_range *part, struct object *newer,
    uint64_t length)
{
	struct object_head *head = object_head_new();
	struct object *o = object_new(0);
	int status = 0;

	if (!o || !head) {
		object_head_unref(&head);
		object_unref(&o);
		return NULL;
	}
	head->status = 200;
	head->content_length = (int64_t)length;
	object_retain(o, UINT64_MAX);
	object_expect(o, length);
	object_head(o, head);
	*object_report(o) = *object_report(newer);
	if (old && old->part.first < part->first)
		status = part_copy(o, old->object, 0, part->first - old->part.first);
	if (!status)
		status = part_copy(o, newer, 0, content_range_length(part));
	if (!status && old && old->part.last > part->last)
		status = part_copy(o, old->object, part->last + 1 - old->part.first, old->part.last - part->last);
	if (status)
		object_unref(&o);
	else
		object_done(o);
	return o;
}

/* Makes the head of the whole response from the head of a part. */
static char *part_upstream(const struct http_msg *m, size_t *len)
{
	struct text t = { 0 };

	text_puts(&t, "HTTP/1.1 200 \r\n");
	for (uint32_t i = 0; i < m->n_fields; i++) {
		const struct http_field *field = &m->fields[i];

		if (!field->hop && field->id != H_CONNECTION && field->id != H_CONTENT_RANGE &&
		    field->id != H_CONTENT_LENGTH && field->id != H_TRANSFER_ENCODING)
			text_field(&t, http_field_name(m, field), http_field_value(m, field));
	}
	text_puts(&t, "\r\n");
	return text_take(&t, len);
}

struct entry *fill_store_part(struct fill *fill, const struct http_msg *m, struct object *o)
{
	struct entry_parts parts = { 0 };
	struct freshness fresh;
	struct content_range whole;
	const struct entry *old = part_before(fill, m, &whole);
	struct verdict v;

	if (object_length(o) != content_range_length(&fill->part))
		return NULL;
	if (old && fill_merge(fill, old, m, false, &parts.upstream, &parts.upstream_len) != FILL_HEAD) {
		old = NULL;
		whole = fill->part;
	}
	if (!old)
		parts.upstream = part_upstream(m, &parts.upstream_len);
	parts.object = part_object(old, &fill->part, o, content_range_length(&whole));
	if (!fill->normalises && content_range_length(&whole) == whole.total) {
		if (parts.object && object_verdict(o, &v)) {
			v.reason = VREASON_DISABLED;
			object_set_verdict(parts.object, &v, false);
		}
	} else
		parts.part = whole;
	if (fill_finish_parts(fill, &parts, &fresh, false))
		return NULL;
	struct entry *e = fill_put(fill, &parts);
	/* The response is stored whole now, so the entry for its parts is removed. */
	if (e && !e->part.total)
		cache_remove(fill->params.cache, fill->busy.at, fill->busy.len);
	return e;
}
