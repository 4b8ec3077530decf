/* Owns what a running server consists of, for the files that start it, run it and end it. Must not know: requests.
 * Invariant: the main thread alone touches a struct server once the workers run. */
#ifndef UTFEED_PROXY_SERVER_SERVER_INTERNAL_H
#define UTFEED_PROXY_SERVER_SERVER_INTERNAL_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/base/slice.h"
#include "proxy/sandbox/sandbox.h"
#include "proxy/server/notify.h"
#include "proxy/server/sockets.h"
#include "proxy/server/takeover.h"
#include "proxy/server/watchdog.h"

struct access_sink;
struct admin;
struct backoff;
struct fleet;
struct cache;
struct conf;
struct feeds_seen;
struct loop;
struct members;
struct reload_report;
struct settings;
struct stats;
struct worker;

/* A worker that is done sends this signal to the main thread, which waits for signals. */
#define SIG_WORKER_DONE SIGRTMIN      /* real-time: several signals at once stay several */

/* The admin thread sends it where somebody wants to know what a reload would come to. */
#define SIG_TRY_RELOAD (SIGRTMIN + 1)

struct server {
	struct settings *first;        /* resolvers and stores point into its configuration */
	struct settings *settings;     /* those in force */
	int argc;
	char **argv;
	struct cache *cache;
	struct store *redis;           /* of cache; NULL: it has none */
	struct members *members;       /* NULL: the second store is nobody else's */
	struct backoff *backoff;
	struct fleet *fleet;           /* NULL: this process is alone */
	struct access_sink *access_sink;       /* NULL: access lines go to stdout */
	size_t n_workers, running;
	struct worker **workers;
	struct stats **stats;          /* one of each worker, then that of the admin listener */
	struct loop **loops;           /* one of each worker */
	struct feeds_seen *feeds;      /* for the admin listener; NULL: without one */
	struct admin *admin;           /* NULL: without an admin listener */
	struct sockets sockets;        /* open until the workers drain */
	struct takeover_former former;
	struct takeover *takeover;     /* NULL: the next process is given nothing */
	struct notify notify;
	struct sandbox sandbox;
	struct watchdog watchdog;
	int signals;                   /* signalfd */
	atomic_uint reloads;           /* how many reloads and trials have begun */
	struct reload_report *report;  /* the last reload's; that of the start has number 0 */
	struct reload_report *due;     /* of a reload after which not every worker serves yet; NULL: there is none */
};

uint64_t server_now_ms(void);          /* monotonic */
/* As feeds_seen_outdate(), from now on, if there is a list of feeds. */
void server_outdate_feeds(struct server *, struct slice url, bool prefix);
int64_t server_wall_ms(void);          /* since the epoch */

/* Opens all that the settings ask for and starts the threads. The former process has let go of its sockets then.
 * -1: logged. The caller then tells the running workers to stop and calls server_end(). */
int server_start(struct server *) __attribute__((warn_unused_result));
void server_say_parents(const struct conf *);
void server_reopen_logs(struct server *);

/* Reads the configuration again, as it is written now, and puts it into force, unless it cannot be used. trial: only
 * finds out what a reload would come to. The report is published once every worker serves under the settings. */
void server_reload(struct server *, bool trial);
/* Called whenever something happened. */
void server_end_reload(struct server *);

/* Waits for the workers and frees all. */
void server_end(struct server *);

#endif
