/* Owns the list of system calls that utfeed makes once it serves, and the kernel's filter made of it (seccomp). Must
 * not know: files and configuration. Sources: seccomp(2), the manuals of libseccomp.
 * Invariants: no call that is not listed is carried out, in any thread; it ends the process (forbidden.h), but for
 * those that are answered as by a kernel that has no such call. */
#ifndef UTFEED_PROXY_SANDBOX_CALL_FILTER_H
#define UTFEED_PROXY_SANDBOX_CALL_FILTER_H

/* Why there can be no filter: a sentence for the log. NULL: there can. */
const char *call_filter_missing(void);

/* Puts the filter in force for all threads of the process and those that they start; no thread may make any other call
 * from then on. -1: errno says why, and none is in force. */
int call_filter_load(void) __attribute__((warn_unused_result));

/* The name of a call by its number on an architecture (AUDIT_ARCH_), for signal handlers. NULL: not known, or no filter
 * was made. */
const char *call_filter_name(unsigned architecture, int number);

#endif
