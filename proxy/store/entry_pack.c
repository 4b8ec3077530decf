/* Turns an entry into bytes and back; see entry.h. All numbers are little-endian, every text follows its length (32
 * bits), and a row of a table (a policy, a charset) is written as its name. Layout: magic, format, kind, key,
 * generation, since. An index of variants goes on with its field names, every other kind with its freshness. A part
 * then has first and total. Every response has its head, the origin's head, the report and the body. A checksum ends
 * the entry.
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
#define ABSENT UINT32_MAX              /* in the place of a length: the text is missing */

/* Packing runs twice: first it counts the bytes, with at NULL, then it writes them. */
struct entry_packer { char *at; size_t len; };

static void pack_bytes(struct entry_packer *packer, const void *bytes, size_t len)
{
	if (packer->at && len)
		memcpy(packer->at + packer->len, bytes, len);
	packer->len += len;
}

static void pack_u32(struct entry_packer *packer, uint32_t v)
{
	v = htole32(v);
	pack_bytes(packer, &v, sizeof v);
}

static void pack_u64(struct entry_packer *packer, uint64_t v)
{
	v = htole64(v);
	pack_bytes(packer, &v, sizeof v);
}

static void pack_bool(struct entry_packer *packer, bool v)
{
	char byte = v;

	pack_bytes(packer, &byte, 1);
}

static void pack_text(struct entry_packer *packer, const void *bytes, size_t len)
{
	pack_u32(packer, (uint32_t)len);
	pack_bytes(packer, bytes, len);
}

static void pack_word(struct entry_packer *packer, const char *word)
{
	if (word)
		pack_text(packer, word, strlen(word));
	else
		pack_u32(packer, ABSENT);
}

static const char *kind_name(int kind)
{
	static const char *const names[] = { [VERDICT_CHARSET] = "charset", [VERDICT_ERROR] = "error",
		[VERDICT_NONE] = "none" };

	return names[kind];
}

static void pack_verdict(struct entry_packer *packer, const struct verdict *verdict)
{
	pack_word(packer, kind_name((int)verdict->kind));
	pack_word(packer, policy_name(verdict->policy));
	pack_word(packer, verdict->path);
	pack_word(packer, charset_name(verdict->charset));
	pack_bool(packer, verdict->literal);
	pack_word(packer, verdict->named);
	pack_word(packer, verdict->unknown);
	pack_word(packer, verdict->was);
	pack_bool(packer, verdict->feed);
	pack_bool(packer, verdict->extended);
	pack_word(packer, verdict_error_name(verdict->error));
	pack_word(packer, verdict_reason_name(verdict->reason));
	pack_word(packer, verdict_outcome_name(verdict->outcome));
}

static void pack_report(struct entry_packer *packer, const struct object_report *report)
{
	pack_bool(packer, report->decided);
	if (report->decided)
		pack_verdict(packer, &report->verdict);
	pack_bool(packer, report->revised);
	pack_bool(packer, report->normalised);
	pack_bool(packer, report->decoded);
	pack_u64(packer, report->repairs);
	pack_u64(packer, report->malformed);
}

static void pack_freshness(struct entry_packer *packer, const struct freshness *freshness)
{
	pack_u64(packer, (uint64_t)freshness->response_time);
	pack_u64(packer, (uint64_t)freshness->lifetime_s);
	pack_u64(packer, (uint64_t)freshness->initial_age_s);
	pack_u32(packer, freshness->swr_s);
	pack_u32(packer, freshness->sie_s);
	pack_u32(packer, freshness->keep_s);
	pack_u32(packer, freshness->flags);
	pack_u64(packer, (uint64_t)freshness->same_since);
}

static void pack_head(struct entry_packer *packer, const struct object_head *head)
{
	pack_u32(packer, (uint32_t)head->status);
	pack_u64(packer, (uint64_t)head->content_length);
	pack_bool(packer, head->no_body);
	pack_bool(packer, head->gzip);
	pack_text(packer, head->bytes, head->len);
}

