/* traceparent; see traceparent.h. */
#include "proxy/http/traceparent.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "proxy/base/text.h"
#include "proxy/http/http_msg.h"

enum { TRACE_ID_AT = 3, TRACE_ID_LEN = 32, TRACE_PARENT_AT = 36, TRACE_PARENT_LEN = 16, TRACE_FLAGS_AT = 53 };
enum { TRACE_SAMPLED = 1 };            /* section 3.2.2.5.1; utfeed sends no other flag */

/* Section 3.2.2: HEXDIGLC, small letters only. */
static bool is_hex(const char *at, size_t len)
{
	for (; len; at++, len--)
		if (!((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f')))
			return false;
	return true;
}

/* Digits that are not all zeros. */
static bool is_id(const char *at, size_t len)
{
	static const char zeros[] = "00000000000000000000000000000000";

	return is_hex(at, len) && memcmp(at, zeros, len);
}

/* Version ff is forbidden (section 3.2.2.1); a later version may be longer, behind another dash. */
static bool is_version(struct slice value)
{
	if (!is_hex(value.at, 2) || !memcmp(value.at, "ff", 2))
		return false;
	return value.len == TRACEPARENT_LEN || (memcmp(value.at, "00", 2) && value.at[TRACEPARENT_LEN] == '-');
}

bool traceparent_is_valid(struct slice value)
{
	const char *at = value.at;

	return value.len >= TRACEPARENT_LEN && is_version(value) && at[2] == '-' &&
	    is_id(at + TRACE_ID_AT, TRACE_ID_LEN) && at[TRACE_PARENT_AT - 1] == '-' &&
	    is_id(at + TRACE_PARENT_AT, TRACE_PARENT_LEN) && at[TRACE_FLAGS_AT - 1] == '-' &&
	    is_hex(at + TRACE_FLAGS_AT, 2);
}

/* Writes a new id of bytes * 2 digits. */
static void add_id(struct text *t, size_t bytes)
{
	uint8_t id[TRACE_ID_LEN / 2];

	if (getrandom(id, bytes, 0) != (ssize_t)bytes)
		abort();               /* so few bytes come at once or not at all: random(4) */
	id[0] |= (uint8_t)!id[0];      /* an id of zeros is none */
	for (size_t i = 0; i < bytes; i++)
		text_hex(t, id[i], 2);
}

static void trace_make(struct trace *trace, struct slice from)
{
	struct text t = text_on(trace->own, TRACEPARENT_LEN);
	char last = from.at ? from.at[TRACE_FLAGS_AT + 1] : '0';
	bool sampled = (last <= '9' ? last - '0' : last - 'a' + 10) & TRACE_SAMPLED;

	text_puts(&t, "00-");
	if (from.at)
		text_add(&t, from.at + TRACE_ID_AT, TRACE_ID_LEN);
	else
		add_id(&t, TRACE_ID_LEN / 2);
	text_puts(&t, "-");
	add_id(&t, TRACE_PARENT_LEN / 2);
	text_puts(&t, sampled ? "-01" : "-00");
	trace->own[TRACEPARENT_LEN] = '\0';
}

const char *trace_own(struct trace *trace, const struct http_msg *request)
{
	struct slice from = { NULL, 0 };

	if (*trace->own)
		return trace->own;
	if (trace->accepted && request && http_msg_count(request, H_TRACEPARENT) == 1)
		from = http_msg_get(request, H_TRACEPARENT);
	trace->continued = from.at && traceparent_is_valid(from);
	trace_make(trace, trace->continued ? from : (struct slice){ NULL, 0 });
	return trace->own;
}

void trace_add_fields(struct text *t, struct trace *trace, const struct http_msg *request)
{
	const char *own = trace_own(trace, request);

	text_field(t, (struct slice){ "traceparent", 11 }, (struct slice){ own, TRACEPARENT_LEN });
	for (uint32_t i = 0; trace->continued && i < request->n_fields; i++)
		if (request->fields[i].id == H_TRACESTATE)
			text_field(t, (struct slice){ "tracestate", 10 },
			    http_field_value(request, &request->fields[i]));
}
