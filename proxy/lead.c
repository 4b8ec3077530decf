/* Filling the cache; see lead.h. */
#include "lead_internal.h"

#include <stdlib.h>
#include <string.h>

#include "feed_hints.h"
#include "head_text.h"
#include "http_parse.h"
#include "loop.h"
#include "vary.h"

int64_t lead_now(struct lead *l)
{
	return loop_wall_ms(l->params.loop) / 1000;
}

/* False: it was purged while it was on its way. */
static bool lead_leave(struct lead *l)
{
	bool there = !l->left && cache_leave(l->params.cache, l->busy, l->params.busy_len, l->object);

	l->left = true;
	return there;
}

/* Stored first and left then, so that nobody between the two finds neither; what was purged meanwhile must not come back. */
static void lead_stored(struct lead *l, const struct entry *e)
{
	if (!lead_leave(l))
		cache_remove(l->params.cache, e->key, e->key_len);
}

static int lead_copy_request(struct lead *l, const struct http_msg *m)
{
	if (!(l->request_bytes = malloc(m->head_len)) || http_msg_init(&l->request, m->n_fields ? m->n_fields : 1))
		return -1;
	struct http_field *fields = l->request.fields;

	memcpy(l->request_bytes, m->base, m->head_len);
	memcpy(fields, m->fields, m->n_fields * sizeof *fields);
	l->request = *m;
	l->request.fields = fields;
	l->request.base = l->request_bytes;
	return 0;
}

enum lead_head lead_parse(struct lead *l, struct http_msg *m, const char *bytes, size_t len)
{
	struct http_parser *p = http_parser_new(false, NULL, NULL);
	enum lead_head r = LEAD_HEAD_NO_MEMORY;
	size_t used;

	if (p && !http_msg_init(m, l->params.max_fields)) {
		m->base = bytes;
		http_parser_start(p, m, false);
		r = len <= l->params.max_head && http_parse(p, bytes, len, &used) == PARSE_HEAD ? LEAD_HEAD : LEAD_HEAD_UNUSABLE;
		if (r != LEAD_HEAD)
			http_msg_free(m);
	}
	http_parser_free(&p);
	return r;
}

/* What is stored cannot be validated: it goes, and the whole is asked for. */
static void lead_drop_entry(struct lead *l)
{
	cache_remove(l->params.cache, l->params.entry->key, l->params.entry->key_len);
	if (l->params.part == l->params.entry)
		entry_unref(&l->params.part);
	entry_unref(&l->params.entry);
}

/* The head as stored for clients: Age goes, for it is told anew each time; X-Encoding-Rule comes, for it is final now. */
static struct object_head *stored_head(const struct object_head *from, struct object *o)
{
	static const char *const told_anew[] = { "age", NULL };
	struct object_head *h = object_head_new();
	struct text t = { 0 };
	struct verdict v;
	char rule[VERDICT_FORMAT_MAX];

	text_printf(&t, "HTTP/1.1 %d %s\r\n", from->status, http_reason_phrase(from->status));
	head_text_copy(&t, (struct slice){ from->bytes, from->len }, told_anew, false);
	if (object_verdict(o, &v)) {
		verdict_format(&v, rule, sizeof rule);
		text_printf(&t, "X-Encoding-Rule: %s\r\n", rule);
	}
	if (!h || !(h->bytes = text_take(&t, &h->len))) {
		free(text_take(&t, &(size_t){ 0 }));
		object_head_unref(&h);
		return NULL;
	}
	h->status = from->status;
	h->no_body = from->no_body;
	h->content_length = (int64_t)object_length(o);
	h->gzip = from->gzip;
	h->etag_end = head_text_etag_end((struct slice){ h->bytes, h->len });
	return h;
}

void lead_key(struct lead *l, bool part, struct text *key)
{
	text_add(key, l->key, l->params.key_len);
	if (l->vary) {
		text_puts(key, "\n");
		vary_key(key, (struct slice){ l->vary, strlen(l->vary) }, &l->request);
	}
	text_puts(key, part ? ENTRY_PARTS : "");
}

struct entry *lead_put(struct lead *l, struct entry_parts *parts)
{
	struct text key = { 0 };
	struct entry *e = NULL, *record;
	size_t len;
	char *bytes;

	if (l->vary) {
		struct entry_parts names = { .vary = strdup(l->vary), .freshness = parts->freshness };

		if (names.vary && (record = entry_new(l->key, l->params.key_len, &names))) {
			cache_put(l->params.cache, record);
			entry_unref(&record);
		}
	}
	lead_key(l, parts->part.total, &key);
	if (!(bytes = text_take(&key, &len)))
		entry_parts_free(parts);
	else if ((e = entry_new(bytes, len, parts)))
		cache_put(l->params.cache, e);
	free(bytes);
	return e;
}

