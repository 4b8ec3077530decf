/* Looking whether an origin is there and is who it should be; see probe.h. */
#include "proxy/origin/probe.h"

#include <stdlib.h>

#include "proxy/net/conn.h"
#include "proxy/origin/fetch.h"
#include "proxy/origin/pool.h"

struct probe {
	struct lease *lease;
	probe_done_f *done;
	void *arg;
};

static void probe_on_event(void *arg, enum conn_event event)
{
	(void)arg, (void)event;
}

static void probe_on_ready(void *arg, struct conn *conn, bool reused, const struct failure *failure)
{
	struct probe *probe = arg;
	struct failure why;
	probe_done_f *done = probe->done;
	void *to = probe->arg;

	(void)reused;
	if (failure)
		why = *failure;
	if (conn)
		conn_set_owner(conn, probe_on_event, probe);
	lease_end(&probe->lease, &conn, true);
	free(probe);
	done(to, failure ? &why : NULL);
}

struct probe *probe_start(struct fetch_pool *fetches, const struct dial_target *target, size_t max_connections,
    probe_done_f *done, void *arg)
{
	const struct lease_terms terms = { .max = max_connections, .wait_ms = FETCH_QUEUE_MS };
	struct probe *probe = calloc(1, sizeof *probe);

	if (!probe)
		return NULL;
	probe->done = done;
	probe->arg = arg;
	if (!(probe->lease = pool_lease(fetch_pool_connections(fetches), target, &terms, probe_on_ready, probe))) {
		free(probe);
		return NULL;
	}
	return probe;
}

void probe_cancel(struct probe **pp)
{
	struct probe *probe = *pp;
	struct conn *none = NULL;

	*pp = NULL;
	if (!probe)
		return;
	lease_end(&probe->lease, &none, false);
	free(probe);
}
