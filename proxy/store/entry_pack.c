/* Turns an entry into bytes and back; see entry.h. All numbers are little-endian, every text follows its length (32
 * bits), and a row of a table (a policy, a charset) is written as its name. Layout: magic, format, kind, key,
 * generation, since; then a record of variants has its field names, and every other kind has its freshness, a part also
 * first and total, and every response also its head, the origin's head, the report and the body; a checksum ends the
 * entry.
 * Invariant: entry_pack() writes again, byte for byte, whatever entry_unpack() accepts. */
#include "proxy/store/entry.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/hash.h"
#include "proxy/http/head_text.h"
#include "proxy/http/vary.h"

static const char magic[8] = { 'u', 't', 'f', 'e', 'e', 'd', '\r', '\n' };
enum { KIND_RESPONSE, KIND_VARY, KIND_MARK, KIND_PART };
enum { CHECKSUM_BYTES = 8 };
#define ABSENT UINT32_MAX              /* in the place of a length: there is no text */

/* Packing runs twice: first it counts the bytes, with at NULL, then it writes them. */
struct packer { char *at; size_t len; };

static void pack_bytes(struct packer *p, const void *bytes, size_t len)
{
	if (p->at && len)
		memcpy(p->at + p->len, bytes, len);
	p->len += len;
}

static void pack_u32(struct packer *p, uint32_t v)
{
	v = htole32(v);
	pack_bytes(p, &v, sizeof v);
}

static void pack_u64(struct packer *p, uint64_t v)
{
	v = htole64(v);
	pack_bytes(p, &v, sizeof v);
}

static void pack_bool(struct packer *p, bool v)
{
	char byte = v;

	pack_bytes(p, &byte, 1);
}

static void pack_text(struct packer *p, const void *bytes, size_t len)
{
	pack_u32(p, (uint32_t)len);
	pack_bytes(p, bytes, len);
}

static void pack_word(struct packer *p, const char *word)
{
	if (word)
		pack_text(p, word, strlen(word));
	else
		pack_u32(p, ABSENT);
}

static const char *kind_name(int kind)
{
	static const char *const names[] = { [VERDICT_CHARSET] = "charset", [VERDICT_ERROR] = "error",
		[VERDICT_NONE] = "none" };

	return names[kind];
}

static void pack_verdict(struct packer *p, const struct verdict *v)
{
	pack_word(p, kind_name((int)v->kind));
	pack_word(p, policy_name(v->policy));
	pack_word(p, v->path);
	pack_word(p, charset_name(v->charset));
	pack_bool(p, v->literal);
	pack_word(p, v->named);
	pack_word(p, v->unknown);
	pack_word(p, v->was);
	pack_bool(p, v->feed);
	pack_bool(p, v->extended);
	pack_word(p, verdict_error_name(v->error));
	pack_word(p, verdict_reason_name(v->reason));
	pack_word(p, verdict_outcome_name(v->outcome));
}

static void pack_report(struct packer *p, const struct object_report *r)
{
	pack_bool(p, r->decided);
	if (r->decided)
		pack_verdict(p, &r->verdict);
	pack_bool(p, r->revised);
	pack_bool(p, r->normalised);
	pack_bool(p, r->decoded);
	pack_u64(p, r->repairs);
	pack_u64(p, r->malformed);
}

static void pack_freshness(struct packer *p, const struct freshness *f)
{
	pack_u64(p, (uint64_t)f->response_time);
	pack_u64(p, (uint64_t)f->lifetime_s);
	pack_u64(p, (uint64_t)f->initial_age_s);
	pack_u32(p, f->swr_s);
	pack_u32(p, f->sie_s);
	pack_u32(p, f->keep_s);
	pack_u32(p, f->flags);
	pack_u64(p, (uint64_t)f->same_since);
}

static void pack_head(struct packer *p, const struct object_head *h)
{
	pack_u32(p, (uint32_t)h->status);
	pack_u64(p, (uint64_t)h->content_length);
	pack_bool(p, h->no_body);
	pack_bool(p, h->gzip);
	pack_text(p, h->bytes, h->len);
}

