/* How long a response asks to wait; see pause_fields.h. */
#include "proxy/http/pause_fields.h"

#include "proxy/base/http_date.h"
#include "proxy/base/loose_date.h"

/* Numbers from here on are a time of day: as seconds to wait they would be 30 years. */
static const uint64_t pause_epoch_s = 1000000000, pause_epoch_ms = 1000000000000;

static bool pause_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A number without sign; a fraction is rounded up. False: it is none. More than a number holds is the largest. */
static bool pause_number(struct slice s, uint64_t *n)
{
	size_t i = 0;
	bool more = false;

	*n = 0;
	for (; i < s.len && pause_is_digit(s.at[i]); i++)
		*n = *n > UINT64_MAX / 16 ? *n : *n * 10 + (uint64_t)(s.at[i] - '0');
	if (!i)
		return false;
	if (i < s.len && s.at[i] == '.')
		for (i++; i < s.len && pause_is_digit(s.at[i]); i++)
			more |= s.at[i] != '0';
	*n += more;
	return i == s.len;
}

static uint32_t pause_limit(uint64_t seconds)
{
	return seconds > PAUSE_FIELDS_MAX_S ? PAUSE_FIELDS_MAX_S : (uint32_t)seconds;
}

static uint32_t pause_until(int64_t then_s, int64_t wall_s)
{
	return then_s > wall_s ? pause_limit((uint64_t)then_s - (uint64_t)wall_s) : 0;
}

static uint32_t pause_read_date(struct slice s, int64_t wall_s)
{
	int64_t then;

	return http_date_read(s, wall_s, &then) || loose_date_read(s, &then) ? pause_until(then, wall_s) : 0;
}

/* Seconds to wait, or a date. */
static uint32_t pause_read_retry_after(struct slice s, int64_t wall_s)
{
	uint64_t n;

	return pause_number(s, &n) ? pause_limit(n) : pause_read_date(s, wall_s);
}

/* Seconds to wait, or a time of day: in seconds, milliseconds or as a date. */
static uint32_t pause_read_reset(struct slice s, int64_t wall_s)
{
	uint64_t n;

	if (!pause_number(s, &n))
		return pause_read_date(s, wall_s);
	if (n < pause_epoch_s)
		return pause_limit(n);
	if (n >= pause_epoch_ms)
		n = (n + 999) / 1000;
	return pause_until((int64_t)n, wall_s);
}

/* The part of s up to one of these two bytes outside of quoted strings; *by: the byte, 0 at the end. */
static struct slice pause_piece(struct slice *slice, char *by)
{
	struct slice piece = { slice->at, 0 };
	bool quoted = false;

	for (; piece.len < slice->len; piece.len++) {
		char c = slice->at[piece.len];

		if (quoted && c == '\\' && piece.len + 1 < slice->len)
			piece.len++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == ',' || c == ';'))
			break;
	}
	*by = piece.len < slice->len ? slice->at[piece.len] : 0;
	slice->at += piece.len + (*by != 0);
	slice->len -= piece.len + (*by != 0);
	return slice_trim(piece);
}

/* What one policy has left, and when it has all of it again. */
struct pause_quota { uint64_t left, reset; bool has_reset; };

/* The least wait that lets a policy answer: all that are used up have to be over; where none is, the first one. */
struct pause_quotas { uint64_t used_up, first; bool any_used_up, any; };

static void pause_count(struct pause_quotas *all, struct pause_quota *quota)
{
	if (quota->has_reset && !quota->left) {
		all->used_up = quota->reset > all->used_up || !all->any_used_up ? quota->reset : all->used_up;
		all->any_used_up = true;
	}
	if (quota->has_reset && (!all->any || quota->reset < all->first)) {
		all->first = quota->reset;
		all->any = true;
	}
	*quota = (struct pause_quota){ 0 };
}

