/* Owns the cases of proxy/origin/backoff_protocol.c: which protocol a host is asked by, and when it is asked by both. Each row is a script and
 * what it says.
 * Must not know: requests, connections. Invariant: the time is the script's own.
 *
 * A script's steps, where u is one of the URLs a and b of one host, c of another port, d of the first host behind a parent:
 *	?u say what u is asked by: "any", "1", "2", or "required"
 *	=u say what is shown of u, whatever parent there is
 *	!u say whether u may be asked twice: "yes" or "no"
 *	0u neither answer was better    1u HTTP/1.1 was    2u HTTP/2 was    Ru the host required HTTP/1.1
 *	M  a minute goes by             H  an hour goes by */
#include "proxy/origin/backoff.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { SAID_MAX = 128, MINUTE_MS = 60 * 1000, HOUR_MS = 3600 * 1000 };

static const struct { const char *url; uint64_t parent; } urls[] = {
	{ "https://feeds.example/a", 0 }, { "https://feeds.example/b", 0 }, { "https://feeds.example:8443/a", 0 }, { "https://feeds.example/a", 7 },
};

static struct backoff_request asked(char which)
{
	const char *url = urls[which - 'a'].url;

	return (struct backoff_request){ .url = { url, strlen(url) }, .parent = urls[which - 'a'].parent };
}

static const char *answer(struct backoff *b, char what, char which, uint64_t now_ms)
{
	static const char *const words[] = { [BACKOFF_PROTOCOL_ANY] = "any", [BACKOFF_PROTOCOL_HTTP_1] = "1", [BACKOFF_PROTOCOL_HTTP_2] = "2",
		[BACKOFF_PROTOCOL_REQUIRED] = "required" };
	struct backoff_request r = asked(which);

	if (what != '!')
		return words[what == '?' ? backoff_protocol(b, &r, now_ms) : backoff_protocol_shown(b, r.url, now_ms)];
	return backoff_asks_twice(b, &r, now_ms) ? "yes" : "no";
}

static void play(const char *script, char said[SAID_MAX])
{
	static const char learned[] = { [BACKOFF_PROTOCOL_ANY] = '0', [BACKOFF_PROTOCOL_HTTP_1] = '1', [BACKOFF_PROTOCOL_HTTP_2] = '2',
		[BACKOFF_PROTOCOL_REQUIRED] = 'R' };
	struct backoff *b = backoff_new();
	uint64_t now_ms = 1000;

	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	said[0] = '\0';
	for (const char *at = script; *at; at++) {
		const char *better = memchr(learned, *at, sizeof learned);

		if (*at == 'M' || *at == 'H')
			now_ms += *at == 'M' ? MINUTE_MS : HOUR_MS;
		else if (better) {
			struct backoff_request r = asked(*++at);

			backoff_learn_protocol(b, &r, (enum backoff_protocol)(better - learned), now_ms);
		} else if (*at != ' ') {
			const char *word = answer(b, *at, at[1], now_ms);

			snprintf(said + strlen(said), SAID_MAX - strlen(said), "%s%s", *said ? " " : "", word);
			at++;
		}
	}
	backoff_free(&b);
}

static void scripts(void)
{
	static const struct { const char *rule, *script, *says; } rows[] = {
		{ "nothing is known", "?a !a", "any yes" },
		{ "what one URL got better, its host is asked by", "1a ?a ?b", "1 1" },
		{ "another port is another host", "1a ?c !c", "any yes" },
		{ "a parent on the way makes it another host", "1a ?d !d", "any yes" },
		{ "what is shown is of any parent", "=a 1d =a =b Ra =a H =a", "any 1 1 required any" },
		{ "of two parents the latest", "1d M 2a =a", "2" },
		{ "no URL is asked twice again within the hour", "1a !a M !a H !a", "no no yes" },
		{ "another URL of the host may be", "1a !b", "yes" },
		{ "an hour is remembered", "1a M ?a ?b H ?a ?b", "1 1 any any" },
		{ "two walls say nothing of the host", "0a ?a ?b !a !b", "any any no yes" },
		{ "nor do they change what it is asked by", "1b 0a ?a ?b !a", "1 1 no" },
		{ "two URLs of a host that differ keep their own", "1a 2b ?a ?b !a !b", "1 2 no no" },
		{ "the latest counts for all others of the host", "1b 2a ?b", "1" },
		{ "a host that requires HTTP/1.1 is asked by that", "Ra ?a ?b", "required required" },
		{ "and no URL of it twice", "Ra !a !b", "no no" },
		{ "whatever was better before", "2a 2b Ra ?a ?b", "required required" },
		{ "or seems so afterwards", "Ra 2b ?a ?b", "required required" },
		{ "for an hour", "Ra M ?b H ?a !a", "required any yes" },
		{ "what was before the hour does not come back", "1a H 0a ?a", "any" },
		{ "a URL that changes its mind within the hour", "1a 2a ?a !a", "2 no" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char said[SAID_MAX];

		play(rows[i].script, said);
		UNIT_ROW(!strcmp(said, rows[i].says), "%s: \"%s\" instead of \"%s\"", rows[i].rule, said, rows[i].says);
	}
}

/* A hostile client names URLs without end: what a host needs stays, and the others go. */
static void many_urls(void)
{
	struct backoff *b = backoff_new();
	struct backoff_request r = asked('b');

	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	backoff_learn_protocol(b, &r, BACKOFF_PROTOCOL_HTTP_1, 1000);
	for (unsigned i = 0; i < 20000; i++) {
		char url[64];
		int len = snprintf(url, sizeof url, "https://feeds.example/many/%u", i);

		backoff_learn_protocol(b, &(struct backoff_request){ .url = { url, (size_t)len } }, BACKOFF_PROTOCOL_ANY, 1000);
	}
	r = asked('a');
	CU_ASSERT_EQUAL(backoff_protocol(b, &r, 1000), BACKOFF_PROTOCOL_HTTP_1);
	backoff_free(&b);
}

UNIT_SUITE(backoff_protocol,
	{ "scripts", scripts },
	{ "many URLs", many_urls })
