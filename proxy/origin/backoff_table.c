/* A bounded table; see backoff_table.h. */
#include "proxy/origin/backoff_table.h"

#include <stdlib.h>
#include <string.h>

#include "conf/cidr.h"
#include "proxy/base/hash.h"

/* The last two labels of a name, without a dot at its end. */
static struct slice backoff_domain(struct slice host)
{
	size_t at, dots = 0;

	host.len -= host.len && host.at[host.len - 1] == '.';
	for (at = host.len; at; at--)
		if (host.at[at - 1] == '.' && ++dots == 2)
			break;
	return (struct slice){ host.at + at, host.len - at };
}

static struct backoff_site *backoff_site_of(struct backoff_table *t, struct slice host)
{
	struct ip ip;

	if (ip_parse(host.at, host.len, &ip)) {
		ip = ip_client(&ip);
		host = (struct slice){ (char *)ip.bytes, ip.ipv6 ? 8 : 4 };
	} else
		host = backoff_domain(host);
	return &t->sites[hash_keyed(host.at, host.len) % BACKOFF_SITES];
}

/* The site has one entry more or less. */
static void backoff_site_grows(struct backoff_table *t, struct backoff_site *s, bool more)
{
	if (s->n)
		LIST_REMOVE(s, link);
	else
		for (size_t i = 0; i < 2; i++)
			TAILQ_INIT(&s->ages[i]);
	s->n += more ? 1 : (size_t)-1;
	if (s->n)
		LIST_INSERT_HEAD(&t->of_size[s->n], s, link);
	if (s->n > t->largest)
		t->largest = s->n;
	while (t->largest && LIST_EMPTY(&t->of_size[t->largest]))
		t->largest--;
}

void backoff_table_forget(struct backoff_table *t, struct backoff_entry *e)
{
	LIST_REMOVE(e, link);
	TAILQ_REMOVE(&e->site->ages[e->proven], e, age);
	backoff_site_grows(t, e->site, false);
	t->n--;
	t->bytes -= e->len;
	free(e);
}

void backoff_table_clear(struct backoff_table *t)
{
	for (size_t i = 0; t->n; i++)
		while (!LIST_EMPTY(&t->buckets[i]))
			backoff_table_forget(t, LIST_FIRST(&t->buckets[i]));
}

struct backoff_entry *backoff_table_next(struct backoff_table *t, struct slice name, struct backoff_entry *before)
{
	uint64_t hash = hash_keyed(name.at, name.len);
	struct backoff_entry *e = before ? LIST_NEXT(before, link) : LIST_FIRST(&t->buckets[hash % BACKOFF_BUCKETS]);

	while (e && (e->hash != hash || e->len != name.len || memcmp(e->name, name.at, name.len) != 0))
		e = LIST_NEXT(e, link);
	return e;
}

struct backoff_entry *backoff_table_find(struct backoff_table *t, struct slice name, uint64_t way)
{
	struct backoff_entry *e = NULL;

	while ((e = backoff_table_next(t, name, e)) && e->way != way)
		;
	if (!e)
		return NULL;
	TAILQ_REMOVE(&e->site->ages[e->proven], e, age);
	TAILQ_INSERT_TAIL(&e->site->ages[e->proven], e, age);
	return e;
}

static void backoff_make_room(struct backoff_table *t, size_t len)
{
	while (t->n && (t->n >= BACKOFF_ENTRIES_MAX || t->bytes + len > BACKOFF_NAMES_MAX)) {
		struct backoff_site *s = LIST_FIRST(&t->of_size[t->largest]);

		backoff_table_forget(t, TAILQ_FIRST(&s->ages[TAILQ_EMPTY(&s->ages[0])]));
	}
}

struct backoff_entry *backoff_table_add(struct backoff_table *t, struct slice name, uint64_t way, struct slice host)
{
	struct backoff_entry *e = calloc(1, sizeof *e + name.len + 1);

	if (!e)
		return NULL;
	backoff_make_room(t, name.len);
	e->hash = hash_keyed(name.at, name.len);
	e->way = way;
	e->len = name.len;
	memcpy(e->name, name.at, name.len);
	e->site = backoff_site_of(t, host);
	backoff_site_grows(t, e->site, true);
	LIST_INSERT_HEAD(&t->buckets[e->hash % BACKOFF_BUCKETS], e, link);
	TAILQ_INSERT_TAIL(&e->site->ages[0], e, age);
	t->n++;
	t->bytes += name.len;
	return e;
}

void backoff_table_prove(struct backoff_entry *e)
{
	TAILQ_REMOVE(&e->site->ages[e->proven], e, age);
	e->proven = true;
	TAILQ_INSERT_TAIL(&e->site->ages[1], e, age);
}