/* RateLimit: "policy";r=0;t=30, "another";r=5;t=3600; or, in revision 07, limit=10, remaining=0, reset=30. */
static uint32_t pause_read_rate_limit(struct slice s, int64_t wall_s)
{
	struct pause_quotas all = { 0 };
	struct pause_quota q = { 0 };
	char by;

	(void)wall_s;
	do {
		struct slice value, piece = pause_piece(&s, &by), name = slice_until(piece, '=', &value);
		uint64_t n;

		if (!value.at || *piece.at == '"') {
			pause_count(&all, &q);
			continue;
		}
		if (!pause_number(value, &n))
			continue;
		if (slice_is(name, "r") || slice_is(name, "remaining"))
			q.left = n;
		else if (slice_is(name, "t") || slice_is(name, "reset")) {
			q.reset = n;
			q.has_reset = true;
		}
	} while (by);
	pause_count(&all, &q);
	return pause_limit(all.any_used_up ? all.used_up : all.first);
}

/* In the order in which they count. */
static const struct {
	const char *name;
	uint32_t (*read)(struct slice, int64_t wall_s);
} pause_fields[] = {
	{ "retry-after", pause_read_retry_after },
	{ "ratelimit", pause_read_rate_limit },
	{ "ratelimit-reset", pause_read_reset },
	{ "x-ratelimit-reset-after", pause_read_reset },
	{ "x-ratelimit-reset", pause_read_reset },
	{ "x-rate-limit-reset", pause_read_reset },
};

static uint32_t pause_read_all(const struct http_msg *m, size_t row, int64_t wall_s)
{
	uint32_t wait = 0;

	for (uint32_t i = 0; i < m->n_fields && !wait; i++)
		if (slice_is(http_field_name(m, &m->fields[i]), pause_fields[row].name))
			wait = pause_fields[row].read(slice_trim(http_field_value(m, &m->fields[i])), wall_s);
	return wait;
}

uint32_t pause_fields_wait_s(const struct http_msg *m, int64_t wall_s)
{
	uint32_t wait = 0;

	for (size_t i = 0; i < sizeof pause_fields / sizeof *pause_fields && !wait; i++)
		wait = pause_read_all(m, i, wall_s);
	return wait;
}

/* What a policy allows: so many requests in so many seconds. */
struct pause_policy { uint64_t quota, window_s; };

static uint32_t pause_space(const struct pause_policy *policy)
{
	uint64_t ms;

	if (!policy->quota || !policy->window_s)
		return 0;
	ms = (policy->window_s > PAUSE_FIELDS_MAX_S ? PAUSE_FIELDS_MAX_S : policy->window_s) * 1000 / policy->quota;
	return ms > PAUSE_FIELDS_SPACE_MAX_MS ? PAUSE_FIELDS_SPACE_MAX_MS : (uint32_t)ms;
}

/* "policy";q=10;w=60, "another";q=100;w=3600; or, in the revisions before, 10;w=60. */
static uint32_t pause_read_policies(struct slice s)
{
	struct pause_policy p = { 0 };
	uint32_t most = 0, space;
	char by;

	do {
		struct slice value, piece = pause_piece(&s, &by), name = slice_until(piece, '=', &value);
		uint64_t n;

		if (pause_number(piece, &n) || (value.at && slice_is(name, "q") && pause_number(value, &n)))
			p.quota = n;
		else if (value.at && slice_is(name, "w") && pause_number(value, &n))
			p.window_s = n;
		if (by == ';')
			continue;
		space = pause_space(&p);
		most = space > most ? space : most;
		p = (struct pause_policy){ 0 };
	} while (by);
	return most;
}

uint32_t pause_fields_space_ms(const struct http_msg *m)
{
	uint32_t most = 0, space;

	for (uint32_t i = 0; i < m->n_fields; i++) {
		struct slice name = http_field_name(m, &m->fields[i]);

		if (!slice_is(name, "ratelimit-policy") && !slice_is(name, "ratelimit-limit"))
			continue;
		space = pause_read_policies(slice_trim(http_field_value(m, &m->fields[i])));
		most = space > most ? space : most;
	}
	return most;
}
