/* Preconditions and ranges; see conditional.h. Sections are RFC 9110's. */
#include "proxy/http/conditional.h"

#include <string.h>

#include "proxy/base/http_date.h"

/* The quoted part of the tag, without W/; at NULL: it is not an entity tag. */
static struct slice etag_opaque(struct slice tag, bool *weak)
{
	*weak = tag.len > 2 && tag.at[0] == 'W' && tag.at[1] == '/';
	if (*weak)
		tag = (struct slice){ tag.at + 2, tag.len - 2 };
	if (tag.len < 2 || tag.at[0] != '"' || tag.at[tag.len - 1] != '"')
		return (struct slice){ NULL, 0 };
	return tag;
}

bool etag_equal(struct slice a, struct slice b, bool strong)
{
	bool weak_a, weak_b;

	a = etag_opaque(a, &weak_a);
	b = etag_opaque(b, &weak_b);
	return a.at && b.at && a.len == b.len && !memcmp(a.at, b.at, a.len) && !(strong && (weak_a || weak_b));
}

bool conditional_asked(const struct http_msg *m)
{
	return http_msg_has(m, H_IF_MATCH) || http_msg_has(m, H_IF_NONE_MATCH) ||
	    http_msg_has(m, H_IF_MODIFIED_SINCE) || http_msg_has(m, H_IF_UNMODIFIED_SINCE);
}

bool conditional_names_variant(const struct http_msg *request, const char *variant)
{
	size_t n = strlen(variant);
	struct http_list it = { 0, 0 };
	struct slice tag;

	while (http_msg_next_member(request, H_IF_NONE_MATCH, &it, &tag))
		if (tag.len > n && tag.at[tag.len - 1] == '"' && !memcmp(tag.at + tag.len - 1 - n, variant, n))
			return true;
	return false;
}

/* Whether member is etag with the variant's suffix: "abc;gz" for "abc" where the variant is ";gz". */
static bool etag_is_variant(struct slice member, struct slice etag, const char *variant)
{
	size_t n = variant ? strlen(variant) : 0;

	return n && etag.len > 2 && member.len == etag.len + n && !memcmp(member.at, etag.at, etag.len - 1) &&
	    !memcmp(member.at + etag.len - 1, variant, n) && member.at[member.len - 1] == '"';
}

/* The next member of a list of entity tags: unlike a quoted string a tag has no escapes (section 8.8.3). */
static bool next_tag(const struct http_msg *m, enum header_id id, struct http_list *it, struct slice *tag)
{
	for (; it->field < m->n_fields; it->field++, it->at = 0) {
		struct slice v = http_field_value(m, &m->fields[it->field]);

		while (m->fields[it->field].id == id && it->at < v.len) {
			size_t from = it->at;
			bool quoted = false;

			for (; it->at < v.len && (quoted || v.at[it->at] != ','); it->at++)
				quoted ^= v.at[it->at] == '"';
			*tag = slice_trim((struct slice){ v.at + from, it->at++ - from });
			if (tag->len)
				return true;
		}
	}
	return false;
}

static bool matches(const struct http_msg *m, enum header_id id, const struct conditional_stored *stored, bool strong)
{
	bool variants = stored->etag.len && !(strong && stored->etag.at[0] == 'W');
	struct http_list it = { 0, 0 };
	struct slice member;

	while (next_tag(m, id, &it, &member))
		if (slice_is(member, "*") || etag_equal(member, stored->etag, strong) ||
		    (variants && etag_is_variant(member, stored->etag, stored->variant)))
			return true;
	return false;
}

/* IGNORED: the field is not a date, or the stored response has none to compare. */
enum since_date { SINCE_IGNORED, SINCE_SAME, SINCE_MODIFIED };

/* Whether the stored response was modified after the field's date (sections 13.1.3 and 13.1.4). With If-Modified-Since
 * Date stands in for a missing Last-Modified (RFC 9111 section 4.3.2). */
static enum since_date modified_after(const struct http_msg *m, enum header_id id,
    const struct conditional_stored *stored, int64_t now)
{
	int64_t since, modified;

	if (http_msg_count(m, id) != 1 || !http_date_read(http_msg_get(m, id), now, &since))
		return SINCE_IGNORED;
	if (!http_date_read(stored->last_modified, now, &modified)) {
		if (id == H_IF_UNMODIFIED_SINCE)
			return SINCE_IGNORED;
		modified = stored->date;
	}
	return modified > since ? SINCE_MODIFIED : SINCE_SAME;
}

