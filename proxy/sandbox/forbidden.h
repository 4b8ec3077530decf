/* Owns the end of a process that made a forbidden system call. A line on standard error names the call, then the signal
 * itself (SIGSYS) ends the process; the system may keep a core file. Must not know: the list.
 * Invariant: nothing is called in the handler but what signal-safety(7) lists. */
#ifndef UTFEED_PROXY_SANDBOX_FORBIDDEN_H
#define UTFEED_PROXY_SANDBOX_FORBIDDEN_H

/* Before the filter is loaded. -1: errno says why. */
int forbidden_watch(void) __attribute__((warn_unused_result));

#endif
