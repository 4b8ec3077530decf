/* Reading requests; see request_read.h. */
#include "proxy/answer/request_read.h"

#include "proxy/coding/content_coding.h"
#include "proxy/http/cdn_loop.h"
#include "proxy/http/conditional.h"
#include "proxy/http/max_forwards.h"

void request_read(struct request *r, const struct http_msg *m)
{
	r->msg = m;
	r->method = m->method;
	r->authorization = http_msg_has(m, H_AUTHORIZATION);
	r->cookies = http_msg_has(m, H_COOKIE);
	r->conditional = conditional_asked(m);
	r->ranged = http_msg_has(m, H_RANGE);
	cache_control_request(&r->says, m);
}

struct slice request_method(const struct request *r)
{
	return (struct slice){ r->msg->base + r->msg->method_at, r->msg->method_len };
}

struct slice request_policy_name(const struct request *r)
{
	return http_msg_get(r->msg, H_X_ENCODING_POLICY);
}

struct slice request_purge_words(const struct request *r)
{
	return http_msg_get(r->msg, H_X_PURGE);
}

unsigned request_passes(const struct request *r, const char *via)
{
	struct http_list it = { 0, 0 };
	struct slice member, by;
	unsigned n = cdn_loop_count(r->msg, via);

	while (http_msg_next_member(r->msg, H_VIA, &it, &member)) {
		(void)slice_until(member, ' ', &by);
		n += slice_is(slice_trim(by), via);
	}
	return n;
}

bool request_ends_here(const struct request *r)
{
	uint64_t left;

	return max_forwards(r->msg, &left) && !left;
}

bool request_accepts_gzip(const struct request *r)
{
	return content_coding_takes_gzip(r->msg);
}

bool request_wants_trailer(const struct request *r)
{
	struct http_list it = { 0, 0 };
	struct slice member, rest;

	while (http_msg_next_member(r->msg, H_TE, &it, &member))
		if (slice_is(slice_until(member, ';', &rest), "trailers"))
			return true;
	return false;
}

bool request_awaits_continue(const struct request *r)
{
	return r->msg->minor >= 1 && slice_is(http_msg_get(r->msg, H_EXPECT), "100-continue");
}