/* section 13.2.2 */
enum conditional_answer conditional_evaluate(const struct http_msg *m, const struct conditional_stored *stored,
    int64_t now)
{
	if (http_msg_has(m, H_IF_MATCH)) {
		if (!matches(m, H_IF_MATCH, stored, true))
			return CONDITIONAL_FAILED;
	} else if (modified_after(m, H_IF_UNMODIFIED_SINCE, stored, now) == SINCE_MODIFIED)
		return CONDITIONAL_FAILED;
	if (http_msg_has(m, H_IF_NONE_MATCH))
		return matches(m, H_IF_NONE_MATCH, stored, false) ? CONDITIONAL_NOT_MODIFIED : CONDITIONAL_PROCEED;
	return modified_after(m, H_IF_MODIFIED_SINCE, stored, now) == SINCE_SAME ? CONDITIONAL_NOT_MODIFIED
	    : CONDITIONAL_PROCEED;
}

/* Section 13.1.5: If-Range must name the stored response by a strong validator. A date is strong where it is older than
 * the response's Date (section 8.8.2.2). */
static bool if_range_matches(const struct http_msg *m, const struct conditional_stored *stored, int64_t now)
{
	struct slice value = http_msg_get(m, H_IF_RANGE);
	int64_t wanted, modified;

	if (!value.at)
		return true;
	if (memchr(value.at, '"', value.len))
		return etag_equal(value, stored->etag, true);
	return http_date_read(value, now, &wanted) && http_date_read(stored->last_modified, now, &modified) &&
	    wanted == modified && modified < stored->date;
}

/* Digits only; a number too large to hold becomes one larger than any body. */
static bool conditional_read_number(struct slice s, uint64_t *n)
{
	*n = 0;
	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
		*n = *n > UINT64_MAX / 16 ? UINT64_MAX / 16 : *n * 10 + (uint64_t)(s.at[i] - '0');
	}
	return s.len > 0;
}

/* One range as the request names it. */
struct range_spec {
	bool suffix;                   /* the last `last` bytes of the body */
	bool open;                     /* from first to the body's end */
	uint64_t first, last;
};

/* section 14.1.1; false: none, several, or not understood */
static bool range_read(const struct http_msg *m, struct range_spec *spec)
{
	struct slice value = http_msg_get(m, H_RANGE), set, last, unit = slice_until(value, '=', &set);

	if (m->method != METHOD_GET || http_msg_count(m, H_RANGE) != 1 || !slice_is(unit, "bytes") ||
	    memchr(set.at ? set.at : "", ',', set.len))
		return false;
	struct slice first = slice_until(slice_trim(set), '-', &last);
	last = slice_trim(last);
	if (!last.at)
		return false;
	*spec = (struct range_spec){ .suffix = !first.len, .open = !last.len };
	if (spec->suffix)
		return conditional_read_number(last, &spec->last);
	return conditional_read_number(first, &spec->first) &&
	    (spec->open || (conditional_read_number(last, &spec->last) && spec->last >= spec->first));
}

bool range_asked(const struct http_msg *m)
{
	struct range_spec r;

	return range_read(m, &r);
}

/* section 14.1.2 */
enum range_answer range_evaluate(const struct http_msg *m, const struct conditional_stored *stored, uint64_t length,
    int64_t now,
    struct byte_range *range)
{
	struct range_spec r;

	if (!range_read(m, &r) || !if_range_matches(m, stored, now))
		return RANGE_NONE;
	if (r.suffix) {
		if (!r.last)
			return RANGE_UNSATISFIABLE;
		if (!length)
			return RANGE_NONE;       /* satisfiable, but a 206 cannot name a range of no bytes */
		*range = (struct byte_range){ r.last < length ? length - r.last : 0, length - 1 };
		return RANGE_ONE;
	}
	if (r.first >= length)
		return RANGE_UNSATISFIABLE;
	*range = (struct byte_range){ r.first, r.open || r.last >= length ? length - 1 : r.last };
	return RANGE_ONE;
}
