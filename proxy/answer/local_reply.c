/* Writing the answers that utfeed gives by itself; see local_reply.h. */
#include "proxy/answer/local_reply.h"

#include <stdlib.h>

#include "conf/conf.h"
#include "proxy/base/stats.h"
#include "proxy/base/text.h"
#include "proxy/net/loop.h"
#include "proxy/object/response_head.h"

struct object *local_reply(const struct request_context *ctx, int status, const char *fields, const char *sentence,
    const char *details)
{
	struct object *o = object_new(ctx->conf->transit_bytes);
	struct text t = { 0 };
	size_t len;
	char *body;

	if (!o)
		return NULL;
	text_puts(&t, sentence);
	if (*details)
		text_printf(&t, " (%s)", details);
	text_puts(&t, "\n");
	body = text_take(&t, &len);
	if (!body || response_own(o, status, fields, loop_http_date(ctx->loop), body, len))
		object_unref(&o);
	free(body);
	return o;
}

struct object *local_reply_failed(const struct request_context *ctx, const struct object *failed)
{
	const struct failure *f = object_failure(failed);
	const struct object_report *report = object_reported(failed);
	struct text t = { 0 };
	struct object *o = NULL;
	char *fields;
	size_t len;

	text_printf(&t, "Proxy-Status: %s; error=%s", ctx->conf->via, failure_token(f->error));
	if (f->received_status)
		text_printf(&t, "; received-status=%d", f->received_status);
	if (f->details[0])
		text_printf(&t, "; details=\"%s\"", f->details);
	text_puts(&t, "\r\n");
	if (f->retry_after_s)
		text_printf(&t, "Retry-After: %u\r\n", f->retry_after_s);
	text_add(&t, "", 1);
	if ((fields = text_take(&t, &len)))
		o = local_reply(ctx, failure_answer_status(f), fields, failure_text(f->error), f->details);
	if (o)
		*object_report(o) = *report;
	free(fields);
	stats_add(loop_stats(ctx->loop), STAT_RESPONSES_ERROR, failure_answer_status(f) >= 500);
	return o;
}

struct object *local_reply_failure(const struct request_context *ctx, const struct failure *f)
{
	struct object *failed = object_new(0), *o;

	if (!failed)
		return NULL;
	object_fail(failed, f);
	o = local_reply_failed(ctx, failed);
	object_unref(&failed);
	return o;
}