static void pack_body(struct packer *p, struct object *o)
{
	struct object_reader r = { 0 };
	struct iovec iov[16];
	size_t n;

	pack_u64(p, object_length(o));
	if (!p->at) {
		p->len += object_length(o);
		return;
	}
	object_attach(o, &r);
	do {
		int count = object_peek(&r, iov, sizeof iov / sizeof iov[0], SIZE_MAX, &n);

		for (int i = 0; i < count; i++)
			pack_bytes(p, iov[i].iov_base, iov[i].iov_len);
		object_consume(&r, n);
	} while (n);
	object_detach(&r);
}

static uint32_t entry_kind(const struct entry *e)
{
	if (e->vary)
		return KIND_VARY;
	if (!e->object)
		return KIND_MARK;
	return e->part.total ? KIND_PART : KIND_RESPONSE;
}

static void pack_all(struct packer *p, const struct entry *e)
{
	pack_bytes(p, magic, sizeof magic);
	pack_u32(p, ENTRY_FORMAT);
	pack_u32(p, entry_kind(e));
	pack_text(p, e->key, e->key_len);
	pack_u64(p, e->generation);
	pack_u64(p, e->since);
	if (e->vary) {
		pack_word(p, e->vary);
		return;
	}
	pack_freshness(p, &e->freshness);
	if (e->part.total) {
		pack_u64(p, e->part.first);
		pack_u64(p, e->part.total);
	}
	if (e->object) {
		struct object_report room;

		pack_head(p, e->head);
		pack_text(p, e->upstream, e->upstream_len);
		pack_report(p, object_snapshot(e->object, &room));
		pack_body(p, e->object);
	}
}

char *entry_pack(const struct entry *e, size_t *len)
{
	struct packer p = { 0 };

	if (e->key_len >= ABSENT || e->upstream_len >= ABSENT || (e->head && e->head->len >= ABSENT))
		return NULL;
	pack_all(&p, e);
	*len = p.len + CHECKSUM_BYTES;
	if (!(p.at = malloc(*len)))
		return NULL;
	p.len = 0;
	pack_all(&p, e);
	pack_u64(&p, hash_xx64(p.at, p.len));
	return p.at;
}

/* Once something is not as it must be, odd is set and every further read returns zero or NULL. */
struct unpacker { const char *at; size_t left; bool odd; };

static const char *unpack_bytes(struct unpacker *u, size_t len)
{
	const char *at = u->at;

	if (u->odd || len > u->left) {
		u->odd = true;
		return NULL;
	}
	u->at += len;
	u->left -= len;
	return at;
}

static uint32_t unpack_u32(struct unpacker *u)
{
	const char *at = unpack_bytes(u, sizeof(uint32_t));
	uint32_t v = 0;

	if (at)
		memcpy(&v, at, sizeof v);
	return le32toh(v);
}

static uint64_t unpack_u64(struct unpacker *u)
{
	const char *at = unpack_bytes(u, sizeof(uint64_t));
	uint64_t v = 0;

	if (at)
		memcpy(&v, at, sizeof v);
	return le64toh(v);
}

static bool unpack_bool(struct unpacker *u)
{
	const char *at = unpack_bytes(u, 1);

	u->odd |= at && (unsigned char)*at > 1;
	return at && *at;
}

static struct slice unpack_text(struct unpacker *u)
{
	uint32_t len = unpack_u32(u);
	const char *at = len == ABSENT ? NULL : unpack_bytes(u, len);

	return (struct slice){ at, at ? len : 0 };
}

/* A copy that ends in NUL. */
static char *unpack_copy(struct unpacker *u, struct slice text)
{
	char *copy = text.at ? malloc(text.len + 1) : NULL;

	if (!copy) {
		u->odd = true;
		return NULL;
	}
	memcpy(copy, text.at, text.len);
	copy[text.len] = 0;
	return copy;
}

static void unpack_array(struct unpacker *u, char *array, size_t cap)
{
	struct slice text = unpack_text(u);

	if (!text.at || text.len >= cap || memchr(text.at, 0, text.len)) {
		u->odd = true;
		return;
	}
	memcpy(array, text.at, text.len);
	array[text.len] = 0;
}

