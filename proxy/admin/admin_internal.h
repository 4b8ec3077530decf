/* Owns what the files of the admin listener share: admin.c (its life, calls to workers), admin_conn.c (connections),
 * admin_answers.c (the table of pages), admin_access.c (which clients may ask). Must not know: what admin.h must not.
 * Invariant: everything but the members marked as shared is touched by the admin thread alone. */
#ifndef UTFEED_PROXY_ADMIN_ADMIN_INTERNAL_H
#define UTFEED_PROXY_ADMIN_ADMIN_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "proxy/admin/admin.h"
#include "proxy/admin/history.h"
#include "proxy/admin/places.h"
#include "proxy/base/json.h"
#include "proxy/base/slice.h"
#include "proxy/cache/sweeper.h"
#include "proxy/http/http_msg.h"
#include "proxy/net/loop.h"

struct admin_conn;
struct check_job;
struct check_report;
struct conf;
struct members_purge;
struct purge;
struct purge_wait;
struct reload_report;
struct reload_wait;

enum { ADMIN_INSTANCE_MAX = 65 };

/* A call to one worker: the worker's loop runs the task, which notes that it did. */
struct admin_call {
	struct task task;
	struct admin *admin;
	struct stats *stats; /* the worker's */
	uint64_t sent_us;    /* written by the admin thread while no call is out */
	atomic_bool out;     /* shared: the worker has not answered yet */
};

struct admin {
	struct admin_parts parts;
	struct loop *loop;
	pthread_t thread;
	bool started;
	struct settings *settings;       /* those in force; one reference. */
	_Atomic(struct settings *) next; /* Shared: ordered, but not in force yet; one reference; NULL: none. */
	struct reload_report *report;    /* The last reload's; one reference. */
	/* Shared: handed over, but not taken yet, of a reload and of a trial; one reference each; NULL: none */
	_Atomic(struct reload_report *) told[2];
	LIST_HEAD(, reload_wait) waits;
	struct task renew, reported, stop, given_up;
	atomic_bool leaving; /* shared */
	struct listener **listeners;
	size_t n_listeners;
	struct sweeper sweeper;
	LIST_HEAD(, admin_conn) conns;
	struct places places; /* of conns */
	TAILQ_HEAD(, check_job) jobs;
	struct timer turn;
	int64_t started_at; /* seconds since the epoch */
	uint64_t sample_due_ms;
	struct history history;
	struct admin_call *calls; /* one of each worker */
	struct stats **sets;      /* those of the workers, then the admin thread's own */
	size_t charsets_missing;  /* how many promised charsets the converters lack */
	char instance[ADMIN_INSTANCE_MAX]; /* what this machine or container is called */
};

struct admin_exchange;
/* What came of a purge. */
struct purge_told {
	int status;
	const char *why; /* it was not carried out; NULL: it was */
	int64_t n;       /* responses that memory held; -1: not known */
	bool soft;
	bool counting;   /* more may follow, or are not known */
	bool owed;       /* the store behind memory has not done it yet */
	/* where it is owed: as in struct purge_wait */
	size_t others, unaware;
};
/* Writes the answer. */
typedef void purge_told_f(struct admin_exchange *, const struct purge_told *);

/* One request and its answer. */
struct admin_exchange {
	struct admin *admin;
	const struct http_msg *msg;
	struct slice path, query; /* query at NULL: the URL has none */
	struct slice body;
	/* the answer: whoever answers writes its body to out and may set the others */
	int status;
	const char *type;   /* Content-Type */
	const char *fields; /* more field lines, with CRLF each; "" for none */
	FILE *out;
	/* an answer that takes longer: whoever set it calls admin_conn_answer_later() once */
	struct purge_wait *waits;
	purge_told_f *purge_told; /* of waits */
	struct check_job *job;
	struct reload_wait *reload;
};

/* admin_answers.c */
bool admin_reads(const struct admin_exchange *); /* GET or HEAD */
/* Whether the store behind memory cannot be reached. utfeed serves on without it. */
bool admin_store_is_away(struct admin *);
enum { ADMIN_FORM_MAX = 64 * 1024, ADMIN_FEED_MAX = 4 << 20 };
/* Who gets a page. PROBES: all that admin-allow names, by any name in Host and without the token. OPERATORS: those with
 * the token; without admin-token those on this machine. NUMBERS: OPERATORS, and without admin-token other machines. */
enum admin_reach { PROBES, NUMBERS, OPERATORS };
enum admin_methods { TELLS, DOES, TELLS_AND_DOES };

struct admin_page {
	const char *path;
	enum admin_methods methods; /* GET and HEAD tell, POST does */
	enum admin_reach reach;
	bool takes_feeds;           /* a request's body may be a feed */
	const char *what;
	void (*answer)(struct admin_exchange *);
};
/* The page that is asked for; NULL: there is none. known: there is one of that path, for another method. */
const struct admin_page *admin_find(const struct http_msg *, struct slice path, bool *known);
/* Answers with a status and a sentence alone. */
void admin_answer_plainly(struct admin_exchange *, int status, const char *sentence);

/* status_api.c */
void admin_api_status(struct admin_exchange *);
void admin_api_top(struct admin_exchange *);

