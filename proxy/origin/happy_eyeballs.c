/* The order of addresses; see happy_eyeballs.h. */
#include "proxy/origin/happy_eyeballs.h"

#include <string.h>

static enum dns_family other(enum dns_family f)
{
	return f == DNS_IPV6 ? DNS_IPV4 : DNS_IPV6;
}

static bool has_more(const struct eyeballs *e, enum dns_family f)
{
	return e->tried[f] < e->n[f];
}

void eyeballs_start(struct eyeballs *e, enum dns_family first)
{
	memset(e, 0, sizeof *e);
	e->turn = first;
}

void eyeballs_add(struct eyeballs *e, enum dns_family f, unsigned n)
{
	e->known[f] = true;
	e->n[f] = n;
}

enum eyeballs_advice eyeballs_advise(const struct eyeballs *e)
{
	bool begun = e->tried[DNS_IPV6] || e->tried[DNS_IPV4], all = e->known[DNS_IPV6] && e->known[DNS_IPV4];

	if (has_more(e, e->turn))
		return EYEBALLS_TRY;
	if (has_more(e, other(e->turn)))
		return begun || e->known[e->turn] ? EYEBALLS_TRY : EYEBALLS_WAIT_SHORT;
	return all ? EYEBALLS_NONE : EYEBALLS_WAIT;
}

bool eyeballs_next(struct eyeballs *e, enum dns_family *family, unsigned *i)
{
	enum dns_family f = has_more(e, e->turn) ? e->turn : other(e->turn);

	if (!has_more(e, f))
		return false;
	*family = f;
	*i = e->tried[f]++;
	e->turn = other(f);
	return true;
}
