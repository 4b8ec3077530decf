/* Owns the row by which an instance of a fleet is known to the others: a line of words NAME=VALUE.
 * Must not know: where rows are kept, who shows them. Pure.
 * Invariant: a row that was read has printable text alone, of bounded length. Bytes beyond ASCII are as they came: they
 * may be of no encoding. A word that a later version adds is ignored. */
#ifndef UTFEED_PROXY_FLEET_MEMBER_H
#define UTFEED_PROXY_FLEET_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/base/slice.h"
#include "proxy/base/text.h"

enum { MEMBER_NAME_MAX = 64, MEMBER_VERSION_MAX = 32, MEMBER_ADMIN_MAX = 80, MEMBER_ROW_MAX = 512 };

struct fleet_member {
	uint64_t process;    /* as purges name it */
	uint64_t age_ms;     /* since it wrote the row */
	char name[MEMBER_NAME_MAX + 1];       /* of its machine or container */
	char version[MEMBER_VERSION_MAX + 1];
	char admin[MEMBER_ADMIN_MAX + 1];     /* where its admin listener is; "": not told */
	uint64_t pid, format;                 /* format: of the entries that it stores */
	uint64_t up_s, requests, hits, misses, fetches;
	uint64_t leases, waits;               /* leases that it holds, and requests that wait for one of others */
	uint64_t lag_ms;     /* since it last knew all purges */
};

/* Reads a number in decimal digits. False: it is none, or does not fit. */
bool member_number(uint64_t *, struct slice);
/* Adds the row, without process and age. */
void member_write(struct text *, const struct fleet_member *);
/* Reads "PROCESS AGE-MS ROW". False: it is not a row; what was read means nothing. */
bool member_read(struct fleet_member *, struct slice line);
/* Reads lines up to max rows, and leaves out those that are none. Returns how many there are. */
size_t members_read(struct fleet_member *, size_t max, struct slice lines);

#endif