enum lead_head lead_merge(struct lead *l, const struct entry *e, const struct http_msg *m, char **merged, size_t *len)
{
	struct http_msg stored;
	struct text t = { 0 };
	size_t fields = 0;
	enum lead_head r = lead_parse(l, &stored, e->upstream, e->upstream_len);

	if (r != LEAD_HEAD)
		return r;
	text_printf(&t, "HTTP/1.1 %u \r\n", stored.status);
	for (int pass = 0; pass < 2; pass++) {
		const struct http_msg *from = pass ? m : &stored;

		for (uint32_t i = 0; i < from->n_fields; i++) {
			const struct http_field *f = &from->fields[i];
			struct slice name = http_field_name(from, f), value = http_field_value(from, f);
			bool fixed = f->id == H_CONTENT_LENGTH || f->id == H_CONTENT_ENCODING || f->id == H_CONTENT_TYPE ||
			    f->id == H_CONTENT_RANGE || f->id == H_TRANSFER_ENCODING || f->id == H_CONNECTION || f->id == H_ETAG;
			bool replaced = false;

			if (pass ? fixed : f->id == H_AGE || f->id == H_DATE)
				continue;
			for (uint32_t j = 0; !pass && !fixed && j < m->n_fields && !replaced; j++) {
				struct slice other = http_field_name(m, &m->fields[j]);

				replaced = other.len == name.len && !strncasecmp(other.at, name.at, name.len);
			}
			if (replaced)
				continue;
			text_field(&t, name, value);
			fields++;
		}
	}
	text_puts(&t, "\r\n");
	http_msg_free(&stored);
	if (!(*merged = text_take(&t, len)))
		return LEAD_HEAD_NO_MEMORY;
	if (fields <= l->params.max_fields && *len <= l->params.max_head)
		return LEAD_HEAD;
	free(*merged);
	return LEAD_HEAD_UNUSABLE;
}

/* Where the response names no lifetime its feed may: of the time it was made, not of the time it came. */
static void lead_freshness(struct lead *l, struct freshness *f, const struct http_msg *m, struct object *body)
{
	struct freshness_settings settings = l->params.freshness;
	struct feed_hints hints;

	freshness_read(f, m, l->request_time, l->response_time, &settings);
	if (!(f->flags & FRESHNESS_HEURISTIC) || !settings.hint_max_s || lead_body(body) != RESPONSE_NORMALISED)
		return;
	feed_hints_of(&hints, body);
	settings.hint_s = feed_hints_lifetime(&hints, f->response_time - f->initial_age_s, settings.hint_max_s);
	freshness_read(f, m, l->request_time, l->response_time, &settings);
}

int lead_finish_parts(struct lead *l, struct entry_parts *parts, struct freshness *fresh)
{
	struct object_head *head = NULL;
	struct http_msg m;

	if (parts->object && parts->upstream && lead_parse(l, &m, parts->upstream, parts->upstream_len) == LEAD_HEAD) {
		lead_freshness(l, fresh, &m, parts->object);
		l->head.date = loop_http_date(l->params.loop);
		if ((head = response_head_build(&m, lead_body(parts->object), &l->head)))
			parts->head = stored_head(head, parts->object);
		http_msg_free(&m);
	}
	object_head_unref(&head);
	parts->freshness = fresh;
	if (!parts->head)
		entry_parts_free(parts);
	return parts->head ? 0 : -1;
}

/* The stored response answers once more as it is, and is no longer stored. */
static enum fetch_choice lead_retire(struct lead *l, struct object *o)
{
	object_report(o)->fwd_status = 304;
	object_report(o)->freshness = l->params.entry->freshness;
	object_substitute(o, l->params.entry->head, l->params.entry->object);
	cache_remove(l->params.cache, l->params.entry->key, l->params.entry->key_len);
	lead_leave(l);
	return FETCH_ANSWERED;
}

/* The origin says the stored response still holds: it is stored anew with the new head, and answers. Where the two heads make one that is
 * too large, or none, there is nothing to store. */
static enum fetch_choice lead_refresh(struct lead *l, const struct http_msg *m, struct object *o)
{
	struct entry *old = l->params.entry, *e = NULL;
	struct freshness fresh;
	struct entry_parts parts = { .part = old->part };

