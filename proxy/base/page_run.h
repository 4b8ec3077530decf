/* Owns the memory of long bodies: runs of whole pages from mmap(2). Runs that last share huge pages where the system
 * has them. Must not know: whose bodies they are. Invariant: the pages of a run are never used for another run, since
 * the kernel may still be sending their bytes (splice.h). */
#ifndef UTFEED_PROXY_BASE_PAGE_RUN_H
#define UTFEED_PROXY_BASE_PAGE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pages_region;

size_t page_run_whole(size_t len);        /* the bytes a run for len takes: len rounded up to whole pages */

/* A run of zeros for len bytes, and the region it is part of (NULL: it is a mapping of its own). lasting: the run is
 * filled at once and stays for long, so it may share a huge page. Sharing costs memory: up to an eighth of all huge
 * pages, two huge pages that are not full yet, and huge pages that could not be split because their bytes were just
 * being sent, until their next run is freed or the kernel needs memory.
 * NULL: there is no memory, or there are as many runs as a process should map. May be called on any thread. */
uint8_t *page_run_new(size_t len, bool lasting, struct pages_region **);
void page_run_free(uint8_t *, size_t len, struct pages_region *);
/* Shortens a run of `have` bytes to its first `len`, at least one, and gives the rest back. */
void page_run_trim(uint8_t *, size_t have, size_t len, struct pages_region *);

size_t page_run_spare(void);              /* bytes mapped for later runs */

#endif

