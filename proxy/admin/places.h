/* Owns the places of the admin listener's connections: how many there are of each kind, and which connection has to
 * leave when another needs its place.
 * Must not know: connections, requests. Pure.
 * Invariant: a connection that waits, and a probe, always finds a place. An address that holds many places loses its
 * own, the oldest first, before any other address loses one. */
#ifndef UTFEED_PROXY_ADMIN_PLACES_H
#define UTFEED_PROXY_ADMIN_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct ip;

/* WAIT: no whole request has come yet, or the answer refuses it. PROBE: utfeed answers a probe. WORK: any other. */
enum place_kind { PLACE_WAIT, PLACE_PROBE, PLACE_WORK, PLACE_KINDS };
enum { PLACES_WAIT = 96, PLACES_PROBE = 8, PLACES_WORK = 64, PLACES_CROWDS = 256 };

/* Embedded in a connection. */
struct place {
	TAILQ_ENTRY(place) link;
	enum place_kind kind;
	bool kept;                     /* it gives way to nobody */
	uint8_t crowd;                 /* a hash of the peer's address */
};

struct places {
	TAILQ_HEAD(place_list, place) of[PLACE_KINDS]; /* the one that sat down first is the first */
	size_t n[PLACE_KINDS];
	uint16_t crowds[PLACE_KINDS][PLACES_CROWDS]; /* places that each crowd has */
};

void places_init(struct places *);
/* ip NULL: the peer has no address. */
uint8_t places_crowd(const struct ip *ip);
bool places_are_full(const struct places *, enum place_kind);
/* The place that has to be left before another one is taken; NULL: all are kept. */
struct place *places_victim(const struct places *, enum place_kind);
/* p has its crowd, and no place. There is room. */
void places_take(struct places *, struct place *place, enum place_kind, bool kept);
void places_leave(struct places *, struct place *place);

#endif
