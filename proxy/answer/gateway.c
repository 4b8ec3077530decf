/* The URL under which a client reaches the gateway; see gateway.h. */
#include "proxy/answer/gateway.h"

#include <ctype.h>

bool gateway_add_reached(struct text *t, const struct request_context *ctx, const struct request *request)
{
	struct slice host = http_msg_get(request->msg, H_HOST);

	if (!host.len)
		return false;
	/* Finding the target has checked that it is one valid name and perhaps a port. */
	text_puts(t, ctx->secure ? "https://" : "http://");
	for (size_t i = 0; i < host.len; i++)
		text_add(t, &(char){ (char)tolower((unsigned char)host.at[i]) }, 1);
	return true;
}

void gateway_add_own(struct text *t, const struct request_context *ctx, const struct request *request,
    const struct target *target)
{
	if (*target->route->gateway_url)
		text_puts(t, target->route->gateway_url);
	else if (ctx->conf->gateway)
		gateway_add_reached(t, ctx, request);
}

void gateway_add_url(struct text *t, const struct request_context *ctx, const struct request *request,
    const struct target *target)
{
	if (gateway_leads(target))
		gateway_add_own(t, ctx, request, target);
}
