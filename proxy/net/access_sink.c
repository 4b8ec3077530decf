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
static size_t access_sink_room(const struct access_sink *s, const char *lines, size_t len)
{
	size_t room = ACCESS_SINK_BYTES - s->len;

	if (len <= room)
		return len;
	while (room && lines[room - 1] != '\n')
		room--;
	return room;
}

uint64_t access_sink_put(struct access_sink *s, const char *lines, size_t len)
{
	bool first;
	size_t taken;

	pthread_mutex_lock(&s->lock);
	first = !s->len;
	taken = access_sink_room(s, lines, len);
	memcpy(s->queue + s->len, lines, taken);
	s->len += taken;
	pthread_mutex_unlock(&s->lock);
	if (first && taken)
		pthread_cond_signal(&s->news);
	return log_count_lines(lines + taken, len - taken) + atomic_exchange(&s->lost, 0);
}

void access_sink_reopen(struct access_sink *s)
{
	pthread_mutex_lock(&s->lock);
	s->reopen = true;
	pthread_mutex_unlock(&s->lock);
	pthread_cond_signal(&s->news);
}

/* What the thread takes out of the sink at a time. */
struct access_batch {
	size_t len;                    /* of the lines in spare */
	bool reopen, last;
};

static struct access_batch access_sink_take(struct access_sink *s)
{
	struct access_batch b;
	char *full;

	pthread_mutex_lock(&s->lock);
	while (!s->len && !s->reopen && !s->ending)
		pthread_cond_wait(&s->news, &s->lock);
	full = s->queue;
	s->queue = s->spare;
	s->spare = full;
	b = (struct access_batch){ s->len, s->reopen, s->ending };
	s->len = 0;
	s->reopen = false;
	pthread_mutex_unlock(&s->lock);
	return b;
}

static void *access_sink_run(void *arg)
{
	struct access_sink *s = arg;
	struct access_batch b;

	do {
		b = access_sink_take(s);
		if (b.len)
			atomic_fetch_add(&s->lost, access_file_write(s->file, s->spare, b.len));
		if (b.reopen)
			(void)!access_file_open(s->file);
	} while (!b.last);
	return NULL;
}

/* Frees a sink whose thread does not run. */
static void access_sink_drop(struct access_sink *s)
{
	access_file_free(&s->file);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->news);
	free(s->queue);
	free(s->spare);
	free(s);
}

int access_sink_new(struct access_sink **sink, const struct conf *conf)
{
	struct access_sink *s;

	*sink = NULL;
	if (!*conf->access_log_file)
		return 0;
	if (!(s = calloc(1, sizeof *s)))
		return -1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->news, NULL);
	s->queue = malloc(ACCESS_SINK_BYTES);
	s->spare = malloc(ACCESS_SINK_BYTES);
	if (!s->queue || !s->spare || !(s->file = access_file_new(conf->access_log_file)) ||
	    access_file_open(s->file)) {
		access_sink_drop(s);
		return -1;
	}
	*sink = s;
	return 0;
}

int access_sink_start(struct access_sink *s)
{
	int err = pthread_create(&s->thread, NULL, access_sink_run, s);

	s->running = !err;
	if (err)
		log_error("access log: %s", strerror(err));
	return err ? -1 : 0;
}

void access_sink_free(struct access_sink **sp)
{
	struct access_sink *s = *sp;

	*sp = NULL;
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_mutex_unlock(&s->lock);
	pthread_cond_signal(&s->news);
	if (s->running)
		pthread_join(s->thread, NULL);
	access_sink_drop(s);
}
