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
	struct probe *p = arg;
	struct failure why;
	probe_done_f *done = p->done;
	void *to = p->arg;

	(void)reused;
	if (failure)
		why = *failure;
	if (conn)
		conn_set_owner(conn, probe_on_event, p);
	lease_end(&p->lease, &conn, true);
	free(p);
	done(to, failure ? &why : NULL);
}

struct probe *probe_start(struct fetch_pool *fetches, const struct dial_target *target, size_t max_connections,
    uint64_t wait_ms, probe_done_f *done, void *arg)
{
	const struct lease_terms terms = { max_connections, wait_ms, false };
	struct probe *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->done = done;
	p->arg = arg;
	if (!(p->lease = pool_lease(fetch_pool_connections(fetches), target, &terms, probe_on_ready, p))) {
		free(p);
		return NULL;
	}
	return p;
}

void probe_cancel(struct probe **pp)
{
	struct probe *p = *pp;
	struct conn *none = NULL;

	*pp = NULL;
	if (!p)
		return;
	lease_end(&p->lease, &none, false);
	free(p);
}
