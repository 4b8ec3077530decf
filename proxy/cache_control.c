/* Cache directives; see cache_control.h. */
#include "cache_control.h"

#include <string.h>
#include <strings.h>

enum argument { ARG_FLAG, ARG_SECONDS, ARG_MAYBE, ARG_FIELDS };
enum where { IN_REQUEST = 1, IN_RESPONSE = 2, IN_BOTH = 3 };

static const struct { const char *name; enum argument argument; enum where where; } directives[CC_COUNT] = {
#define DIRECTIVE(id, name, argument, where) [CC_##id] = { name, ARG_##argument, IN_##where },
#include "cache_control.def"
#undef DIRECTIVE
};

/* delta-seconds (RFC 9111 section 1.2.2): digits only, what is too large is CC_SECONDS_MAX. */
static bool read_seconds(struct slice s, uint32_t *seconds)
{
	uint64_t n = 0;

	if (!s.len)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
		if (n < CC_SECONDS_MAX)
			n = n * 10 + (uint64_t)(s.at[i] - '0');
	}
	*seconds = n > CC_SECONDS_MAX ? CC_SECONDS_MAX : (uint32_t)n;
	return true;
}

static struct slice unquote(struct slice s)
{
	if (s.len >= 2 && s.at[0] == '"' && s.at[s.len - 1] == '"')
		return (struct slice){ s.at + 1, s.len - 2 };
	return s;
}

/* Of directives given twice with different values the one that keeps a response for less time counts (section 4.2.1). */
static void take_seconds(struct cache_control *cc, enum cache_directive d, struct slice value)
{
	uint32_t seconds;

	if (!read_seconds(value, &seconds)) {
		cc->invalid |= 1u << d;
		return;
	}
	if (!cc_has(cc, d) || seconds < cc->seconds[d])
		cc->seconds[d] = seconds;
	cc->set |= 1u << d;
}

static void take_directive(struct cache_control *cc, struct slice member, enum where where)
{
	struct slice value, name = slice_until(member, '=', &value);
	bool valued = value.at;

	value = unquote(slice_trim(value));
	for (int d = 0; d < CC_COUNT; d++) {
		if (!(directives[d].where & where) || !slice_is(name, directives[d].name))
			continue;
		switch (directives[d].argument) {
		case ARG_FLAG:
			cc->set |= 1u << d;
			break;
		case ARG_SECONDS:
			take_seconds(cc, (enum cache_directive)d, value);
			break;
		case ARG_MAYBE:
			if (valued)
				take_seconds(cc, (enum cache_directive)d, value);
			else if (!cc_has(cc, (enum cache_directive)d)) {
				cc->seconds[d] = CC_SECONDS_MAX;
				cc->set |= 1u << d;
			}
			break;
		case ARG_FIELDS:
			if (valued && where == IN_RESPONSE && value.len)
				cc->fields[d] = value;
			else
				cc->set |= 1u << d;
			break;
		}
	}
}

static void read_field(struct cache_control *cc, const struct http_msg *m, enum header_id id, enum where where)
{
	struct http_list it = { 0, 0 };
	struct slice member;

	cc->given = http_msg_count(m, id);
	while (http_msg_next_member(m, id, &it, &member))
		take_directive(cc, member, where);
}

void cache_control_request(struct cache_control *cc, const struct http_msg *m)
{
	struct http_list it = { 0, 0 };
	struct slice member;

	*cc = (struct cache_control){ .given = false };
	read_field(cc, m, H_CACHE_CONTROL, IN_REQUEST);
	/* RFC 9111 section 5.4 */
	while (!cc->given && http_msg_next_member(m, H_PRAGMA, &it, &member))
		if (slice_is(member, "no-cache"))
			cc->set |= 1u << CC_NO_CACHE;
}

/* A Dictionary (RFC 9651 section 3.2) as far as cache directives need one: keys in lower case, values Integers or none. Where it
 * cannot be parsed the field does not count (RFC 9213 section 2.1). */
static bool read_targeted(struct cache_control *cc, const struct http_msg *m, const char *name)
{
	bool any = false;

	for (uint32_t i = 0; i < m->n_fields; i++) {
		struct slice n = http_field_name(m, &m->fields[i]), rest = http_field_value(m, &m->fields[i]);

		if (n.len != strlen(name) || strncasecmp(n.at, name, n.len))
			continue;
		while (rest.at && slice_trim(rest).len) {
			struct slice params, member = slice_until(slice_until(rest, ',', &rest), ';', &params), value;
			struct slice key = slice_until(member, '=', &value);
			uint32_t seconds;

			if (!key.len || key.len != (value.at ? (size_t)(value.at - 1 - key.at) : member.len) || (value.at && !value.len))
				return false;
			for (size_t j = 0; j < key.len; j++)
				if (!((key.at[j] >= 'a' && key.at[j] <= 'z') || key.at[j] == '*' ||
				    (j && ((key.at[j] >= '0' && key.at[j] <= '9') || memchr("_-.", key.at[j], 3)))))
					return false;
			/* Integers, where a directive needs one; a String is of the wrong type. */
			if (value.at && (value.at[0] == '"' || (value.at[0] >= '0' && value.at[0] <= '9')) && !read_seconds(value, &seconds))
				return false;
			any = true;
			take_directive(cc, member, IN_RESPONSE);
		}
	}
	return any;
}

void cache_control_response(struct cache_control *cc, const struct http_msg *m, const char *const *targeted)
{
	for (; targeted && *targeted; targeted++) {
		*cc = (struct cache_control){ .given = true, .targeted = true };
		if (read_targeted(cc, m, *targeted))
			return;
	}
	*cc = (struct cache_control){ .given = false };
	read_field(cc, m, H_CACHE_CONTROL, IN_RESPONSE);
}

bool cache_control_names_field(const struct cache_control *cc, enum cache_directive d, struct slice field)
{
	struct slice rest = cc->fields[d];

	while (rest.at) {
		struct slice one = slice_until(rest, ',', &rest);

		if (one.len == field.len && one.len && !strncasecmp(one.at, field.at, one.len))
			return true;
	}
	return false;
}
