/* Owns what /metrics tells of the process itself, under the names that Prometheus' client libraries have for it:
 * memory, processor time, descriptors, start.
 * Must not know: utfeed's own numbers. Source: /proc/self (proc(5)); what cannot be read is left out. */
#ifndef UTFEED_PROXY_ADMIN_PROCESS_METRICS_H
#define UTFEED_PROXY_ADMIN_PROCESS_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* bare: a counter's help and type name it without _total (OpenMetrics). */
void process_metrics_write(FILE *, bool bare);
/* Bytes of memory that the process has in use (VmRSS); 0: not known. */
uint64_t process_resident_bytes(void);

#endif
