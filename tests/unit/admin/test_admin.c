/* Owns the cases of proxy/admin/admin.c that no running utfeed can show: a worker whose loop does not turn. Must not
 * know: what a worker does. Invariant: loopback only, a port of the system's choice. */
#include "conf/conf.h"
#include "proxy/admin/admin.h"
#include "proxy/cache/cache.h"
#include "proxy/net/listener.h"
#include "proxy/net/loop.h"
#include "proxy/origin/backoff.h"
#include "proxy/settings/reload_report.h"
#include "proxy/settings/settings.h"
#include "proxy/store/store_memory.h"
#include "tests/unit/unit.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct sockaddr_in address;

/* The status of one request; 0: there was no answer. */
static int asked(const char *path)
{
	char text[256] = "";
	int fd = socket(AF_INET, SOCK_STREAM, 0), n = snprintf(text, sizeof text, "GET %s HTTP/1.0\r\n\r\n", path), status = 0;

	CU_ASSERT_FATAL(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
	CU_ASSERT_EQUAL(write(fd, text, (size_t)n), n);
	n = (int)read(fd, text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "HTTP/1.1 %d", &status) != 1)
		status = 0;
	close(fd);
	return status;
}

static bool becomes(const char *path, int status)
{
	for (int i = 0; i < 500; i++) {
		if (asked(path) == status)
			return true;
		usleep(20000);
	}
	return false;
}

static void *turn(void *loop)
{
	CU_ASSERT_EQUAL(loop_run(loop), 0);
	return NULL;
}

static void on_stop(struct task *t);
static struct stopper { struct task task; struct loop *loop; } stopper = { .task = { .run = on_stop } };

static void on_stop(struct task *t)
{
	(void)t;
	loop_stop(stopper.loop);
}

static void drained(void *arg)
{
	(void)arg;
}

static void reloaded(void *arg, bool trial)
{
	(void)arg;
	(void)trial;
}

/* utfeed is alive while its worker's loop turns, is not while it stands still, and is again once it turns. */
static void stuck(void)
{
	char name[] = "serve", *argv[] = { name, NULL }, *none[] = { NULL };
	struct conf *conf = conf_new();
	struct conf_error error;
	struct loop *worker = loop_new();
	struct stats *stats = loop_stats(worker);
	struct cache *cache = cache_new(store_memory_new(1 << 20, 1 << 16), NULL);
	socklen_t len = sizeof address;
	struct reload_report *report = reload_report_new(0, false, 0);
	struct backoff *backoff = backoff_new();
	struct settings *settings;
	struct admin *admin;
	atomic_uint reloads = 0;
	pthread_t thread;
	int fd;

	address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	fd = listener_bind((struct sockaddr *)&address, sizeof address, false);
	CU_ASSERT_FATAL(report && backoff && conf && worker && cache && fd >= 0 && conf_load(conf, 1, argv, none, &error) == 0);
	CU_ASSERT_FATAL((settings = settings_new(conf, 0, NULL)) && !getsockname(fd, (struct sockaddr *)&address, &len));
	admin = admin_new(&(struct admin_parts){ settings, cache, backoff, NULL, NULL, &worker, &stats, 1, drained, reloaded, &reloads, report, NULL },
	    &fd, 1);
	CU_ASSERT_FATAL(admin && admin_start(admin) == 0);
	CU_ASSERT_EQUAL(asked("/healthz"), 200);
	CU_ASSERT(becomes("/healthz", 503));
	CU_ASSERT_EQUAL(asked("/readyz"), 503);
	CU_ASSERT_FATAL(pthread_create(&thread, NULL, turn, worker) == 0);
	CU_ASSERT(becomes("/healthz", 200));
	CU_ASSERT_EQUAL(asked("/readyz"), 200);
	admin_leave(admin);
	CU_ASSERT_EQUAL(asked("/readyz"), 503);
	CU_ASSERT_EQUAL(asked("/healthz"), 200);
	stopper.loop = worker;
	loop_wake(worker, &stopper.task);
	pthread_join(thread, NULL);
	CU_ASSERT(becomes("/healthz", 503));           /* a call is out when all of it is freed */
	admin_free(&admin);
	loop_free(&worker);
	reload_report_unref(&report);
	settings_unref(&settings);
	cache_free(&cache);
	backoff_free(&backoff);
}

UNIT_SUITE(admin, { "stuck", stuck })
