/* Writes the feed on standard input as UTF-8, and on standard error its encoding. The library pushes its output.
 *	cc example.c $(pkg-config --cflags --libs libutfeed) && ./a.out <feed.xml */
#include <stdio.h>
#include <utfeed.h>

static int write_out(void *arg, const void *bytes, size_t len)
{
	return fwrite(bytes, 1, len, (FILE *)arg) == len ? 0 : -1;
}

int main(int argc, char **argv)
{
	static char buffer[65536];
	struct utfeed *stream = utfeed_new(write_out, stdout);
	int result = stream ? UTFEED_OK : UTFEED_NO_MEMORY;
	size_t len;

	if (result == UTFEED_OK && argc > 1)
		result = utfeed_set(stream, "content-type", argv[1]);
	while (result == UTFEED_OK && (len = fread(buffer, 1, sizeof(buffer), stdin)) > 0)
		result = utfeed_feed(stream, buffer, len);
	if (result == UTFEED_OK)
		result = utfeed_finish(stream);
	if (result == UTFEED_OK)
		fprintf(stderr, "%s\n", utfeed_rule(stream));
	else
		fprintf(stderr, "%s\n", utfeed_result_text(result));
	utfeed_free(stream);
	return result != UTFEED_OK;
}
