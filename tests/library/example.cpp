/* Writes the feed on standard input as UTF-8, and on standard error its encoding. The program pulls the output.
 *	c++ example.cpp $(pkg-config --cflags --libs libutfeed) && ./a.out <feed.xml */
#include <iostream>
#include <memory>
#include <utfeed.h>

int main(int argc, char **argv)
{
	std::unique_ptr<utfeed, decltype(&utfeed_free)> stream(utfeed_new(nullptr, nullptr), utfeed_free);
	int result = stream ? UTFEED_OK : UTFEED_NO_MEMORY;
	char buffer[65536];

	if (result == UTFEED_OK && argc > 1)
		result = utfeed_set(stream.get(), "content-type", argv[1]);
	for (bool more = true; result == UTFEED_OK && more;) {
		more = bool(std::cin.read(buffer, sizeof(buffer)));
		result = utfeed_feed(stream.get(), buffer, size_t(std::cin.gcount()));
		if (result == UTFEED_OK && !more)
			result = utfeed_finish(stream.get());
		while (size_t len = utfeed_read(stream.get(), buffer, sizeof(buffer)))
			std::cout.write(buffer, std::streamsize(len));
	}
	std::cerr << (result == UTFEED_OK ? utfeed_rule(stream.get()) : utfeed_result_text(result)) << '\n';
	return result != UTFEED_OK || !std::cout.flush();
}
