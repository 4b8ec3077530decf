/* Owns what utfeed gives up before it serves: files and folders that it does not need (landlock.h), and system calls
 * (call_filter.h). Must not know: how a server starts.
 * Invariants: all threads give up rights for good. utfeed does not start if the configuration demands a kind of sandbox
 * that this system lacks. */
#ifndef UTFEED_PROXY_SANDBOX_SANDBOX_H
#define UTFEED_PROXY_SANDBOX_SANDBOX_H

#include <stdbool.h>

struct conf;

struct sandbox {
	bool files;                    /* Landlock is in force */
};

/* What this server needs beside its configuration. */
struct sandbox_needs {
	bool proc;                     /* the numbers that the kernel has of this process */
	bool abstract;                 /* a Unix socket without a file that another process has */
};

/* Whether what the configuration names can be had. -1: logged. */
int sandbox_check(const struct conf *) __attribute__((warn_unused_result));
/* Gives up files; no other thread may run yet, and the folders that the configuration names are there. -1: logged. */
int sandbox_files(struct sandbox *, const struct conf *, const struct sandbox_needs *)
    __attribute__((warn_unused_result));
/* Gives up system calls, for all threads. -1: logged. */
int sandbox_calls(const struct conf *) __attribute__((warn_unused_result));

/* Logs which files of a new configuration only the sandbox keeps from being read. */
void sandbox_tell(const struct sandbox *, const struct conf *);

#endif
