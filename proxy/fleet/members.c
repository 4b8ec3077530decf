/* The registry of a fleet's instances; see members.h. */
#include "proxy/fleet/members.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proxy/base/container_of.h"
#include "proxy/fleet/fleet_internal.h"

enum { MEMBERS_ARGS = 5 };
_Static_assert(MEMBERS_GONE_MS == 10000 && MEMBERS_MAX == 1000 && MEMBER_ROW_MAX == 512, "the script is given these");

struct members {
	struct fleet *fleet;
	struct store *store;
	struct loop *loop;
	struct timer timer;
	struct store_call call;        /* one at a time */
	struct fleet_member self;            /* name, version, admin, pid and format */
	struct stats *const *sets;
	size_t n_sets;
	uint64_t began_ms;
	pthread_mutex_t lock;          /* guards what follows */
	struct fleet_member *rows;
	size_t n;
	bool known;
	uint64_t process, read_ms;
	uint64_t server_ms;            /* the server's clock at read_ms */
};

static uint64_t members_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- rows ---- */

static uint64_t members_sum(const struct members *members, enum stats_counter counter)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < members->n_sets; i++)
		sum += stats_get(&members->sets[i]->value[counter]);
	return sum;
}

static uint64_t members_lag_ms(const struct members *members)
{
	struct store_stats stats = { 0 };
	uint64_t now = members_now_ms();

	members->store->ops->stats(members->store, &stats);
	if (!stats.learned_ms)
		stats.learned_ms = members->began_ms;
	return now > stats.learned_ms ? now - stats.learned_ms : 0;
}

static void members_count_self(struct members *members)
{
	struct fleet_leases leases = fleet_leases(members->fleet);
	struct fleet_member *self = &members->self;

	self->up_s = (members_now_ms() - members->began_ms) / 1000;
	self->requests = members_sum(members, STAT_REQUESTS);
	self->hits = members_sum(members, STAT_CACHE_HITS);
	self->misses = members_sum(members, STAT_CACHE_MISSES);
	self->fetches = members_sum(members, STAT_FETCHES);
	self->leases = leases.held;
	self->waits = leases.waits;
	self->lag_ms = members_lag_ms(members);
}

static int members_order(const void *a, const void *b)
{
	const struct fleet_member *left = a, *right = b;
	int names = strcmp(left->name, right->name);

	return names ? names : (left->pid > right->pid) - (left->pid < right->pid);
}

/* In a large fleet, an instance reads all rows less often than it writes its own. */
static uint64_t members_read_every_ms(const struct members *members)
{
	enum { MEMBERS_READ_ROW_MS = 20, MEMBERS_READ_MAX_MS = 60 * 1000 };
	uint64_t ms = (uint64_t)fleet_instances(members->fleet) * MEMBERS_READ_ROW_MS;

	return ms < MEMBERS_READ_MAX_MS ? ms : MEMBERS_READ_MAX_MS;
}

/* The reply: this process, the server's clock, how many instances live, and their rows. */
static void members_take(struct members *members, const struct store_reply *reply)
{
	const struct store_value *values = reply->values;
	struct fleet_member *rows = calloc(MEMBERS_MAX, sizeof *rows), *fit;

	if (!rows)
		return;
	size_t n = members_read(rows, MEMBERS_MAX, values[3].text);
	qsort(rows, n, sizeof *rows, members_order);
	if (n && (fit = realloc(rows, n * sizeof *rows)))
		rows = fit;
	int64_t live = values[2].number;
	atomic_store(&members->fleet->instances, live < 1 ? 1 : live > INT_MAX ? INT_MAX : (unsigned)live);
	pthread_mutex_lock(&members->lock);
	struct fleet_member *former = members->rows;
	members->rows = rows;
	members->n = n;
	members->known = true;
	(void)member_number(&members->process, values[0].text);
	members->read_ms = members_now_ms();
	members->server_ms = (uint64_t)values[1].number;
	pthread_mutex_unlock(&members->lock);
	free(former);
}

static void members_on_answered(struct store_call *call)
{
	struct members *members = container_of(call, struct members, call);
	const struct store_value *values = call->reply ? call->reply->values : NULL;

	if (values && call->reply->n == 4 && values[0].text.at && !values[1].text.at && !values[2].text.at &&
	    values[3].text.at)
		members_take(members, call->reply);
	loop_arm(members->loop, &members->timer, MEMBERS_EVERY_MS);
}

static void members_on_time(struct timer *timer)
{
	struct members *members = container_of(timer, struct members, timer);
	uint64_t since_ms = members_now_ms() - members->read_ms;
	struct text row = { 0 };
	bool asked = false;

	members_count_self(members);
	member_write(&row, &members->self);
	if (!row.failed) {
		members->call.args[0] = (struct slice){ row.bytes, row.len };
		members->call.args[MEMBERS_ARGS - 1].len = since_ms >= members_read_every_ms(members);
		asked = members->store->ops->call(members->store, &members->call);
	}
	text_free(&row);
	if (!asked)
		loop_arm(members->loop, &members->timer, MEMBERS_EVERY_MS);
	if (since_ms > MEMBERS_GONE_MS + members_read_every_ms(members))
		atomic_store(&members->fleet->instances, 1);
}

