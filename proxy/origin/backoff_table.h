/* Owns a bounded table of what is remembered by a name and a number: found by a keyed hash, and forgotten where others
 * need the room.
 * Must not know: what is remembered, the time.
 * Invariant: no entry leaves for a new one while another site has more of them. A site is what one owner can have many
 * names of: the last two labels of a host, or the 64 bits of an IPv6 network. So if somebody makes up URLs or
 * hosts, entries of the same site go, and first those that are not proven. */
#ifndef UTFEED_PROXY_ORIGIN_BACKOFF_TABLE_H
#define UTFEED_PROXY_ORIGIN_BACKOFF_TABLE_H

#include <stdint.h>
#include <sys/queue.h>

#include "proxy/base/slice.h"

enum {
	BACKOFF_ENTRIES_MAX = 8192,            /* of one table */
	BACKOFF_NAMES_MAX = 4 << 20,           /* bytes of their names */
	BACKOFF_BUCKETS = 4096, BACKOFF_SITES = 4096
};

struct backoff_site;
struct backoff_turn;

struct backoff_entry {
	LIST_ENTRY(backoff_entry) link;        /* of its bucket */
	TAILQ_ENTRY(backoff_entry) age;        /* of its site: least recently used first */
	uint64_t hash, way;
	struct backoff_site *site;
	bool proven;
	/* The owner's, all 0 in a new entry; times are of the monotonic clock in ms. */
	bool asked_for;                /* The origin asked for the pause. */
	bool plain;                    /* The first request behind the pause has no fields of its client. */
	bool told;                     /* Other processes know of the pause. */
	uint8_t doublings;             /* Pauses in a row that nobody asked for. */
	uint8_t why;                   /* Of enum failure_kind. */
	uint8_t protocol;              /* Of enum backoff_protocol. */
	uint16_t status;               /* That the origin gave; 0: none came. */
	uint32_t saved;                /* Requests that the pause kept from the origin. */
	uint64_t began_ms, until_ms;   /* The pause; until_ms 0: none since the last success. */
	uint64_t trial, trial_until_ms;        /* The request that asks first behind the pause; 0: none yet. */
	/* When it was asked last, or will be; and how long that was after the time before; 0: not known. */
	uint64_t asked_ms, gap_ms;
	uint64_t space_ms, spaced_ms;  /* of a host: the interval that was learned, and when */
	uint64_t other, other_until_ms;       /* of a host: a URL whose 503 asked for a pause, and that pause */
	struct backoff_turn *turn;     /* of backoff_turn.c alone, freed with the entry; NULL: none */
	size_t len;
	char name[];                   /* terminated */
};

LIST_HEAD(backoff_bucket, backoff_entry);
LIST_HEAD(backoff_sites, backoff_site);
TAILQ_HEAD(backoff_ages, backoff_entry);

struct backoff_site {
	LIST_ENTRY(backoff_site) link;         /* of the sites with as many entries */
	struct backoff_ages ages[2];           /* [1]: of proven entries; not set up where n is 0 */
	size_t n;
};

struct backoff_table {
	size_t n, bytes, largest;              /* entries, bytes of their names, entries of the largest site */
	struct backoff_bucket buckets[BACKOFF_BUCKETS];
	struct backoff_site sites[BACKOFF_SITES];      /* by hash */
	struct backoff_sites of_size[BACKOFF_ENTRIES_MAX + 1];
};

/* A table is empty where all its bytes are 0. */
void backoff_table_clear(struct backoff_table *);
/* The entry of that name and number, which counts as used now; NULL: there is none. */
struct backoff_entry *backoff_table_find(struct backoff_table *, struct slice name, uint64_t way);
/* The entry of that name behind another one, whatever its number; before NULL: the first one. */
struct backoff_entry *backoff_table_next(struct backoff_table *, struct slice name, struct backoff_entry *before);
/* Makes an entry of a name that has none. host: of the name, without brackets and port. NULL: out of memory. */
struct backoff_entry *backoff_table_add(struct backoff_table *, struct slice name, uint64_t way, struct slice host);
/* The entry is worth more than those that are not proven. */
void backoff_table_prove(struct backoff_entry *);
void backoff_table_forget(struct backoff_table *, struct backoff_entry *);

#endif
