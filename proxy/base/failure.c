/* Failures and their texts; see failure.h. */
#include "proxy/base/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *token, *text;
	int status;
} failures[FAILURE_COUNT] = {
	[FAILURE_NONE] = { "", "", 0 },
#define FAILURE(id, token, status, text) [FAILURE_##id] = { token, text, status },
#include "proxy/base/failure.def"
#undef FAILURE
};

void failure_set(struct failure *failure, enum failure_kind error, const char *fmt, ...)
{
	va_list ap;

	failure->error = error;
	failure->retry_after_s = 0;
	failure->before = FAILURE_NONE;
	failure->received_status = 0;
	failure->undecided = false;
	va_start(ap, fmt);
	vsnprintf(failure->details, sizeof failure->details, fmt, ap);
	va_end(ap);
	for (char *p = failure->details; *p; p++)
		if (*p < 0x20 || *p > 0x7e || *p == '"' || *p == '\\')
			*p = '?';
}

int failure_details_length(const struct failure *failure)
{
	return (int)strcspn(failure->details, ";");
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

int failure_answer_status(const struct failure *failure)
{
	if (failure->received_status >= 400)
		return failure->received_status;
	return failure_status(failure->before ? failure->before : failure->error);
}

const char *failure_cause(int status, enum failure_kind why, char room[FAILURE_CAUSE_MAX])
{
	if (why == FAILURE_NO_FEED)
		return "no_feed";
	if (why && status < 400)
		return failure_token(why);
	if (!status)
		return NULL;
	snprintf(room, FAILURE_CAUSE_MAX, "%d", status);
	return room;
}
