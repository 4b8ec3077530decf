/* Cache directives; see cache_control.h. Section numbers without a name are those of RFC 9111. */
#include "proxy/http/cache_control.h"

#include <string.h>

#include "proxy/http/sf_dict.h"

enum cc_argument { CC_FLAG, CC_SECONDS, CC_MAYBE, CC_FIELDS };
enum cc_where { CC_REQUEST = 1, CC_RESPONSE = 2, CC_BOTH = 3 };

static const struct { const char *name; enum cc_argument argument; enum cc_where where; } directives[CC_COUNT] = {
#define DIRECTIVE(id, name, argument, where) [CC_##id] = { name, CC_##argument, CC_##where },
#include "proxy/http/cache_control.def"
#undef DIRECTIVE
};

static enum cache_directive directive_find(struct slice name, enum cc_where where)
{
	int d = 0;

	while (d < CC_COUNT && !(directives[d].where & where && slice_is(name, directives[d].name)))
		d++;
	return (enum cache_directive)d;
}

/* delta-seconds (section 1.2.2): digits only; a number that is too large counts as CC_SECONDS_MAX. */
static bool seconds_read(struct slice s, uint32_t *seconds)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(s.at[i] - '0');
		if (n > CC_SECONDS_MAX)
			n = CC_SECONDS_MAX;
	}
	*seconds = (uint32_t)n;
	return s.len > 0;
}

/* The first directive of a name counts (section 4.2.1); one whose value cannot be read is marked invalid. value.at
 * NULL: there is no "=". */
static void directive_take(struct cache_control *cc, enum cache_directive d, struct slice value)
{
	uint32_t bit = 1u << d;

	if ((cc->set | cc->invalid | cc->listed) & bit)
		return;
	switch (directives[d].argument) {
	case CC_FLAG:
		cc->set |= bit;
		break;
	case CC_FIELDS:
		*(value.len ? &cc->listed : &cc->set) |= bit;
		break;
	case CC_MAYBE:
		if (!value.at) {
			cc->seconds[d] = CC_SECONDS_MAX;
			cc->set |= bit;
			break;
		}
		/* fall through */
	case CC_SECONDS:
		if (seconds_read(value, &cc->seconds[d]))
			cc->set |= bit;
		else
			cc->invalid |= bit;
		break;
	}
}

/* Section 5.2: token [ "=" ( token / quoted-string ) ]; no blanks round "=". */
static void member_take(struct cache_control *cc, struct slice member, enum cc_where where)
{
	const char *equals = memchr(member.at, '=', member.len);
	struct slice name = { member.at, equals ? (size_t)(equals - member.at) : member.len }, value = { NULL, 0 };

	if (equals)
		value = slice_unquoted((struct slice){ equals + 1, member.len - name.len - 1 });
	enum cache_directive d = directive_find(name, where);
	if (d == CC_COUNT)
		return;
	if (directives[d].argument != CC_FIELDS || value.len) {
		directive_take(cc, d, value);
		return;
	}
	/* A directive without a list covers more than one with a list of fields, whichever comes first. */
	cc->listed &= ~(1u << d);
	cc->set |= 1u << d;
}

static void field_take(struct cache_control *cc, const struct http_msg *m, enum cc_where where)
{
	struct http_list it = { 0, 0 };
	struct slice member;

	cc->given |= http_msg_has(m, H_CACHE_CONTROL);
	while (http_msg_next_member(m, H_CACHE_CONTROL, &it, &member))
		member_take(cc, member, where);
}

void cache_control_request(struct cache_control *cc, const struct http_msg *request)
{
	struct http_list it = { 0, 0 };
	struct slice member;

	memset(cc, 0, sizeof *cc);
	field_take(cc, request, CC_REQUEST);
	if (cc->given)
		return;
	while (http_msg_next_member(request, H_PRAGMA, &it, &member))   /* section 5.4 */
		if (slice_is(member, "no-cache"))
			cc->set |= 1u << CC_NO_CACHE;
}

enum { RELOADS = 1u << CC_NO_CACHE | 1u << CC_MAX_AGE | 1u << CC_MIN_FRESH };

bool cache_control_reloads(const struct cache_control *cc)
{
	return cc->set & RELOADS;
}

void cache_control_forget_reload(struct cache_control *cc)
{
	cc->set &= ~(uint32_t)RELOADS;
}

/* RFC 9213 section 2.1: flags are booleans, seconds are integers, all else strings or tokens; the last member of a name
 * counts. */
static void targeted_take(void *arg, const struct sf_member *member)
{
	struct cache_control *cc = arg;
	enum cache_directive d = directive_find(member->key, CC_RESPONSE);
	uint32_t bit = d == CC_COUNT ? 0 : 1u << d;

	cc->given = true;
	if (!bit)
		return;
	cc->set &= ~bit;
	cc->invalid &= ~bit;
	cc->listed &= ~bit;
	if (directives[d].argument == CC_SECONDS) {
		if (member->type == SF_INTEGER && member->number >= 0) {
			cc->seconds[d] = member->number > CC_SECONDS_MAX ? CC_SECONDS_MAX : (uint32_t)member->number;
			cc->set |= bit;
		} else {
			cc->invalid |= bit;
		}
	} else if (directives[d].argument == CC_FIELDS && member->type == SF_STRING && member->text.len) {
		cc->listed |= bit;
	} else if (member->type != SF_BOOLEAN || member->number) {
		cc->set |= bit;
	}
}

/* Reads all lines of one name, one after the other. A field that is empty, or has a fault in any line, is ignored as if
 * it were absent (RFC 9213 section 2.1). */
static bool targeted_read(struct cache_control *cc, const struct http_msg *response)
{
	memset(cc, 0, sizeof *cc);
	for (uint32_t i = 0; i < response->n_fields; i++) {
		const struct http_field *targeted = &response->fields[i];

		if (slice_is(http_field_name(response, targeted), CDN_CACHE_CONTROL) &&
		    !sf_dict_read(http_field_value(response, targeted), targeted_take, cc))
			return false;
	}
	return cc->given;
}

void cache_control_response(struct cache_control *cc, const struct http_msg *response)
{
	if (targeted_read(cc, response)) {
		cc->targeted = true;
		return;
	}
	memset(cc, 0, sizeof *cc);
	field_take(cc, response, CC_RESPONSE);
}
