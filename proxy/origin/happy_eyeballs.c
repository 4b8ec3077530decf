/* The order in which addresses are tried; see happy_eyeballs.h. */
#include "proxy/origin/happy_eyeballs.h"

#include <string.h>

static enum dns_family happy_eyeballs_other(enum dns_family f)
{
	return f == DNS_IPV6 ? DNS_IPV4 : DNS_IPV6;
}

static bool has_more(const struct happy_eyeballs *order, enum dns_family f)
{
	return order->tried[f] < order->n[f];
}

void happy_eyeballs_start(struct happy_eyeballs *order, enum dns_family first)
{
	memset(order, 0, sizeof *order);
	order->turn = first;
}

void happy_eyeballs_add(struct happy_eyeballs *order, enum dns_family f, unsigned n)
{
	order->known[f] = true;
	order->n[f] = n;
}

enum happy_eyeballs_advice happy_eyeballs_advise(const struct happy_eyeballs *order)
{
	bool begun = order->tried[DNS_IPV6] || order->tried[DNS_IPV4];
	bool all = order->known[DNS_IPV6] && order->known[DNS_IPV4];

	if (has_more(order, order->turn))
		return HAPPY_EYEBALLS_TRY;
	if (has_more(order, happy_eyeballs_other(order->turn)))
		return begun || order->known[order->turn] ? HAPPY_EYEBALLS_TRY : HAPPY_EYEBALLS_WAIT_SHORT;
	return all ? HAPPY_EYEBALLS_NONE : HAPPY_EYEBALLS_WAIT;
}

bool happy_eyeballs_next(struct happy_eyeballs *order, enum dns_family *family, unsigned *i)
{
	enum dns_family f = has_more(order, order->turn) ? order->turn : happy_eyeballs_other(order->turn);

	if (!has_more(order, f))
		return false;
	*family = f;
	*i = order->tried[f]++;
	order->turn = happy_eyeballs_other(f);
	return true;
}
