/* Owns feeding arbitrary heads to what reads how long an origin wants to be left alone. Input: the time of day in four bytes, the
 * response's lines. Invariants: a wait is a day at most, and the same each time; a Retry-After in front counts first. */
#include "proxy/http/pause_fields.h"
#include "tests/unit/heads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static uint32_t wait_of(const char *lines, size_t len, int64_t wall_s)
{
	struct http_msg m;
	uint32_t wait, again;

	head_fill(&m, lines, len, 429);
	wait = pause_fields_wait_s(&m, wall_s);
	again = pause_fields_wait_s(&m, wall_s);
	check(pause_fields_space_ms(&m) <= PAUSE_FIELDS_SPACE_MAX_MS);
	head_free(&m);
	check(wait == again && wait <= PAUSE_FIELDS_MAX_S);
	return wait;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char first[] = "Retry-After: 77\n";
	uint32_t wall_s;
	char *lines;

	if (size < sizeof wall_s)
		return 0;
	memcpy(&wall_s, data, sizeof wall_s);
	data += sizeof wall_s;
	size -= sizeof wall_s;
	wait_of((const char *)data, size, wall_s);
	if (!(lines = malloc(sizeof first - 1 + size)))
		abort();
	memcpy(lines, first, sizeof first - 1);
	memcpy(lines + sizeof first - 1, data, size);
	check(wait_of(lines, sizeof first - 1 + size, wall_s) == 77);
	free(lines);
	return 0;
}
