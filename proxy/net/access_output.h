/* Owns where access lines end: a file, or the socket of a syslog server. Must not know: queues, workers. Called by one
 * thread, which may wait here for up to ACCESS_OUTPUT_WAIT_MS at a time.
 * Invariant: a line that was not written as a whole never has another one behind it on its line. */
#ifndef UTFEED_PROXY_NET_ACCESS_OUTPUT_H
#define UTFEED_PROXY_NET_ACCESS_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

struct access_output;
struct conf_redis;

enum { ACCESS_OUTPUT_WAIT_MS = 1000 };

struct access_output_ops {
	int (*open)(struct access_output *);    /* closes what was open before, if it succeeds; -1: errno says why */
	/* Writes whole lines. Returns how many were lost. */
	uint64_t (*write)(struct access_output *, const char *lines, size_t len);
	void (*free)(struct access_output *);
};

struct access_output {
	const struct access_output_ops *ops;
	const char *name;              /* for messages: the path or the address; owned by the output */
};

/* Both give an output that is not open yet. NULL: out of memory, or a name that cannot be looked up (logged). */
struct access_output *access_output_file(const char *path);
/* The server as the option access-log-syslog names it. */
struct access_output *access_output_syslog(const struct conf_redis *);

#endif
