/* Failures and their texts; see failure.h. */
#include "proxy/base/failure.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
	const char *token, *text;
	int status;
} failures[FAILURE_COUNT] = {
	[FAILURE_NONE] = { "", "", 0 },
#define FAILURE(id, token, status, text) [FAILURE_##id] = { token, text, status },
#include "proxy/base/failure.def"
#undef FAILURE
};

void failure_set(struct failure *f, enum failure_kind error, const char *fmt, ...)
{
	va_list ap;

	f->error = error;
	f->retry_after_s = 0;
	f->before = FAILURE_NONE;
	f->received_status = 0;
	va_start(ap, fmt);
	vsnprintf(f->details, sizeof f->details, fmt, ap);
	va_end(ap);
	for (char *p = f->details; *p; p++)
		if (*p < 0x20 || *p > 0x7e || *p == '"' || *p == '\\')
			*p = '?';
}

const char *failure_token(enum failure_kind e)
{
	return failures[e].token;
}

const char *failure_text(enum failure_kind e)
{
	return failures[e].text;
}

bool failure_refuses(enum failure_kind e)
{
	return e == FAILURE_IP_PROHIBITED || e == FAILURE_OWN_LISTENER;
}

int failure_status(enum failure_kind e)
{
	return failures[e].status;
}

int failure_answer_status(const struct failure *f)
{
	if (f->received_status >= 400)
		return f->received_status;
	return failure_status(f->before ? f->before : f->error);
}

const char *failure_cause(int status, enum failure_kind why, char room[FAILURE_CAUSE_MAX])
{
	if (why == FAILURE_NO_FEED)
		return "no_feed";
	if (!status)
		return why ? failure_token(why) : NULL;
	snprintf(room, FAILURE_CAUSE_MAX, "%d", status);
	return room;
}
