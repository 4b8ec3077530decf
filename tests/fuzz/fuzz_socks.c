/* Owns feeding arbitrary bytes to the client's side of SOCKS5, as a server's answers. The first byte tells whether there are credentials,
 * and in pieces of which length the bytes come.
 * Invariants: until its end it asks for at least one byte and at most SOCKS_ANSWER_MAX. How the bytes are cut changes neither its messages
 * nor its end. Only a server that asked for it gets the password. */
#include "proxy/net/socks.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOGIN "\1\4user\6secret"

struct end { enum socks_result result; enum failure_kind error; size_t used; struct text said; };

static void require(bool holds)
{
	if (!holds)
		abort();
}

static struct end converse(const char *login, const uint8_t *bytes, size_t len, size_t piece)
{
	struct end e = { .result = SOCKS_MORE };
	struct failure f = { .error = FAILURE_NONE };
	struct socks *s = malloc(sizeof *s);

	require(s != NULL);
	socks_begin(s, login, "feeds.example", 443, &e.said);
	while (e.used < len && (e.result == SOCKS_MORE || e.result == SOCKS_SAYS)) {
		size_t room, before = e.said.len, n = len - e.used < piece ? len - e.used : piece;
		uint8_t *to = socks_room(s, &room);

		require(room > 0 && room <= SOCKS_ANSWER_MAX && to >= s->answer && to + room <= s->answer + SOCKS_ANSWER_MAX);
		n = n < room ? n : room;
		memcpy(to, bytes + e.used, n);
		e.used += n;
		e.result = socks_take(s, n, &e.said, &f);
		require((e.said.len > before) == (e.result == SOCKS_SAYS));
	}
	require((e.result == SOCKS_FAILED) == (f.error != FAILURE_NONE));
	e.error = f.error;
	free(s);
	return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct end whole, cut;
	const char *login;

	if (!size)
		return 0;
	login = data[0] & 1 ? LOGIN : NULL;
	whole = converse(login, data + 1, size - 1, size);
	cut = converse(login, data + 1, size - 1, 1 + (data[0] >> 1) % 8);
	require(whole.result == cut.result && whole.error == cut.error && whole.said.len == cut.said.len);
	require(whole.result != SOCKS_OPEN || whole.used == cut.used);
	require(!memcmp(whole.said.bytes, cut.said.bytes, cut.said.len));
	require(!memmem(cut.said.bytes, cut.said.len, "secret", 6) || (login && size > 2 && data[1] == 5 && data[2] == 2));
	text_free(&whole.said);
	text_free(&cut.said);
	return 0;
}
