/* How failures are told; see failure.h. */
#include "proxy/base/failure.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
	const char *token, *text;
	int status;
} failures[PROXY_ERROR_COUNT] = {
	[PROXY_ERROR_NONE] = { "", "", 0 },
#define FAILURE(id, token, status, text) [PROXY_ERROR_##id] = { token, text, status },
#include "proxy/base/failure.def"
#undef FAILURE
};

void proxy_failure_set(struct proxy_failure *f, enum proxy_error error, const char *fmt, ...)
{
	va_list ap;

	f->error = error;
	f->retry_after_s = 0;
	va_start(ap, fmt);
	vsnprintf(f->details, sizeof f->details, fmt, ap);
	va_end(ap);
	for (char *p = f->details; *p; p++)
		if (*p < 0x20 || *p > 0x7e || *p == '"' || *p == '\\')
			*p = '?';
}

const char *proxy_error_token(enum proxy_error e)
{
	return failures[e].token;
}

const char *proxy_error_text(enum proxy_error e)
{
	return failures[e].text;
}

int proxy_error_status(enum proxy_error e)
{
	return failures[e].status;
}
