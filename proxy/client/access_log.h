/* Owns the access log's line. Must not know: connections. Grammar: utfeed-operating(7), ACCESS LOG. */
#ifndef UTFEED_PROXY_CLIENT_ACCESS_LOG_H
#define UTFEED_PROXY_CLIENT_ACCESS_LOG_H

#include "proxy/base/log.h"
#include "proxy/http/http_msg.h"
#include "proxy/object/object.h"

enum { ACCESS_LOG_LINE_MAX = 5120, ACCESS_METHOD_MAX = 64, ACCESS_TARGET_MAX = 2048, ACCESS_ROUTE_MAX = 512 };

struct access_log_entry {
	const char *when, *client;         /* loop_log_time(), conn_peer() */
	struct slice method, target;       /* as the client sent them; escaped here */
	int status;                        /* 0: nothing was sent */
	uint64_t body_bytes;               /* sent to the client */
	bool tunnel;
	uint64_t received_bytes;           /* from the client, through a tunnel */
	const struct object_report *report;    /* NULL: no response object */
	uint64_t duration_us;
	const char *end;                   /* "done", "cut" or "dropped"; for a tunnel also "idle" */
	struct log_id id;
	const char *route;                 /* its name; NULL: none */
};

/* Writes the target as a log may show it: escaped, and without a password in the URL. A URL with a password is refused,
 * but still logged. Returns the length. */
size_t access_target(char buf[ACCESS_TARGET_MAX], struct slice target);
/* Writes one line with its newline. Returns the length. */
size_t access_log_format(char buf[ACCESS_LOG_LINE_MAX], const struct access_log_entry *);

#endif
