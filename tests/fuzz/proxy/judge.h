/* Owns the judgement: what each client asked, what origins gave to whom, and whether an answer may be this client's now (RFC 9111
 * sections 3, 3.5, 4, 4.1, 4.4).
 * Must not know: connections, how requests and responses are made up.
 * Invariant: who is not sure says nothing: what it calls wrong is wrong. */
#ifndef UTFEED_TESTS_FUZZ_JUDGE_H
#define UTFEED_TESTS_FUZZ_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

enum { JUDGE_URL_MAX = 96, JUDGE_VALUE_MAX = 64, JUDGE_MESSAGES_MAX = 256 };

/* The request fields by which answers differ. */
enum judge_field { BY_NOTHING, BY_LANGUAGE, BY_COOKIE, BY_AUTHORIZATION, BY_AGENT, BY_USER, BY_COUNT };

enum judge_way { WAY_OTHER, WAY_ROUTE, WAY_GATEWAY, WAY_FORWARD };

/* One request, as a client wrote it or an origin got it. */
struct asked {
	enum judge_way way;
	char method[16];
	char url[JUDGE_URL_MAX];               /* "host/path"; "": not one that can be told */
	char values[BY_COUNT][JUDGE_VALUE_MAX];
	bool ranged, purges, smuggles;
	bool queued;                           /* behind another of its connection */
	unsigned moment;
};

/* One response of an origin, which has its number in X-Mark, and [[NUMBER]] in its body. */
struct given {
	const struct asked *to;                /* the request that it answers */
	int status;
	enum judge_field vary;
	bool own;                              /* for who asked alone: private, no-store */
	bool own_by_cookie;                    /* likewise, except in the gateway: a cookie without a lifetime */
	bool shared_later;                     /* a cookie with a lifetime: for who asked, and for who asks later */
	bool own_cookie;                       /* a 304's: for who asked, whatever becomes of the rest */
	bool freed;                            /* answers Authorization and says that it may be stored all the same */
	bool whole;                            /* all of it was sent */
	char location[JUDGE_URL_MAX];
	unsigned moment;
	const struct asked *had;               /* who had it of those that asked before it was there */
	const struct asked *had_cookie;
};

struct judge {
	struct asked asked[JUDGE_MESSAGES_MAX], got[JUDGE_MESSAGES_MAX];       /* by clients, by origins */
	struct given given[JUDGE_MESSAGES_MAX];
	size_t n_asked, n_got, n_given;
	bool sends_credentials;                /* forward-credentials is on */
	struct { char url[JUDGE_URL_MAX]; unsigned moment; } purged[JUDGE_MESSAGES_MAX];
	size_t n_purged;
	unsigned moment;
};

/* The head of a client's request, queued: behind others that have no answer yet; NULL: there have been too many. */
const struct asked *judge_asked(struct judge *, const struct message *, bool queued);
/* The head of an origin's request. */
const struct asked *judge_got(struct judge *, const struct message *);
/* The number of a response that will be given; 0: there have been too many. */
unsigned judge_give(struct judge *, const struct given *);
struct given *judge_given(struct judge *, unsigned number);
/* What the client that asked gets, once it is over: m->ended, or cut. */
void judge_answer(struct judge *, const struct asked *, const struct message *);

#endif