static void pack_body(struct entry_packer *packer, struct object *o)
{
	struct object_reader r = { 0 };
	struct iovec iov[16];
	size_t n;

	pack_u64(packer, object_length(o));
	if (!packer->at) {
		packer->len += object_length(o);
		return;
	}
	object_attach(o, &r);
	do {
		int count = object_peek(&r, iov, sizeof iov / sizeof iov[0], SIZE_MAX, &n);

		for (int i = 0; i < count; i++)
			pack_bytes(packer, iov[i].iov_base, iov[i].iov_len);
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

static void pack_all(struct entry_packer *packer, const struct entry *e)
{
	pack_bytes(packer, magic, sizeof magic);
	pack_u32(packer, ENTRY_FORMAT);
	pack_u32(packer, entry_kind(e));
	pack_text(packer, e->key, e->key_len);
	pack_u64(packer, e->generation);
	pack_u64(packer, e->since);
	if (e->vary) {
		pack_word(packer, e->vary);
		return;
	}
	pack_freshness(packer, &e->freshness);
	if (e->part.total) {
		pack_u64(packer, e->part.first);
		pack_u64(packer, e->part.total);
	}
	if (e->object) {
		struct object_report room;

		pack_head(packer, e->head);
		pack_text(packer, e->upstream, e->upstream_len);
		pack_report(packer, object_snapshot(e->object, &room));
		pack_body(packer, e->object);
	}
}

size_t entry_version_at(size_t key_len)
{
	return sizeof magic + 3 * sizeof(uint32_t) + key_len;
}

void entry_version(const struct entry *e, char version[static ENTRY_VERSION_BYTES])
{
	struct entry_packer p = { .at = version };

	pack_u64(&p, e->generation);
	pack_u64(&p, e->since);
	pack_u64(&p, (uint64_t)e->freshness.response_time);
}

char *entry_pack(const struct entry *e, size_t *len)
{
	struct entry_packer p = { 0 };

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

static const char *unpack_bytes(struct unpacker *unpacker, size_t len)
{
	const char *at = unpacker->at;

	if (unpacker->odd || len > unpacker->left) {
		unpacker->odd = true;
		return NULL;
	}
	unpacker->at += len;
	unpacker->left -= len;
	return at;
}

static uint32_t unpack_u32(struct unpacker *unpacker)
{
	const char *at = unpack_bytes(unpacker, sizeof(uint32_t));
	uint32_t v = 0;

	if (at)
		memcpy(&v, at, sizeof v);
	return le32toh(v);
}

static uint64_t unpack_u64(struct unpacker *unpacker)
{
	const char *at = unpack_bytes(unpacker, sizeof(uint64_t));
	uint64_t v = 0;

	if (at)
		memcpy(&v, at, sizeof v);
	return le64toh(v);
}

static bool unpack_bool(struct unpacker *unpacker)
{
	const char *at = unpack_bytes(unpacker, 1);

	unpacker->odd |= at && (unsigned char)*at > 1;
	return at && *at;
}

static struct slice unpack_text(struct unpacker *unpacker)
{
	uint32_t len = unpack_u32(unpacker);
	const char *at = len == ABSENT ? NULL : unpack_bytes(unpacker, len);

	return (struct slice){ at, at ? len : 0 };
}

/* A copy that ends in NUL. */
static char *unpack_copy(struct unpacker *unpacker, struct slice text)
{
	char *copy = text.at ? malloc(text.len + 1) : NULL;

	if (!copy) {
		unpacker->odd = true;
		return NULL;
	}
	memcpy(copy, text.at, text.len);
	copy[text.len] = 0;
	return copy;
}

static void unpack_array(struct unpacker *unpacker, char *array, size_t cap)
{
	struct slice text = unpack_text(unpacker);

	if (!text.at || text.len >= cap || memchr(text.at, 0, text.len)) {
		unpacker->odd = true;
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
static int unpack_row(struct unpacker *unpacker, const char *(*name)(int), int rows)
{
	struct slice word = unpack_text(unpacker);

	for (int i = 0; i < rows && !unpacker->odd; i++)
		if (slice_equals(word, name(i)))
			return i;
	unpacker->odd = true;
	return 0;
}

/* A label of the charset tables; the text returned is the table's own and static. */
static const char *unpack_label(struct unpacker *unpacker)
{
	struct slice word = unpack_text(unpacker);

	if (!word.at)
		return NULL;
	if (!word.len)
		return "";
	const struct charset_label *label = charset_lookup(word.at, word.len);
	if (label && slice_equals(word, label->text))
		return label->text;
	unpacker->odd = true;
	return NULL;
}

static const char *row_policy(int i) { return policy_name((enum policy)i); }
static const char *row_charset(int i) { return charset_name((enum charset)i); }
static const char *row_error(int i) { return verdict_error_name((enum verdict_error)i); }
static const char *row_reason(int i) { return verdict_reason_name((enum verdict_reason)i); }
static const char *row_outcome(int i) { return verdict_outcome_name((enum verdict_outcome)i); }

static void unpack_verdict(struct unpacker *unpacker, struct verdict *verdict)
{
	verdict->kind = (enum verdict_kind)unpack_row(unpacker, kind_name, VERDICT_NONE + 1);
	verdict->policy = (enum policy)unpack_row(unpacker, row_policy, POLICY_COUNT);
	unpack_array(unpacker, verdict->path, sizeof verdict->path);
	verdict->charset = (enum charset)unpack_row(unpacker, row_charset, CS_COUNT);
	verdict->literal = unpack_bool(unpacker);
	verdict->named = unpack_label(unpacker);
	unpack_array(unpacker, verdict->unknown, sizeof verdict->unknown);
	verdict->was = unpack_label(unpacker);
	verdict->feed = unpack_bool(unpacker);
	verdict->extended = unpack_bool(unpacker);
	verdict->error = (enum verdict_error)unpack_row(unpacker, row_error, VERR_UNDECODABLE + 1);
	verdict->reason = (enum verdict_reason)unpack_row(unpacker, row_reason, VREASON_DISABLED + 1);
	verdict->outcome = (enum verdict_outcome)unpack_row(unpacker, row_outcome, OUTCOME_NONXML + 1);
}

static void unpack_report(struct unpacker *unpacker, struct object_report *report)
{
	report->decided = unpack_bool(unpacker);
	if (report->decided)
		unpack_verdict(unpacker, &report->verdict);
	report->revised = unpack_bool(unpacker);
	report->normalised = unpack_bool(unpacker);
	report->decoded = unpack_bool(unpacker);
	report->repairs = unpack_u64(unpacker);
	report->malformed = unpack_u64(unpacker);
}

/* The limit lies far beyond the year 9999, and sums of such times do not overflow. */
static int64_t unpack_seconds(struct unpacker *unpacker)
{
	int64_t v = (int64_t)unpack_u64(unpacker), most = INT64_C(1) << 48;

	unpacker->odd |= v > most || v < -most;
	return v;
}

static void unpack_freshness(struct unpacker *unpacker, struct freshness *freshness)
{
	freshness->response_time = unpack_seconds(unpacker);
	freshness->lifetime_s = unpack_seconds(unpacker);
	freshness->initial_age_s = unpack_seconds(unpacker);
	freshness->swr_s = unpack_u32(unpacker);
	freshness->sie_s = unpack_u32(unpacker);
	freshness->keep_s = unpack_u32(unpacker);
	freshness->flags = unpack_u32(unpacker);
	freshness->same_since = unpack_seconds(unpacker);
}

static struct object_head *unpack_head(struct unpacker *unpacker)
{
	struct object_head *head = object_head_new();

	if (!head) {
		unpacker->odd = true;
		return NULL;
	}
	head->status = (int)unpack_u32(unpacker);
	head->content_length = (int64_t)unpack_u64(unpacker);
	head->no_body = unpack_bool(unpacker);
	head->gzip = unpack_bool(unpacker);
	struct slice text = unpack_text(unpacker);
	unpacker->odd |= head->status < 200 || head->status > 999 || head->content_length < -1 ||
	    !head_text_valid(text, head->status) || ((head->status == 204 || head->status == 304) && !head->no_body);
	head->bytes = unpack_copy(unpacker, text);
	head->len = text.len;
	head->etag_end = head_text_etag_end(text);
	return head;
}

static struct object *unpack_object(struct unpacker *unpacker, struct object_head *head,
    const struct object_report *report)
{
	uint64_t len = unpack_u64(unpacker);
	const char *body = len <= unpacker->left ? unpack_bytes(unpacker, (size_t)len) : NULL;
	struct object *o;

	if (!body || (head->content_length >= 0 && !head->no_body && (uint64_t)head->content_length != len) ||
	    !(o = object_new(0))) {
		unpacker->odd = true;
		return NULL;
	}
	object_retain(o, UINT64_MAX);
	object_expect(o, len);
	object_head(o, object_head_ref(head));
	*object_report(o) = *report;
	if (object_append(o, body, (size_t)len))
		unpacker->odd = true;
	else
		object_done(o);
	return o;
}

static void unpack_response(struct unpacker *unpacker, struct entry_parts *parts)
{
	struct object_report report = { 0 };

	parts->head = unpack_head(unpacker);
	struct slice upstream = unpack_text(unpacker);
	parts->upstream = unpack_copy(unpacker, upstream);
	parts->upstream_len = upstream.len;
	unpack_report(unpacker, &report);
	if (!unpacker->odd)
		parts->object = unpack_object(unpacker, parts->head, &report);
}

static void unpack_part(struct unpacker *unpacker, struct entry_parts *parts)
{
	struct content_range r = { .first = unpack_u64(unpacker) };

	r.total = unpack_u64(unpacker);
	unpack_response(unpacker, parts);
	if (unpacker->odd || !object_length(parts->object) || r.first >= r.total ||
	    object_length(parts->object) > r.total - r.first) {
		unpacker->odd = true;
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

	if (len < sizeof magic + CHECKSUM_BYTES || !packed_is_whole(bytes, len))
		return NULL;
	unpack_bytes(&u, sizeof magic);
	uint32_t format = unpack_u32(&u);
	uint32_t kind = unpack_u32(&u);
	struct slice key = unpack_text(&u);
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