/* fleet_api.c, fleet_page.c */
void admin_api_fleet(struct admin_exchange *);
const char *admin_fleet_what(const struct members_purge *);
/* The part of the first page about the fleet, if utfeed is in one. */
void admin_fleet_write(struct admin_exchange *);

/* admin_purge.c */
void admin_api_purge(struct admin_exchange *);
void admin_api_resume(struct admin_exchange *);
/* What is wrong with a member of a form that holds a URL, and what to write. why: of the URL. */
struct admin_fault {
	char text[160];
};
struct admin_fault admin_url_fault(const char *name, const char *why);
/* Purges what the URL names, and writes the answer once, now or later. Until then the exchange waits. */
void admin_purge_url(struct admin_exchange *, const struct purge *, const char *url, purge_told_f *);
/* Ends pauses. The name says which: `url` the pause of the URL and of its host, `host` all of that host
 * (scheme://name:port), `all` all. NULL: done; else what is wrong. */
const char *admin_resume_url(struct admin_exchange *, const char *name, const char *value, size_t *ended);
/* The same as url=URL, host=URL or all=1 of the request say. False: it was not done, and fault says why. */
bool admin_resume(struct admin_exchange *, size_t *ended, struct admin_fault *fault);

/* admin_api.c */
void admin_api_feeds(struct admin_exchange *);
void admin_api_config(struct admin_exchange *);
void admin_api_drain(struct admin_exchange *);
void admin_api_log_level(struct admin_exchange *);

/* admin_reload.c */
void admin_api_reload(struct admin_exchange *);
/* The exchange is gone before the reload is over. */
void admin_reload_forget(struct reload_wait *);
void admin_on_report(struct task *);
void admin_reload_end(struct admin *);

/* admin_api.c */
/* Begins an answer of one object, which api_json_end() ends. */
struct json api_json_begin(struct admin_exchange *);
void api_json_end(struct json *);
/* Answers a request of the interface that cannot be carried out. */
void admin_api_error(struct admin_exchange *, int status, const char *sentence);

/* admin_answers.c. Begins a page for people, which admin_page_end() ends. here: html_begin(). copies: it has texts to
 * be copied. */
void admin_page_begin(struct admin_exchange *, const char *title, const char *here, bool copies);
void admin_page_end(struct admin_exchange *, bool copies);

/* overview_page.c, feeds_table.c, feed_page.c */
void admin_page_overview(struct admin_exchange *);
void admin_page_feeds(struct admin_exchange *);
void admin_page_feed(struct admin_exchange *);
void admin_page_order(struct admin_exchange *);

/* paused_page.c */
void admin_page_paused(struct admin_exchange *);

/* check_page.c */
void admin_page_check(struct admin_exchange *);
void admin_api_check(struct admin_exchange *);
#define CHECK_NO_MEMORY "utfeed ran out of memory."
#define CHECK_BUSY "Other URLs are being checked; try again later."
/* Says why a check did not come to a report. */
void check_page_alert(FILE *, const char *why);

/* admin_access.c */
/* What is known of the client that asks. */
struct admin_asker {
	bool secure;       /* over TLS */
	bool near;         /* from this machine: by a loopback address, or by a Unix socket */
	bool showed_token; /* with this request */
};
struct admin_refusal {
	int status;
	const char *sentence;  /* NULL: it names the Host */
};
/* Finds the page. Returns why the request is refused; NULL: it is not. */
const struct admin_refusal *admin_judge(const struct conf *, const struct http_msg *, struct admin_asker *,
    const struct admin_page **);
/* The sentence of a refusal; one that names the Host is written to room. */
enum { ADMIN_SENTENCE_MAX = 1024 };
const char *admin_refusal_sentence(const struct admin_refusal *, const struct conf *, const struct http_msg *,
    char room[ADMIN_SENTENCE_MAX]);
/* Whether a page of ours made the request, or a person typed the URL into a browser. False: a page of another site may
 * have made the request, or a program. */
bool admin_page_of_ours_asks(const struct http_msg *);
#define ADMIN_TURNED_AWAY \
	"This address may not use the admin listener. To allow it, write the address in utfeed's configuration: " \
	"admin-allow = ADDRESS"
/* Whether admin-allow names the peer. The file's mode says who may open a Unix socket. */
bool admin_is_allowed(const struct admin *, const struct sockaddr *peer);
/* Refuses an address that admin-allow does not name, without a place and before TLS begins; closes fd. */
void admin_turn_away(const struct admin *, int fd);

/* admin_conn.c */
void admin_conn_new(struct admin *, int fd, const struct sockaddr *, socklen_t);
void admin_conn_free(struct admin_conn *);
/* The request's body, which belongs to the caller from now on; slices of it stay valid. */
struct text admin_conn_take_body(struct admin_exchange *);
/* Sends the answer of an exchange that had to wait. */
void admin_conn_answer_later(struct admin_exchange *);

/* admin.c */
/* How many workers have not answered a call for ADMIN_STUCK_MS. */
enum { ADMIN_CALL_MS = 500, ADMIN_STUCK_MS = 1000 };
size_t admin_stuck(const struct admin *);
/* What is counted now. */
void admin_sample(const struct admin *, struct history_sample *);

#endif
