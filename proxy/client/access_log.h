/* Owns the access log's line in each of its formats. Must not know: connections. Grammar: utfeed-operating(7), ACCESS
 * LOG; of JSON: conf/access-log.schema.json.
 * Invariant: a line is one line, whatever bytes peers sent; neither user information nor a secret parameter of a URL is
 * in it. */
#ifndef UTFEED_PROXY_CLIENT_ACCESS_LOG_H
#define UTFEED_PROXY_CLIENT_ACCESS_LOG_H

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/http/http_msg.h"
#include "proxy/object/object.h"

enum { ACCESS_LOG_LINE_MAX = 5120, ACCESS_METHOD_MAX = 64, ACCESS_TARGET_MAX = 2048, ACCESS_ROUTE_MAX = 512,
	ACCESS_USER_MAX = 256 };

struct cache_status;
struct fetch_timing;

struct access_log_entry {
	const char *when, *client;         /* loop_log_time(), conn_peer() */
	struct slice method, target;       /* as the client sent them; escaped here */
	int status;                        /* 0: nothing was sent */
	uint64_t body_bytes;               /* sent to the client */
	bool tunnel;
	uint64_t received_bytes;           /* from the client; in the format text of a tunnel alone */
	const struct object_report *report;    /* NULL: no response object */
	const char *kept;                  /* why a kept feed answered; NULL: none did */
	uint64_t duration_us;
	const char *end;                   /* "done", "cut" or "dropped"; for a tunnel also "idle" */
	struct log_id id;
	const char *route;                 /* its name; NULL: none */
	const char *user;                  /* by client-auth; NULL: none is known */
	/* The host and port of the URL asked for; NULL: no URL was asked for. In the format text of routes alone, whose
	 * targets do not show it. */
	const char *origin_host;
	/* The members from here on are for json and combined alone. */
	int64_t wall_ms;                   /* when the response ended */
	const char *version;               /* "1.1", "2.0"; NULL: the request's head was not complete */
	struct slice referer, user_agent;  /* at NULL: none */
	uint64_t sent_bytes;               /* head, body and framing */

	const char *way;                   /* answer_way_names */
	const struct cache_status *cache;  /* NULL: the cache was not asked */
	const struct fetch_timing *timing; /* NULL: nothing was fetched for the request */
	int64_t first_byte_us;             /* until the answer's head went out; negative: it never did */
	const char *traceparent;           /* NULL: none */
};

/* Writes the target as a log may show it: escaped, and without a password in the URL. A URL with a password is refused,
 * but still logged. Returns the length. */
size_t access_target(char buf[ACCESS_TARGET_MAX], struct slice target);
/* Write one line with its newline. Return the length. */
size_t access_log_text(char buf[ACCESS_LOG_LINE_MAX], const struct access_log_entry *);
size_t access_log_json(char buf[ACCESS_LOG_LINE_MAX], const struct access_log_entry *);
size_t access_log_combined(char buf[ACCESS_LOG_LINE_MAX], const struct access_log_entry *);
typedef size_t access_log_f(char buf[ACCESS_LOG_LINE_MAX], const struct access_log_entry *);
extern access_log_f *const access_log_formats[];       /* by enum conf_log_format */

/* The address of a client as the entry has it, without brackets and port. *port: its digits; len 0: there are none. */
struct slice access_log_address(const char *client, struct slice *port);
/* Why the response is untouched, or the error of the policy; NULL: neither. */
const char *access_log_reason(const struct verdict *);

#endif
