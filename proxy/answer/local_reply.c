/* Writing the answers that utfeed gives by itself; see local_reply.h. */
#include "proxy/answer/local_reply.h"

#include <stdlib.h>

#include "conf/conf.h"
#include "proxy/base/stats.h"
#include "proxy/base/text.h"
#include "proxy/net/loop.h"
#include "proxy/object/response_head.h"

struct object *local_reply_body(const struct request_context *ctx, int status, const char *fields,
    const struct text *body)
{
	struct object *o = body->failed ? NULL : object_new(ctx->conf->transit_bytes);

	if (o && response_own(o, status, fields, loop_http_date(ctx->loop), body->bytes, body->len))
		object_unref(&o);
	return o;
}

struct object *local_reply(const struct request_context *ctx, int status, const char *fields, const char *sentence,
    const char *details)
{
	struct text t = { 0 };

	text_puts(&t, sentence);
	if (*details)
		text_printf(&t, " (%s)", details);
	text_puts(&t, "\n");
	struct object *o = local_reply_body(ctx, status, fields, &t);
	text_free(&t);
	return o;
}

struct object *local_reply_failed(const struct request_context *ctx, const struct object *failed)
{
	const struct failure *failure = object_failure(failed);
	const struct object_report *report = object_reported(failed);
	struct text t = { 0 };
	struct object *o = NULL;
	char *fields;
	size_t len;

	text_printf(&t, "Proxy-Status: %s; error=%s", ctx->conf->via, failure_token(failure->error));
	if (failure->received_status)
		text_printf(&t, "; received-status=%d", failure->received_status);
	if (failure->details[0])
		text_printf(&t, "; details=\"%.*s\"", failure_details_length(failure), failure->details);
	text_puts(&t, "\r\n");
	if (failure->retry_after_s)
		text_printf(&t, "Retry-After: %u\r\n", failure->retry_after_s);
	text_add(&t, "", 1);
	if ((fields = text_take(&t, &len)))
		o = local_reply(ctx, failure_answer_status(failure), fields, failure_text(failure->error),
		    failure->details);
	if (o)
		*object_report(o) = *report;
	free(fields);
	stats_add(loop_stats(ctx->loop), STAT_RESPONSES_ERROR, failure_answer_status(failure) >= 500);
	return o;
}

struct object *local_reply_failure(const struct request_context *ctx, const struct failure *failure)
{
	struct object *failed = object_new(0);

	if (!failed)
		return NULL;
	object_fail(failed, failure);
	struct object *o = local_reply_failed(ctx, failed);
	object_unref(&failed);
	return o;
}
