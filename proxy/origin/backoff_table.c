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

static struct backoff_site *backoff_site_of(struct backoff_table *table, struct slice host)
{
	struct ip ip;

	if (ip_parse(host.at, host.len, &ip)) {
		ip = ip_client(&ip);
		host = (struct slice){ (char *)ip.bytes, ip.ipv6 ? 8 : 4 };
	} else
		host = backoff_domain(host);
	return &table->sites[hash_keyed(host.at, host.len) % BACKOFF_SITES];
}

/* The site has one entry more or less. */
static void backoff_site_grows(struct backoff_table *table, struct backoff_site *site, bool more)
{
	if (site->n)
		LIST_REMOVE(site, link);
	else
		for (size_t i = 0; i < 2; i++)
			TAILQ_INIT(&site->ages[i]);
	site->n += more ? 1 : (size_t)-1;
	if (site->n)
		LIST_INSERT_HEAD(&table->of_size[site->n], site, link);
	if (site->n > table->largest)
		table->largest = site->n;
	while (table->largest && LIST_EMPTY(&table->of_size[table->largest]))
		table->largest--;
}

void backoff_table_forget(struct backoff_table *table, struct backoff_entry *entry)
{
	LIST_REMOVE(entry, link);
	TAILQ_REMOVE(&entry->site->ages[entry->proven], entry, age);
	backoff_site_grows(table, entry->site, false);
	table->n--;
	table->bytes -= entry->len;
	free(entry->turn);
	free(entry);
}

void backoff_table_clear(struct backoff_table *table)
{
	for (size_t i = 0; table->n; i++)
		while (!LIST_EMPTY(&table->buckets[i]))
			backoff_table_forget(table, LIST_FIRST(&table->buckets[i]));
}

struct backoff_entry *backoff_table_next(struct backoff_table *table, struct slice name, struct backoff_entry *before)
{
	uint64_t hash = hash_keyed(name.at, name.len);
	struct backoff_bucket *bucket = &table->buckets[hash % BACKOFF_BUCKETS];
	struct backoff_entry *entry = before ? LIST_NEXT(before, link) : LIST_FIRST(bucket);

	while (entry && (entry->hash != hash || entry->len != name.len || memcmp(entry->name, name.at, name.len) != 0))
		entry = LIST_NEXT(entry, link);
	return entry;
}

struct backoff_entry *backoff_table_find(struct backoff_table *table, struct slice name, uint64_t way)
{
	struct backoff_entry *entry = NULL;

	while ((entry = backoff_table_next(table, name, entry)) && entry->way != way)
		;
	if (!entry)
		return NULL;
	TAILQ_REMOVE(&entry->site->ages[entry->proven], entry, age);
	TAILQ_INSERT_TAIL(&entry->site->ages[entry->proven], entry, age);
	return entry;
}

static void backoff_make_room(struct backoff_table *table, size_t len)
{
	while (table->n && (table->n >= BACKOFF_ENTRIES_MAX || table->bytes + len > BACKOFF_NAMES_MAX)) {
		struct backoff_site *site = LIST_FIRST(&table->of_size[table->largest]);

		backoff_table_forget(table, TAILQ_FIRST(&site->ages[TAILQ_EMPTY(&site->ages[0])]));
	}
}

struct backoff_entry *backoff_table_add(struct backoff_table *table, struct slice name, uint64_t way, struct slice host)
{
	struct backoff_entry *entry = calloc(1, sizeof *entry + name.len + 1);

	if (!entry)
		return NULL;
	backoff_make_room(table, name.len);
	entry->hash = hash_keyed(name.at, name.len);
	entry->way = way;
	entry->len = name.len;
	memcpy(entry->name, name.at, name.len);
	entry->site = backoff_site_of(table, host);
	backoff_site_grows(table, entry->site, true);
	LIST_INSERT_HEAD(&table->buckets[entry->hash % BACKOFF_BUCKETS], entry, link);
	TAILQ_INSERT_TAIL(&entry->site->ages[0], entry, age);
	table->n++;
	table->bytes += name.len;
	return entry;
}

void backoff_table_prove(struct backoff_entry *entry)
{
	TAILQ_REMOVE(&entry->site->ages[entry->proven], entry, age);
	entry->proven = true;
	TAILQ_INSERT_TAIL(&entry->site->ages[1], entry, age);
}
