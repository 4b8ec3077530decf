/* Reading requests; see request_read.h. */
#include "proxy/answer/request_read.h"

#include "proxy/coding/content_coding.h"
#include "proxy/http/cdn_loop.h"
#include "proxy/http/conditional.h"
#include "proxy/http/max_forwards.h"

/* Whether it has such a field that the origin may get. */
static bool request_may_send(const struct http_msg *m, enum header_id id)
{
	bool sends = false;

	for (uint32_t i = 0; http_msg_has(m, id) && i < m->n_fields; i++)
		sends |= m->fields[i].id == id && !m->fields[i].hop;
	return sends;
}

void request_read(struct request *request, const struct http_msg *m)
{
	request->msg = m;
	request->method = m->method;
	request->authorization = request_may_send(m, H_AUTHORIZATION);
	request->cookies = request_may_send(m, H_COOKIE);
	request->conditional = conditional_asked(m);
	request->ranged = http_msg_has(m, H_RANGE);
	cache_control_request(&request->says, m);
}

struct slice request_method(const struct request *request)
{
	return (struct slice){ request->msg->base + request->msg->method_at, request->msg->method_len };
}

struct slice request_policy_name(const struct request *request)
{
	return http_msg_get(request->msg, H_X_ENCODING_POLICY);
}

struct slice request_purge_words(const struct request *request)
{
	return http_msg_get(request->msg, H_X_PURGE);
}

unsigned request_passes(const struct request *request, const char *via)
{
	struct http_list it = { 0, 0 };
	struct slice member, by;
	unsigned n = cdn_loop_count(request->msg, via);

	while (http_msg_next_member(request->msg, H_VIA, &it, &member)) {
		(void)slice_until(member, ' ', &by);
		n += slice_is(slice_trim(by), via);
	}
	return n;
}

bool request_ends_here(const struct request *request)
{
	uint64_t left;

	return max_forwards(request->msg, &left) && !left;
}

bool request_accepts_gzip(const struct request *request)
{
	return content_coding_takes_gzip(request->msg);
}

bool request_wants_trailer(const struct request *request)
{
	struct http_list it = { 0, 0 };
	struct slice member, rest;

	while (http_msg_next_member(request->msg, H_TE, &it, &member))
		if (slice_is(slice_until(member, ';', &rest), "trailers"))
			return true;
	return false;
}

bool request_awaits_continue(const struct request *request)
{
	return request->msg->minor >= 1 && slice_is(http_msg_get(request->msg, H_EXPECT), "100-continue");
}
