/* Owns feeding arbitrary bytes to a frame of `utfeed top`, as if an admin listener had told them. The first two bytes are the
 * screen's size. Invariant tested: nothing but printable ASCII, line ends and sequences of ours reaches the terminal, and the frame fits. */
#include "proxy/command/top.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Steps over a sequence of ours; 0: it is none. */
static size_t sequence(const char *at)
{
	static const char *const ours[] = { "\033[H", "\033[J", "\033[K", "\033[0m", "\033[1m", "\033[7m" };

	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (!strncmp(at, ours[i], strlen(ours[i])))
			return strlen(ours[i]);
	return 0;
}

static void check_frame(const char *frame, const struct frame_size *size)
{
	unsigned rows = 1, column = 0;

	for (const char *at = frame; *at;) {
		size_t n = sequence(at);

		if (!n) {
			require(*at == '\n' || (*at >= 0x20 && *at <= 0x7e));
			column = *at >= 0x20 ? column + 1 : 0;
			rows += *at == '\n';
			require(!size->columns || column <= size->columns);
			n = 1;
		}
		at += n;
	}
	require(!size->rows || rows <= size->rows + !size->screen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct top_before before;
	struct frame frame = { .help = "q: quit", .now_ms = before.at_ms + 1000 };
	char *told, *out = NULL;
	size_t len;
	FILE *f;

	if (size < 2 || !(told = calloc(1, size - 1)) || !(f = open_memstream(&out, &len)))
		return 0;
	memcpy(told, data + 2, size - 2);
	frame.size = (struct frame_size){ .columns = data[0], .rows = data[1] / 2, .screen = data[1] & 1 };
	top_draw(f, &frame, told, &before);
	fclose(f);
	check_frame(out, &frame.size);
	free(told);
	free(out);
	return 0;
}