	switch (lead_merge(l, old, m, &parts.upstream, &parts.upstream_len)) {
	case LEAD_HEAD: break;
	case LEAD_HEAD_UNUSABLE: return lead_retire(l, o);
	case LEAD_HEAD_NO_MEMORY: return FETCH_NO_MEMORY;
	}
	parts.object = object_ref(old->object);
	if (lead_finish_parts(l, &parts, &fresh) || !(e = entry_new(old->key, old->key_len, &parts)))
		return FETCH_NO_MEMORY;
	cache_put(l->params.cache, e);
	object_report(o)->fwd_status = m->status;
	object_report(o)->stored = true;
	object_report(o)->freshness = e->freshness;
	object_substitute(o, e->head, e->object);
	lead_stored(l, e);
	entry_unref(&e);
	return FETCH_ANSWERED;
}

static bool lead_serve_stale(struct lead *l, struct object *o, int status)
{
	struct cache_control cc;

	if (!l->params.entry)
		return false;
	freshness_request(&cc, &l->request, &l->params.freshness);
	if (!freshness_if_error(&l->params.entry->freshness, &cc, lead_now(l)))
		return false;
	object_report(o)->fwd_status = status;
	object_report(o)->freshness = l->params.entry->freshness;
	object_substitute(o, l->params.entry->head, l->params.entry->object);
	lead_leave(l);
	return true;
}

static bool lead_is_too_large(struct lead *l, const struct http_msg *m)
{
	return m->has_length && m->content_length > l->params.max_object;
}

/* An error says nothing of what the next answer will be like, and who asks for a part waits for nobody as it is. */
static void lead_set_apart(struct lead *l, const struct http_msg *m, enum storable storable)
{
	if (m->status < 500 && !l->ranged)
		cache_set_apart(l->params.cache, l->busy, l->params.busy_len, storable_lasts(storable) || lead_is_too_large(l, m), lead_now(l));
}

static int lead_plan_storing(struct lead *l, const struct http_msg *m, struct slice upstream, struct object *o)
{
	struct http_msg whole = *m;    /* a part is judged as the whole it is of */
	enum storable storable;
	struct text names = { 0 };
	size_t len;

	if (lead_takes_part(l, m))
		whole.status = 200;
	storable = freshness_storable(&l->request, &whole, &l->params.freshness);
	/* What else is said to one who asks for a part is not for those who do not. */
	if (l->ranged && whole.status != 200)
		storable = STORABLE_STATUS;
	lead_set_apart(l, m, storable);
	if (storable != STORABLE_YES) {
		object_report(o)->detail = storable_word(storable);
		return 0;
	}
	if (lead_is_too_large(l, m))
		return 0;
	/* An error never replaces a good response (it would have been served as such, were the stored one still usable). */
	if (m->status >= 500 && l->params.entry)
		return 0;
	switch (vary_names(&names, m)) {
	case VARY_ALL:
		return 0;
	case VARY_FIELDS:
		text_add(&names, "", 1);
		if (!(l->vary = text_take(&names, &len)))
			return -1;
		break;
	case VARY_NOTHING:
		break;
	}
	if (!(l->upstream = malloc(upstream.len)))
		return -1;
	memcpy(l->upstream, upstream.at, upstream.len);
	l->upstream_len = upstream.len;
	l->storing = true;
	return 0;
}

static enum fetch_choice lead_on_head(void *arg, const struct http_msg *m, struct slice upstream, struct object *o)
{
	struct lead *l = arg;

	l->response_time = lead_now(l);
	if (object_report(o)->foreign)
		l->head.way = RESPONSE_FOREIGN;
	if (l->params.entry && m->status == 304)
		return lead_refresh(l, m, o);
	if (freshness_error_status(m->status) && lead_serve_stale(l, o, m->status))
		return FETCH_ANSWERED;
	if (lead_plan_storing(l, m, upstream, o))
		return FETCH_NO_MEMORY;
	object_report(o)->fwd_status = m->status;
	object_report(o)->stored = l->storing;
	object_report(o)->private = !l->storing;
	if (l->storing)
		object_keep(o, l->params.max_object);
	else
		lead_leave(l);
	lead_note_head(l, m);
	return FETCH_GO_ON;
}

static bool lead_on_failed(void *arg, const struct proxy_failure *f, struct object *o)
{
	struct lead *l = arg;

	/* What the origin said and could not be read is no answer of an origin that errs: it is told. */
	if (f->error != PROXY_ERROR_ENCODING && lead_serve_stale(l, o, 0))
		return true;
	object_report(o)->stored = false;
	/* Before others learn of it: whoever asks again must not find this one. */
	lead_leave(l);
	return false;
}

static struct entry *lead_store_whole(struct lead *l, const struct http_msg *m, struct object *o)
{
	struct freshness fresh;
	struct entry_parts parts = { .freshness = &fresh };