static bool slice_equals(struct slice s, const char *word)
{
	return word ? s.at && s.len == strlen(word) && !memcmp(s.at, word, s.len) : !s.at;
}

/* The row of a table whose name comes next; an absent text stands for the row whose name is NULL. */
static int unpack_row(struct unpacker *u, const char *(*name)(int), int rows)
{
	struct slice word = unpack_text(u);

	for (int i = 0; i < rows && !u->odd; i++)
		if (slice_equals(word, name(i)))
			return i;
	u->odd = true;
	return 0;
}

/* A label of the charset tables; the text returned is the table's own and static. */
static const char *unpack_label(struct unpacker *u)
{
	struct slice word = unpack_text(u);
	const struct charset_label *label;

	if (!word.at)
		return NULL;
	if (!word.len)
		return "";
	label = charset_lookup(word.at, word.len);
	if (label && slice_equals(word, label->text))
		return label->text;
	u->odd = true;
	return NULL;
}

static const char *row_policy(int i) { return policy_name((enum policy)i); }
static const char *row_charset(int i) { return charset_name((enum charset)i); }
static const char *row_error(int i) { return verdict_error_name((enum verdict_error)i); }
static const char *row_reason(int i) { return verdict_reason_name((enum verdict_reason)i); }
static const char *row_outcome(int i) { return verdict_outcome_name((enum verdict_outcome)i); }

static void unpack_verdict(struct unpacker *u, struct verdict *v)
{
	v->kind = (enum verdict_kind)unpack_row(u, kind_name, VERDICT_NONE + 1);
	v->policy = (enum policy)unpack_row(u, row_policy, POLICY_COUNT);
	unpack_array(u, v->path, sizeof v->path);
	v->charset = (enum charset)unpack_row(u, row_charset, CS_COUNT);
	v->literal = unpack_bool(u);
	v->named = unpack_label(u);
	unpack_array(u, v->unknown, sizeof v->unknown);
	v->was = unpack_label(u);
	v->feed = unpack_bool(u);
	v->extended = unpack_bool(u);
	v->error = (enum verdict_error)unpack_row(u, row_error, VERR_UNDECODABLE + 1);
	v->reason = (enum verdict_reason)unpack_row(u, row_reason, VREASON_DISABLED + 1);
	v->outcome = (enum verdict_outcome)unpack_row(u, row_outcome, OUTCOME_NONXML + 1);
}

static void unpack_report(struct unpacker *u, struct object_report *r)
{
	r->decided = unpack_bool(u);
	if (r->decided)
		unpack_verdict(u, &r->verdict);
	r->revised = unpack_bool(u);
	r->normalised = unpack_bool(u);
	r->decoded = unpack_bool(u);
	r->repairs = unpack_u64(u);
	r->malformed = unpack_u64(u);
}

/* The limit lies far beyond the year 9999, and sums of such times do not overflow. */
static int64_t unpack_seconds(struct unpacker *u)
{
	int64_t v = (int64_t)unpack_u64(u), most = INT64_C(1) << 48;

	u->odd |= v > most || v < -most;
	return v;
}

static void unpack_freshness(struct unpacker *u, struct freshness *f)
{
	f->response_time = unpack_seconds(u);
	f->lifetime_s = unpack_seconds(u);
	f->initial_age_s = unpack_seconds(u);
	f->swr_s = unpack_u32(u);
	f->sie_s = unpack_u32(u);
	f->keep_s = unpack_u32(u);
	f->flags = unpack_u32(u);
	f->same_since = unpack_seconds(u);
}

static struct object_head *unpack_head(struct unpacker *u)
{
	struct object_head *h = object_head_new();
	struct slice text;

