/* The context of a request; see context.h. */
#include "proxy/answer/context.h"

#include <stddef.h>

#include "proxy/settings/settings.h"

void request_context_set(struct request_context *ctx, struct settings *s)
{
	struct settings *former = ctx->settings;

	ctx->settings = s ? settings_ref(s) : NULL;
	ctx->conf = s ? s->conf : NULL;
	ctx->tls = s ? s->tls : NULL;
	ctx->guard = s ? &s->guard : NULL;
	ctx->tunnel_guard = s ? &s->tunnel_guard : NULL;
	settings_unref(&former);
}
