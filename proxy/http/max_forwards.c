/* Max-Forwards; see max_forwards.h. */
#include "proxy/http/max_forwards.h"

/* A larger number is read as this one, which is more than any chain of proxies has. */
enum { FORWARDS_MANY = 1000000 };

bool max_forwards(const struct http_msg *m, uint64_t *left)
{
	struct slice method = { m->base + m->method_at, m->method_len }, v = http_msg_get(m, H_MAX_FORWARDS);

	if (!v.len || http_msg_count(m, H_MAX_FORWARDS) > 1 ||
	    (m->method != METHOD_TRACE && !slice_is(method, "options")))
		return false;
	*left = 0;
	for (size_t i = 0; i < v.len; i++) {
		if (v.at[i] < '0' || v.at[i] > '9')
			return false;
		*left = *left < FORWARDS_MANY ? *left * 10 + (uint64_t)(v.at[i] - '0') : FORWARDS_MANY;
	}
	return true;
}
