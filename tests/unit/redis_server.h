/* Owns one Redis or Valkey server, a process of the test's own on a free port of 127.0.0.1, and stores that use it.
 * Must not know: any case. Invariant: one at a time; it keeps nothing on disk. */
#ifndef UTFEED_TESTS_REDIS_SERVER_H
#define UTFEED_TESTS_REDIS_SERVER_H

#include <sys/types.h>

#include "tests/unit/stores.h"

/* The one that is meant: which program, and whether it speaks TLS only; timeout_ms: of the stores that use it. */
extern struct redis_server {
	const char *program;
	bool tls;
	pid_t pid;
	uint16_t port;
	int timeout_ms;
	struct store *store;           /* the last that redis_server_store() made */
} redis_server;

/* Chooses the one that is meant. NULL: it can be had here, else why not. */
const char *redis_server_missing(const char *program, bool tls);
void redis_server_start(void);                  /* on the port it had */
void redis_server_stop(void);
struct store *redis_server_store(void);         /* of a server just started; it answers */
struct store *redis_server_open(const char *password, const char *prefix);
/* The server may need a while: until an entry stays. false: it has ended, or a minute is over. */
bool redis_server_wakes(struct store *);
void redis_server_clear(void);                  /* after it: the process and its files */

#endif
