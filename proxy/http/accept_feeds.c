/* Accept for feeds; see accept_feeds.h. */
#include "proxy/http/accept_feeds.h"

enum { WEIGHT_FULL = 1000, WEIGHT_NONE = -1 };

/* A weight in thousandths; WEIGHT_NONE: it is none. */
static int accept_weight(struct slice v)
{
	int unit = WEIGHT_FULL;

	if (!v.len || (v.at[0] != '0' && v.at[0] != '1') || (v.len > 1 && v.at[1] != '.'))
		return WEIGHT_NONE;
	int weight = (v.at[0] - '0') * unit;
	for (size_t i = 2; i < v.len; i++) {
		if (v.at[i] < '0' || v.at[i] > '9')
			return WEIGHT_NONE;
		unit /= 10;
		weight += (v.at[i] - '0') * unit;
	}
	return weight <= WEIGHT_FULL ? weight : WEIGHT_NONE;
}

/* The weight that stands behind a type; what cannot be read counts as full. */
static int accept_weight_of(struct slice parameters)
{
	while (parameters.at) {
		struct slice value, name = slice_until(slice_until(parameters, ';', &parameters), '=', &value);
		int weight = slice_is(name, "q") ? accept_weight(slice_trim(value)) : WEIGHT_NONE;

		if (weight != WEIGHT_NONE)
			return weight;
	}
	return WEIGHT_FULL;
}

static bool accept_is_feed(struct slice type)
{
	static const char *const types[] = { "application/rss+xml", "application/atom+xml", "application/rdf+xml",
		"application/xml", "text/xml" };

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (slice_is(type, types[i]))
			return true;
	return false;
}

int accept_named(const struct http_msg *m, const char *type)
{
	struct http_list it = { 0, 0 };
	struct slice member, parameters;
	int weight = 0;

	while (!weight && http_msg_next_member(m, H_ACCEPT, &it, &member))
		if (slice_is(slice_until(member, ';', &parameters), type))
			weight = accept_weight_of(parameters);
	return weight;
}

bool accept_feeds_first(const struct http_msg *m)
{
	struct http_list it = { 0, 0 };
	struct slice member, parameters;
	int best = 0;
	bool feeds = false;

	while (http_msg_next_member(m, H_ACCEPT, &it, &member)) {
		struct slice type = slice_until(member, ';', &parameters);
		int weight = accept_weight_of(parameters);

		if (weight > best) {
			best = weight;
			feeds = accept_is_feed(type);
		}
	}
	return feeds;
}
