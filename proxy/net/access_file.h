/* Owns the file that access lines are appended to. Must not know: queues, workers. Called by one thread, which may wait
 * here for up to ACCESS_FILE_WAIT_MS at a time.
 * Invariant: a line that was not written as a whole never has another one behind it on its line. */
#ifndef UTFEED_PROXY_NET_ACCESS_FILE_H
#define UTFEED_PROXY_NET_ACCESS_FILE_H

#include <stddef.h>
#include <stdint.h>

struct access_file;

/* The file is not open yet. NULL: out of memory. */
struct access_file *access_file_new(const char *path);
/* Closes the file that was open before, if it succeeds. -1: logged. */
int access_file_open(struct access_file *) __attribute__((warn_unused_result));
/* Writes whole lines. Returns how many were lost. */
uint64_t access_file_write(struct access_file *, const char *lines, size_t len);
void access_file_free(struct access_file **);

#endif
