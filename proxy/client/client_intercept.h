/* Owns what a client connection has beside the rest where its CONNECT is opened; see client_intercept.c. */
#ifndef UTFEED_PROXY_CLIENT_CLIENT_INTERCEPT_H
#define UTFEED_PROXY_CLIENT_CLIENT_INTERCEPT_H

#include "proxy/base/failure.h"
#include "proxy/client/client_internal.h"
#include "proxy/http/credentials.h"
#include "proxy/http/target_inside.h"
#include "proxy/net/leaves.h"
#include "proxy/origin/probe.h"

/* What answers the requests inside. */
enum opened_use {
	OPENED_SERVES,
	OPENED_SEALED,                 /* the origin did not prove who it is: failure */
	OPENED_MISNAMED                /* the client's TLS named another host than the CONNECT: status 421 */
};

struct opened {
	struct inside to;
	struct probe *probe;           /* CL_CONNECT: the origin is looked for */
	bool old;                      /* the client's TLS is too old, which was said */
	bool asked;                    /* CL_HELLO: the leaf is waited for */
	struct leaf_waiter leaf;
	enum opened_use use;
	struct failure failure;
	/* who asked for the CONNECT; empty: nobody was asked for a name */
	char user[CREDENTIALS_NAME_MAX + 1];
};

/* Whether the CONNECT is one to be opened; it is under way then. */
bool client_opens(struct client *);
/* Does the next step in CL_HELLO. False: there is none to do now, or the state has changed. */
bool client_hello(struct client *);
/* What a stream inside that client's opened CONNECT has of it; to be freed. NULL: out of memory. */
struct opened *client_copy_opened(const struct opened *);
/* Lets go of what the connection waits for. */
void client_leave_opened(struct client *);
/* The answer to a request inside is the last there: the client has to ask for another CONNECT. has_more: bytes behind
 * the head may come. */
void client_leave_inside(struct client *, bool has_more);
/* Whether a request inside has its answer already, because nothing may be asked there (any more). */
bool client_inside_ends(struct client *, bool has_body);

#endif
