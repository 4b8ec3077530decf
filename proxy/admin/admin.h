/* Owns the admin listener: a thread with its own loop, its listening sockets and connections, and its calls to the
 * workers, by which it knows that their loops turn.
 * Must not know: how a worker or the server works; it reaches them through what struct admin_parts names.
 * Invariant: nothing here runs on a worker's thread but the answer to a call, so that a stuck worker can be told of. */
#ifndef UTFEED_PROXY_ADMIN_ADMIN_H
#define UTFEED_PROXY_ADMIN_ADMIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct admin;
struct backoff;
struct cache;
struct feeds_seen;
struct loop;
struct members;
struct reload_report;
struct settings;
struct stats;

/* All of it is borrowed and outlives the admin listener; the settings are those in force at the start. */
struct admin_parts {
	struct settings *settings;
	struct cache *cache;
	struct backoff *backoff;
	struct feeds_seen *feeds;
	struct members *members;    /* NULL: utfeed is alone */
	struct loop *const *loops;  /* one of each worker */
	struct stats *const *stats; /* likewise */
	size_t n_workers;
	void (*drain)(void *arg); /* begins the orderly end, as SIGTERM does; called from the admin thread */
	/* begins a reload, as SIGHUP does, or a trial of one, whose report comes by admin_report(); likewise */
	void (*reload)(void *arg, bool trial);
	const atomic_uint *reloads;   /* how many reloads and trials have begun */
	struct reload_report *report; /* of the start */
	void *arg;
};

/* fds: n listening descriptors, which are taken over in any case. NULL: out of memory or descriptors (logged). */
struct admin *admin_new(const struct admin_parts *, const int *fds, size_t n);
/* Starts the thread. 0, or an errno. */
int admin_start(struct admin *) __attribute__((warn_unused_result));
/* Answers requests from now on under these settings; takes a reference. From the thread that made it only. */
void admin_renew(struct admin *, struct settings *);
/* The report of a reload that is over, or of a trial; a reference is taken. From the thread that made it only. */
void admin_report(struct admin *, struct reload_report *);
/* From now on /readyz says that utfeed is ending. May be called from any thread. */
void admin_leave(struct admin *);
/* Another process accepts from the sockets now; connections there are go on. May be called from any thread. */
void admin_give_up(struct admin *);
/* The counts of the admin thread itself, such as those of its purges. */
struct stats *admin_stats(struct admin *);
/* Ends the thread and frees all. Called when no worker runs any more. */
void admin_free(struct admin **);

#endif
