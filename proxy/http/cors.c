/* The CORS protocol; see cors.h. */
#include "proxy/http/cors.h"

#include <string.h>

/* What readers in pages look at beyond what any page may (Fetch Standard, "CORS-safelisted response-header name"). */
#define CORS_EXPOSED \
	"Access-Control-Expose-Headers: Age, Cache-Status, Content-Location, Date, ETag, Link, Proxy-Status, " \
	"Retry-After, Vary, X-Encoding-Rule\r\n"

/* What they may send beyond what any page may. */
#define CORS_PREFLIGHT \
	"Access-Control-Allow-Methods: GET, HEAD\r\n" \
	"Access-Control-Allow-Headers: Accept, Accept-Language, Authorization, Cache-Control, If-Modified-Since, " \
	"If-None-Match, If-Range, Pragma, Range, User-Agent, X-Encoding-Policy, X-Requested-With\r\n" \
	"Access-Control-Max-Age: 7200\r\n"

static bool cors_any(cors_origins allow)
{
	return !strcmp(allow[0], "*");
}

bool cors_allows(cors_origins allow, const struct http_msg *m)
{
	struct slice origin = http_msg_get(m, H_ORIGIN);

	if (cors_any(allow))
		return true;
	for (size_t i = 0; origin.len && allow[i]; i++)
		if (strlen(allow[i]) == origin.len && !memcmp(allow[i], origin.at, origin.len))
			return true;
	return false;
}

bool cors_is_preflight(const struct http_msg *m)
{
	return m->method_len == 7 && !memcmp(m->base + m->method_at, "OPTIONS", 7) && http_msg_has(m, H_ORIGIN) &&
	    http_msg_has(m, H_ACCESS_CONTROL_REQUEST_METHOD);
}

void cors_add(struct text *t, cors_origins allow, const struct http_msg *m)
{
	if (!cors_any(allow))
		text_puts(t, "Vary: Origin\r\n");
	if (!cors_allows(allow, m))
		return;
	text_puts(t, "Access-Control-Allow-Origin: ");
	if (cors_any(allow))
		text_puts(t, "*");
	else
		text_add(t, http_msg_get(m, H_ORIGIN).at, http_msg_get(m, H_ORIGIN).len);
	text_puts(t, "\r\n");
	text_puts(t, cors_is_preflight(m) ? CORS_PREFLIGHT : CORS_EXPOSED);
}

bool cors_is_field(struct slice name)
{
	switch (http_header_id(name.at, name.len)) {
	case H_ACCESS_CONTROLS:
	case H_ACCESS_CONTROL_REQUEST_METHOD:
		return true;
	default:
		return false;
	}
}
