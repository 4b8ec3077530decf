/* The access log's queue and its thread; see access_sink.h. */
#include "proxy/net/access_sink.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/net/access_file.h"

struct access_sink {
	struct access_file *file;      /* the thread's alone, once it runs */
	pthread_t thread;
	bool running;                  /* it was started */
	pthread_mutex_t lock;          /* guards the members up to lost; never held while anything is written */
	pthread_cond_t news;
	char *queue, *spare;           /* ACCESS_SINK_BYTES each; the thread writes the spare one */
	size_t len;                    /* in queue */
	bool reopen, ending;
	_Atomic uint64_t lost;         /* lines that the file did not take and no access_sink_put() has returned */
};

/* How many bytes of the lines fit, by whole lines. */
static size_t access_sink_room(const struct access_sink *sink, const char *lines, size_t len)
{
	size_t room = ACCESS_SINK_BYTES - sink->len;

	if (len <= room)
		return len;
	while (room && lines[room - 1] != '\n')
		room--;
	return room;
}

uint64_t access_sink_put(struct access_sink *sink, const char *lines, size_t len)
{
	pthread_mutex_lock(&sink->lock);
	bool first = !sink->len;
	size_t taken = access_sink_room(sink, lines, len);
	memcpy(sink->queue + sink->len, lines, taken);
	sink->len += taken;
	pthread_mutex_unlock(&sink->lock);
	if (first && taken)
		pthread_cond_signal(&sink->news);
	return log_count_lines(lines + taken, len - taken) + atomic_exchange(&sink->lost, 0);
}

void access_sink_reopen(struct access_sink *sink)
{
	pthread_mutex_lock(&sink->lock);
	sink->reopen = true;
	pthread_mutex_unlock(&sink->lock);
	pthread_cond_signal(&sink->news);
}

/* What the thread takes out of the sink at a time. */
struct access_batch {
	size_t len;                    /* of the lines in spare */
	bool reopen, last;
};

static struct access_batch access_sink_take(struct access_sink *sink)
{
	pthread_mutex_lock(&sink->lock);
	while (!sink->len && !sink->reopen && !sink->ending)
		pthread_cond_wait(&sink->news, &sink->lock);
	char *full = sink->queue;
	sink->queue = sink->spare;
	sink->spare = full;
	struct access_batch b = (struct access_batch){ sink->len, sink->reopen, sink->ending };
	sink->len = 0;
	sink->reopen = false;
	pthread_mutex_unlock(&sink->lock);
	return b;
}

static void *access_sink_run(void *arg)
{
	struct access_sink *sink = arg;
	struct access_batch b;

	do {
		b = access_sink_take(sink);
		if (b.len)
			atomic_fetch_add(&sink->lost, access_file_write(sink->file, sink->spare, b.len));
		if (b.reopen)
			(void)!access_file_open(sink->file);
	} while (!b.last);
	return NULL;
}

/* Frees a sink whose thread does not run. */
static void access_sink_drop(struct access_sink *sink)
{
	access_file_free(&sink->file);
	pthread_mutex_destroy(&sink->lock);
	pthread_cond_destroy(&sink->news);
	free(sink->queue);
	free(sink->spare);
	free(sink);
}

int access_sink_new(struct access_sink **sink, const struct conf *conf)
{
	struct access_sink *made;

	*sink = NULL;
	if (!*conf->access_log_file)
		return 0;
	if (!(made = calloc(1, sizeof *made)))
		return -1;
	pthread_mutex_init(&made->lock, NULL);
	pthread_cond_init(&made->news, NULL);
	made->queue = malloc(ACCESS_SINK_BYTES);
	made->spare = malloc(ACCESS_SINK_BYTES);
	if (!made->queue || !made->spare ||
	    !(made->file = access_file_new(conf->access_log_file)) || access_file_open(made->file)) {
		access_sink_drop(made);
		return -1;
	}
	*sink = made;
	return 0;
}

int access_sink_start(struct access_sink *sink)
{
	int err = pthread_create(&sink->thread, NULL, access_sink_run, sink);

	sink->running = !err;
	if (err)
		log_error("access log: %s", strerror(err));
	return err ? -1 : 0;
}

void access_sink_free(struct access_sink **sp)
{
	struct access_sink *sink = *sp;

	*sp = NULL;
	if (!sink)
		return;
	pthread_mutex_lock(&sink->lock);
	sink->ending = true;
	pthread_mutex_unlock(&sink->lock);
	pthread_cond_signal(&sink->news);
	if (sink->running)
		pthread_join(sink->thread, NULL);
	access_sink_drop(sink);
}
