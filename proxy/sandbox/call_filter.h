/* Owns the list of system calls that utfeed makes once it serves, and the kernel's filter made of it (seccomp). Must
 * not know: files and configuration. Sources: seccomp(2), the manuals of libseccomp.
 * Invariants: no thread can make a call that is not listed. Such a call ends the process (forbidden.h). The calls
 * listed as absent fail as in a kernel that lacks them. */
#ifndef UTFEED_PROXY_SANDBOX_CALL_FILTER_H
#define UTFEED_PROXY_SANDBOX_CALL_FILTER_H

/* Why a filter is impossible: a sentence for the log. NULL: it is possible. */
const char *call_filter_missing(void);

/* Puts the filter in force for all threads of the process and those that they start. From then on no thread may make
 * any other call. -1: errno says why, and no filter is in force. */
int call_filter_load(void) __attribute__((warn_unused_result));

/* The name of a call by its number on an architecture (AUDIT_ARCH_), for signal handlers. NULL: not known, or no filter
 * was made. */
const char *call_filter_name(unsigned architecture, int number);

#endif
