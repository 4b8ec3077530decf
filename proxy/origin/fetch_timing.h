/* Owns what the access log tells of one request's way to its origin: its times, the address, the version of HTTP, what
 * failed. A fetch or a tunnel writes it, the client that asked reads it; it outlives whichever of them ends first.
 * Must not know: requests, logs. Invariant: all that touch it run on one worker's thread. A timing of NULL is written
 * and read as one that measures nothing, and no clock is looked at for it. */
#ifndef UTFEED_PROXY_ORIGIN_FETCH_TIMING_H
#define UTFEED_PROXY_ORIGIN_FETCH_TIMING_H

#include <stdint.h>

#include "proxy/base/failure.h"

struct loop;

enum fetch_stage {
	STAGE_QUEUE,                   /* until one of origin-connections was free */
	STAGE_DNS,                     /* until the name had an address */
	STAGE_CONNECT,                 /* until the connection was there, through the parent proxy where there is one */
	STAGE_TLS,                     /* the handshake */
	STAGE_ORIGIN,                  /* from the connection to the response's head */
	STAGE_COUNT
};

enum { FETCH_TIMING_ADDRESS_MAX = 64 };

struct fetch_timing {
	unsigned refs;
	unsigned retries;              /* requests sent again */
	enum failure_kind failure;     /* FAILURE_NONE: none */
	char address[FETCH_TIMING_ADDRESS_MAX];        /* as conn_peer() has it; empty: no connection was made */
	const char *version;           /* of HTTP that the origin was asked by: "1.1", "2.0"; NULL: likewise */

	uint64_t begun_us[STAGE_COUNT];                /* 0: the stage is not under way */
	/* the sums over retries and redirects; -1: the stage was not come to */
	int64_t us[STAGE_COUNT];
};

/* *owner's timing, made if it is NULL, and borrowed from *owner. NULL: as below. */
struct fetch_timing *fetch_timing_of(struct fetch_timing **owner);
/* One reference to *owner's timing, which is made if it is NULL; *owner keeps another one. NULL: owner is NULL, or out
 * of memory, in which case nothing is measured. */
struct fetch_timing *fetch_timing_share(struct fetch_timing **owner);
void fetch_timing_unref(struct fetch_timing **);
void fetch_timing_begin(struct fetch_timing *, enum fetch_stage, struct loop *);
/* Does nothing where the stage was not begun. */
void fetch_timing_end(struct fetch_timing *, enum fetch_stage, struct loop *);
void fetch_timing_address(struct fetch_timing *, const char *address);

#endif
