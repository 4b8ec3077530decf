/* Owns feeding arbitrary bytes to the reader of a fleet's instances, as if a Redis server had them.
 * Invariants tested: texts are printable and end, no more rows are read than there is room for, and a row that was read is the same when it is
 * written and read again. */
#include "proxy/fleet/member.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_text(const char *text, size_t max)
{
	const char *end = memchr(text, '\0', max + 1);

	require(end);
	for (; text < end; text++)
		require((unsigned char)*text > ' ' && *text != 0x7f);
}

static void check_member(const struct fleet_member *member)
{
	struct text t = { 0 };
	struct fleet_member again;

	check_text(member->name, MEMBER_NAME_MAX);
	check_text(member->version, MEMBER_VERSION_MAX);
	check_text(member->admin, MEMBER_ADMIN_MAX);
	text_number(&t, member->process);
	text_puts(&t, " ");
	text_number(&t, member->age_ms);
	text_puts(&t, " ");
	member_write(&t, member);
	require(!t.failed && member_read(&again, (struct slice){ t.bytes, t.len }));
	require(again.process == member->process && again.lag_ms == member->lag_ms && !strcmp(again.name, member->name) &&
	    !strcmp(again.version, member->version) && !strcmp(again.admin, member->admin));
	text_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fleet_member members[ROWS];
	size_t n = members_read(members, ROWS, (struct slice){ (const char *)data, size });

	require(n <= ROWS);
	for (size_t i = 0; i < n; i++)
		check_member(&members[i]);
	return 0;
}
