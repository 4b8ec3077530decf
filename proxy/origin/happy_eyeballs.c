/* The order in which addresses are tried; see happy_eyeballs.h. */
#include "proxy/origin/happy_eyeballs.h"

#include <string.h>

static enum dns_family happy_eyeballs_other(enum dns_family f)
{
	return f == DNS_IPV6 ? DNS_IPV4 : DNS_IPV6;
}

static bool has_more(const struct happy_eyeballs *e, enum dns_family f)
{
	return e->tried[f] < e->n[f];
}

void happy_eyeballs_start(struct happy_eyeballs *e, enum dns_family first)
{
	memset(e, 0, sizeof *e);
	e->turn = first;
}

void happy_eyeballs_add(struct happy_eyeballs *e, enum dns_family f, unsigned n)
{
	e->known[f] = true;
	e->n[f] = n;
}

enum happy_eyeballs_advice happy_eyeballs_advise(const struct happy_eyeballs *e)
{
	bool begun = e->tried[DNS_IPV6] || e->tried[DNS_IPV4], all = e->known[DNS_IPV6] && e->known[DNS_IPV4];

	if (has_more(e, e->turn))
		return HAPPY_EYEBALLS_TRY;
	if (has_more(e, happy_eyeballs_other(e->turn)))
		return begun || e->known[e->turn] ? HAPPY_EYEBALLS_TRY : HAPPY_EYEBALLS_WAIT_SHORT;
	return all ? HAPPY_EYEBALLS_NONE : HAPPY_EYEBALLS_WAIT;
}

bool happy_eyeballs_next(struct happy_eyeballs *e, enum dns_family *family, unsigned *i)
{
	enum dns_family f = has_more(e, e->turn) ? e->turn : happy_eyeballs_other(e->turn);

	if (!has_more(e, f))
		return false;
	*family = f;
	*i = e->tried[f]++;
	e->turn = happy_eyeballs_other(f);
	return true;
}
