/* A configuration in force; see settings.h. */
#include "settings.h"

#include <stdlib.h>

#include "conf/conf.h"
#include "descriptors.h"
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

struct settings *settings_new(struct conf *conf, unsigned generation)
{
	struct settings *s = calloc(1, sizeof *s);

	if (!s)
		log_error("out of memory");
	else if (!(s->tls = tls_set_new(conf))) {
		free(s);
		s = NULL;
	}
	if (!s)
		return NULL;
	atomic_init(&s->refs, 1);
	s->generation = generation;
	s->conf = conf;
	s->max_clients = settings_max_clients(conf);
	s->guard = (struct guard){ &conf->allow, &conf->deny, NULL };
	s->tunnel_guard = (struct guard){ &conf->allow, &conf->deny, &conf->connect_allow };
	return s;
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
	free(s);
}