/* ---- life ---- */

struct members *members_new(struct fleet *fleet, struct loop *loop, const struct members_self *self)
{
	struct members *members = calloc(1, sizeof *members);

	if (!members)
		return NULL;
	members->fleet = fleet;
	members->store = fleet_store(fleet);
	members->loop = loop;
	members->sets = self->sets;
	members->n_sets = self->n_sets;
	members->self = (struct fleet_member){ .pid = (uint64_t)getpid(), .format = ENTRY_FORMAT };
	snprintf(members->self.name, sizeof members->self.name, "%s", self->name);
	snprintf(members->self.version, sizeof members->self.version, "%s", self->version);
	snprintf(members->self.admin, sizeof members->self.admin, "%s", self->admin);
	members->call = (struct store_call){ .loop = loop, .script = SCRIPT_MEMBERS, .name = { "members", 7 },
		.n = MEMBERS_ARGS, .args = { { 0 }, { "10000", 5 }, { "1000", 4 }, { "512", 3 }, { "r", 1 } },
		.answered = members_on_answered };
	members->began_ms = members_now_ms();
	pthread_mutex_init(&members->lock, NULL);
	members->timer.fire = members_on_time;
	loop_arm(loop, &members->timer, 1);
	return members;
}

void members_free(struct members **mp)
{
	struct members *members = *mp;

	if (!members)
		return;
	loop_disarm(members->loop, &members->timer);
	members->store->ops->uncall(members->store, &members->call);
	pthread_mutex_destroy(&members->lock);
	free(members->rows);
	free(members);
	*mp = NULL;
}

/* ---- what is shown ---- */

/* Keeps the latest. Where several servers share the entries, a purge of more than a URL has a mark on each. */
static void members_on_purge(void *arg, const struct store_mark *mark)
{
	enum { MEMBERS_SAME_MS = 1000 };
	struct members_seen *seen = arg;
	size_t len = mark->what == PURGE_ALL ? 0 : mark->len < MEMBERS_URL_MAX ? mark->len : MEMBERS_URL_MAX, at = 0;
	struct members_purge purge = { .process = mark->process, .what = mark->what, .soft = mark->soft,
		.at_ms = mark->at_ms };

	memcpy(purge.url, mark->url, len);
	while (at < seen->n_purges && seen->purges[at].at_ms > purge.at_ms)
		at++;
	for (size_t i = 0; i < seen->n_purges && purge.what != PURGE_URL; i++) {
		const struct members_purge *each = &seen->purges[i];
		uint64_t apart = each->at_ms > purge.at_ms ? each->at_ms - purge.at_ms : purge.at_ms - each->at_ms;

		if (apart < MEMBERS_SAME_MS && each->process == purge.process && each->what == purge.what &&
		    each->soft == purge.soft && !strcmp(each->url, purge.url))
			return;
	}
	if (at == MEMBERS_PURGES)
		return;
	seen->n_purges += seen->n_purges < MEMBERS_PURGES;
	memmove(&seen->purges[at + 1], &seen->purges[at], (seen->n_purges - at - 1) * sizeof purge);
	seen->purges[at] = purge;
}

/* Gives purges their ages, and the names of who asked for them. server_ms: the server's clock now. */
static void members_date(struct members_seen *seen, uint64_t server_ms)
{
	for (size_t i = 0; i < seen->n_purges; i++) {
		struct members_purge *purge = &seen->purges[i];

		purge->age_ms = server_ms > purge->at_ms ? server_ms - purge->at_ms : 0;
		for (size_t row = 0; row < seen->n && !purge->by; row++)
			if (seen->rows[row].process == purge->process)
				purge->by = &seen->rows[row];
	}
}

struct members_seen *members_see(struct members *members)
{
	uint64_t now = members_now_ms();

	pthread_mutex_lock(&members->lock);
	struct members_seen *seen = calloc(1, sizeof *seen + members->n * sizeof *seen->rows);
	if (seen) {
		seen->known = members->known;
		seen->age_ms = now - members->read_ms;
		seen->self = members->process;
		seen->n = members->n;
		seen->of = fleet_instances(members->fleet);
		if (members->n)
			memcpy(seen->rows, members->rows, members->n * sizeof *seen->rows);
	}
	uint64_t server_ms = members->server_ms + (now - members->read_ms);
	pthread_mutex_unlock(&members->lock);
	if (seen && seen->known) {
		members->store->ops->purges(members->store, members_on_purge, seen);
		members_date(seen, server_ms);
	}
	return seen;
}

void members_stats(const struct members *members, struct stats_gauges *gauges)
{
	if (!members)
		return;
	stats_tell(gauges, GAUGE_FLEET_INSTANCES, fleet_instances(members->fleet));
	stats_tell(gauges, GAUGE_FLEET_LEASES_HELD, fleet_leases(members->fleet).held);
	stats_tell(gauges, GAUGE_FLEET_LEASES_WAITING, fleet_leases(members->fleet).waits);
	stats_tell(gauges, GAUGE_FLEET_LAG, members_lag_ms(members) / 1000);
}
