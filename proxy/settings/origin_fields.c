/* Fields of routes for their origins; see origin_fields.h. */
#include "proxy/settings/origin_fields.h"

#include <string.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/http/http_msg.h"

static bool origin_field_is_free(const struct conf_route *route, const char *name)
{
	size_t len = strlen(name);
	enum header_id id = http_header_id(name, len);

	switch (http_header_request(id)) {
	case REQUEST_SEND:
	case REQUEST_PRIVATE:
		return true;
	case REQUEST_SIGNATURE:
		return !*route->sign_key;
	case REQUEST_OTHER:
		return !http_header_is_disguised(id, (struct slice){ name, len });
	default:
		return false;
	}
}

static const char *origin_field_advice(const char *name)
{
	switch (http_header_id(name, strlen(name))) {
	case H_ACCEPT:
		return "write accept = VALUE instead";
	case H_USER_AGENT:
		return "write user-agent = VALUE instead";
	case H_HOST:
		return "Host comes from origin, so write the host there; hosts-file can give it another address";
	case H_VIA:
		return "write via = NAME above the first section";
	case H_CDN_LOOP:
		return "write cdn-loop = on instead";
	case H_TRACEPARENT:
	case H_TRACESTATE:
		return "write traceparent = on instead";
	case H_SIGNATURE:
	case H_SIGNATURE_AGENT:
	case H_SIGNATURE_INPUT:
		return "leave it out, or leave sign-key out";
	default:
		return "leave it out";
	}
}

static int origin_fields_check_route(const struct conf *conf, const struct conf_route *route)
{
	const struct conf_fields *fields = &route->origin_fields;
	int status = 0;

	for (size_t i = 0; i < fields->count; i++) {
		const char *name = fields->items[i].name;

		if (origin_field_is_free(route, name))
			continue;
		log_error("%s: %.64s is a field that utfeed writes itself, or that is not sent; %s",
		    conf_place(conf, route, "origin-fields").text, name, origin_field_advice(name));
		status = -1;
	}
	return status;
}

int origin_fields_check(const struct conf *conf)
{
	int status = 0;

	for (size_t i = 0; i < conf->routes.count; i++)
		if (origin_fields_check_route(conf, &conf->routes.items[i]))
			status = -1;
	return status;
}
