/* What feeds say of their own freshness; see feed_hints.h. */
#include "feed_hints.h"

#include <stdlib.h>
#include <string.h>

#include "object.h"

enum { HINTS_LOOK_BYTES = 16 * 1024, HINTS_MAX_S = 24 * 3600, HINTS_IOV = 8 };

static const struct { const char *word; uint32_t seconds; } periods[] = {
	{ "hourly", 3600 }, { "daily", 86400 }, { "weekly", 7 * 86400 }, { "monthly", 30 * 86400 }, { "yearly", 365u * 86400 },
};

/* The text after the first <name>, blanks skipped; NULL: none. */
static const char *element_text(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	if (!at)
		return NULL;
	at += strlen(name);
	return at + strspn(at, " \t\r\n");
}

static uint32_t hints_read(const char *text)
{
	const char *ttl = element_text(text, "<ttl>"), *period = element_text(text, "<sy:updatePeriod>");
	const char *frequency = element_text(text, "<sy:updateFrequency>");
	unsigned long minutes = ttl ? strtoul(ttl, NULL, 10) : 0, times = frequency ? strtoul(frequency, NULL, 10) : 1;

	if (minutes)
		return minutes < HINTS_MAX_S / 60 ? (uint32_t)minutes * 60 : HINTS_MAX_S;
	for (size_t i = 0; period && i < sizeof periods / sizeof *periods; i++)
		if (!strncmp(period, periods[i].word, strlen(periods[i].word))) {
			uint32_t seconds = periods[i].seconds / (times && times < periods[i].seconds ? (uint32_t)times : 1);

			return seconds < HINTS_MAX_S ? seconds : HINTS_MAX_S;
		}
	return 0;
}

uint32_t feed_hints_ttl(struct object *o)
{
	struct object_reader r = { 0 };
	struct iovec iov[HINTS_IOV];
	char *text = malloc(HINTS_LOOK_BYTES + 1);
	size_t len, at = 0;
	uint32_t seconds;
	int n;

	if (!text)
		return 0;
	object_attach(o, &r);
	n = object_peek(&r, iov, HINTS_IOV, HINTS_LOOK_BYTES, &len);
	for (int i = 0; i < n; i++) {
		memcpy(text + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	text[at] = '\0';
	object_detach(&r);
	seconds = hints_read(text);
	free(text);
	return seconds;
}
