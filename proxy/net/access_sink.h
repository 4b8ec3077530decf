/* Owns the access log's way to a file: a bounded queue, and a thread of its own that empties it, so that no worker
 * waits for a disk.
 * Must not know: what a line says, who writes it.
 * Invariant: what does not fit the queue, or what the file does not take, is lost by whole lines, and each is counted
 * once. */
#ifndef UTFEED_PROXY_NET_ACCESS_SINK_H
#define UTFEED_PROXY_NET_ACCESS_SINK_H

#include <stddef.h>
#include <stdint.h>

struct access_sink;
struct conf;

/* The bytes that may wait for the thread; as many again may be on their way out. */
enum { ACCESS_SINK_BYTES = 256 * 1024 };

/* Opens the file that the option access-log-file names; *sink is NULL if it names none. -1: it cannot be opened,
 * logged. */
int access_sink_new(struct access_sink **sink, const struct conf *) __attribute__((warn_unused_result));
/* Starts the thread. -1: logged. */
int access_sink_start(struct access_sink *) __attribute__((warn_unused_result));
/* Takes whole lines, each ended by a newline, from any thread, and copies them. Returns how many lines were lost: of
 * these, and of earlier ones that the file did not take and no call has returned yet. */
uint64_t access_sink_put(struct access_sink *, const char *lines, size_t len);
/* Has the file opened anew, after what was put before was written to the old one. */
void access_sink_reopen(struct access_sink *);
/* Writes what is in the queue and ends the thread, if it was started. Nobody may put lines any more. Sets the pointer
 * to NULL, which it may be already. */
void access_sink_free(struct access_sink **);

#endif
