/* The context of a request; see context.h. */
#include "proxy/answer/context.h"

#include <stddef.h>

#include "proxy/settings/settings.h"

void request_context_set(struct request_context *ctx, struct settings *settings)
{
	struct settings *former = ctx->settings;

	ctx->settings = settings ? settings_ref(settings) : NULL;
	ctx->conf = settings ? settings->conf : NULL;
	ctx->tls = settings ? settings->tls : NULL;
	ctx->guard = settings ? &settings->guard : NULL;
	ctx->tunnel_guard = settings ? &settings->tunnel_guard : NULL;
	settings_unref(&former);
}
