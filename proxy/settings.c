/* A configuration in force; see settings.h. */
#include "settings.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "descriptors.h"
#include "hash.h"
#include "log.h"
#include "tls_set.h"

/* Said loudly only where somebody asked for that many. */
static size_t settings_max_clients(const struct conf *conf)
{
	size_t wanted = (size_t)conf->max_connections, room = descriptors_clients() / (size_t)conf->workers;

	if (wanted <= room)
		return wanted;
	room = room ? room : 1;
	log_line(conf_where(conf, NULL, "max-connections") ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
	    "max-connections: %zu clients a worker instead of %zu: the limit of open files (ulimit -n) leaves no room for more", room, wanted);
	return room;
}

static uint64_t fold_numbers(uint64_t h, const unsigned *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = hash_fold(h, numbers[i]);
	return h;
}

uint64_t settings_encoding(const struct conf_route *r, enum policy policy)
{
	const unsigned numbers[] = { (unsigned)policy, (unsigned)r->charset, r->repair, (unsigned)r->output, (unsigned)r->on_error };

	return fold_numbers(0, numbers, sizeof numbers / sizeof *numbers) ^ r->normalise;
}

/* Counts up whenever stored heads are made otherwise: older ones are not answered with any more. */
enum { SETTINGS_FORM = 1 };

/* By which proxy or connection a response comes is no part of what it is; nor is the policy of a route's, for a client may choose. */
static uint64_t identity(const struct conf_route *r)
{
	const unsigned numbers[] = { SETTINGS_FORM, r->respect_no_transform, r->follow_redirects, r->upgrade_https, r->tls_verify };
	const char *const texts[] = { r->pattern, r->request_fields, r->user_agent, r->accept, r->tls_ca_file, r->tls_cert };
	uint64_t h = fold_numbers(settings_encoding(r, POLICY_AUTO), numbers, sizeof numbers / sizeof *numbers);

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		h = hash_fold(h, hash_xx64(texts[i], strlen(texts[i])));
	return h;
}

struct settings *settings_new(struct conf *conf, unsigned generation)
{
	struct settings *s = calloc(1, sizeof *s);
	uint64_t *identities = calloc(conf->routes.count + 1, sizeof *identities);

	if (!s || !identities)
		log_error("out of memory");
	if (!s || !identities || !(s->tls = tls_set_new(conf))) {
		free(s);
		free(identities);
		return NULL;
	}
	atomic_init(&s->refs, 1);
	s->generation = generation;
	s->conf = conf;
	s->max_clients = settings_max_clients(conf);
	s->guard = (struct guard){ &conf->allow, &conf->deny, NULL };
	s->tunnel_guard = (struct guard){ &conf->allow, &conf->deny, &conf->connect_allow };
	s->direct_identity = identity(&conf->direct);
	for (size_t i = 0; i < conf->routes.count; i++)
		identities[i] = identity(&conf->routes.items[i]);
	s->identities = identities;
	return s;
}

uint64_t settings_identity(const struct settings *s, const struct conf_route *r)
{
	return r == &s->conf->direct ? s->direct_identity : s->identities[r - s->conf->routes.items];
}

struct settings *settings_ref(struct settings *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void settings_unref(struct settings **sp)
{
	struct settings *s = *sp;

	*sp = NULL;
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
		return;
	tls_set_free(&s->tls);
	conf_free(&s->conf);
	free(s->identities);
	free(s);
}