	lead_freshness(l, &fresh, m, o);
	if (!(parts.head = stored_head(object_get_head(o), o)))
		return NULL;
	parts.object = object_ref(o);
	parts.upstream = l->upstream;
	parts.upstream_len = l->upstream_len;
	l->upstream = NULL;
	return lead_put(l, &parts);
}

static void lead_on_done(void *arg, struct object *o)
{
	struct lead *l = arg;
	struct http_msg m;
	struct entry *e;

	if (l->storing && object_is_kept(o) && object_length(o) <= l->params.max_object &&
	    lead_parse(l, &m, l->upstream, l->upstream_len) == LEAD_HEAD) {
		e = l->part.total ? lead_store_part(l, &m, o) : lead_store_whole(l, &m, o);
		http_msg_free(&m);
		if (e) {
			lead_stored(l, e);
			l->marks = false;
		}
		entry_unref(&e);
	}
	lead_leave(l);
}

static void lead_free(struct lead *l)
{
	entry_unref(&l->params.entry);
	entry_unref(&l->params.part);
	http_msg_free(&l->request);
	free(l->request_bytes);
	free(l->upstream);
	free(l->vary);
	free(l->key);
	free(l->busy);
	free(l);
}

static void lead_on_end(void *arg)
{
	struct lead *l = arg;

	lead_note_end(l);
	lead_leave(l);
	lead_free(l);
}

static char *copy_bytes(const char *bytes, size_t len)
{
	char *copy = malloc(len ? len : 1);

	if (copy)
		memcpy(copy, bytes, len);
	return copy;
}

/* If-None-Match and If-Modified-Since from what the origin sent with the stored response (RFC 9111 section 4.3.1). */
static int lead_add_validators(struct lead *l, struct fetch_request *r)
{
	struct http_msg stored;
	struct slice etag, modified;
	struct text t = { 0 };
	size_t len;
	char *fields;

	if (!l->params.entry)
		return 0;
	switch (lead_parse(l, &stored, l->params.entry->upstream, l->params.entry->upstream_len)) {
	case LEAD_HEAD:
		break;
	case LEAD_HEAD_UNUSABLE:
		lead_drop_entry(l);
		return 0;
	case LEAD_HEAD_NO_MEMORY:
		return -1;
	}
	etag = http_msg_get(&stored, H_ETAG);
	modified = http_msg_get(&stored, H_LAST_MODIFIED);
	text_add(&t, r->fields, r->fields_len);
	if (etag.len)
		text_printf(&t, "If-None-Match: %.*s\r\n", (int)etag.len, etag.at);
	if (modified.len)
		text_printf(&t, "If-Modified-Since: %.*s\r\n", (int)modified.len, modified.at);
	http_msg_free(&stored);
	if (!(fields = text_take(&t, &len)))
		return -1;
	free(r->fields);
	r->fields = fields;
	r->fields_len = len;
	return 0;
}

struct object *lead_start(const struct lead_params *params, struct fetch_request *r, bool *joined)
{
	static const struct proxy_failure no_memory = { .error = PROXY_ERROR_PROXY_INTERNAL_ERROR };
	struct object *theirs = NULL, *o = object_new(params->transit_bytes);
	struct lead *l = calloc(1, sizeof *l);
	struct fetch_hooks hooks = { lead_on_head, lead_on_failed, lead_on_done, lead_on_end, l };

	if (!o || !l)
		goto fail;
	l->params = *params;
	l->params.entry = params->entry ? entry_ref(params->entry) : NULL;
	l->params.part = params->part ? entry_ref(params->part) : NULL;
	l->object = o;
	l->left = true;
	l->key = copy_bytes(params->key, params->key_len);
	l->busy = copy_bytes(params->busy, params->busy_len);
	l->head = r->stage.head;
	l->ranged = r->ranged;
	l->normalises = r->stage.normalise;
	l->marks = l->normalises && !l->ranged;
	l->request_time = lead_now(l);
	if (!l->key || !l->busy || lead_copy_request(l, params->request) || lead_add_validators(l, r))
		goto fail;
	r->hooks = &hooks;
	theirs = cache_lead(params->cache, l->busy, params->busy_len, o, params->alone);
	l->left = *joined = theirs;
	if (theirs)
		goto fail;
	if (fetch_start(params->fetches, r, o)) {
		lead_leave(l);
		object_fail(o, &no_memory);
		goto fail;
	}
	return o;
fail:
	if (l)
		lead_free(l);
	object_unref(&o);
	fetch_request_free(r);
	return theirs;
}