	if (!h) {
		u->odd = true;
		return NULL;
	}
	h->status = (int)unpack_u32(u);
	h->content_length = (int64_t)unpack_u64(u);
	h->no_body = unpack_bool(u);
	h->gzip = unpack_bool(u);
	text = unpack_text(u);
	u->odd |= h->status < 200 || h->status > 999 || h->content_length < -1 || !head_text_valid(text, h->status) ||
	    ((h->status == 204 || h->status == 304) && !h->no_body);
	h->bytes = unpack_copy(u, text);
	h->len = text.len;
	h->etag_end = head_text_etag_end(text);
	return h;
}

static struct object *unpack_object(struct unpacker *u, struct object_head *head, const struct object_report *report)
{
	uint64_t len = unpack_u64(u);
	const char *body = len <= u->left ? unpack_bytes(u, (size_t)len) : NULL;
	struct object *o;

	if (!body || (head->content_length >= 0 && !head->no_body && (uint64_t)head->content_length != len) ||
	    !(o = object_new(0))) {
		u->odd = true;
		return NULL;
	}
	object_retain(o, UINT64_MAX);
	object_expect(o, len);
	object_head(o, object_head_ref(head));
	*object_report(o) = *report;
	if (object_append(o, body, (size_t)len))
		u->odd = true;
	else
		object_done(o);
	return o;
}

static void unpack_response(struct unpacker *u, struct entry_parts *parts)
{
	struct object_report report = { 0 };
	struct slice upstream;

	parts->head = unpack_head(u);
	upstream = unpack_text(u);
	parts->upstream = unpack_copy(u, upstream);
	parts->upstream_len = upstream.len;
	unpack_report(u, &report);
	if (!u->odd)
		parts->object = unpack_object(u, parts->head, &report);
}

static void unpack_part(struct unpacker *u, struct entry_parts *parts)
{
	struct content_range r = { .first = unpack_u64(u) };

	r.total = unpack_u64(u);
	unpack_response(u, parts);
	if (u->odd || !object_length(parts->object) || r.first >= r.total ||
	    object_length(parts->object) > r.total - r.first) {
		u->odd = true;
		return;
	}
	r.last = r.first + object_length(parts->object) - 1;
	parts->part = r;
}

/* Whether magic and checksum are right: then entry_pack() wrote the bytes, or a forger did. */
static bool packed_is_whole(const char *bytes, size_t len)
{
	struct unpacker u = { .at = bytes + len - CHECKSUM_BYTES, .left = CHECKSUM_BYTES };

	return !memcmp(bytes, magic, sizeof magic) && unpack_u64(&u) == hash_xx64(bytes, len - CHECKSUM_BYTES);
}

struct entry *entry_unpack(const char *bytes, size_t len)
{
	struct unpacker u = { .at = bytes, .left = len - CHECKSUM_BYTES };
	struct entry_parts parts = { 0 };
	struct freshness freshness;
	struct slice key;
	uint32_t format, kind;

	if (len < sizeof magic + CHECKSUM_BYTES || !packed_is_whole(bytes, len))
		return NULL;
	unpack_bytes(&u, sizeof magic);
	format = unpack_u32(&u);
	kind = unpack_u32(&u);
	key = unpack_text(&u);
	parts.generation = unpack_u64(&u);
	parts.since = unpack_u64(&u);
	if (format != ENTRY_FORMAT || !key.at)
		return NULL;
	if (kind == KIND_VARY) {
		struct slice names = unpack_text(&u);

		u.odd |= !vary_names_valid(names);
		parts.vary = unpack_copy(&u, names);
	} else {
		unpack_freshness(&u, &freshness);
		parts.freshness = &freshness;
		if (kind == KIND_RESPONSE)
			unpack_response(&u, &parts);
		else if (kind == KIND_PART)
			unpack_part(&u, &parts);
	}
	u.odd |= kind > KIND_PART || entry_key_of_parts(key.at, key.len) != (kind == KIND_MARK || kind == KIND_PART);
	if (!u.odd && !u.left)
		return entry_new(key.at, key.len, &parts);
	entry_parts_free(&parts);
	return NULL;
}

struct slice entry_packed_key(const char *bytes, size_t len)
{
	struct unpacker u = { .at = bytes, .left = len };

	unpack_bytes(&u, sizeof magic + 2 * sizeof(uint32_t));
	return unpack_text(&u);
}
