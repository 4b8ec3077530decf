/* Owns the memory of long bodies: runs of whole pages by mmap(2), those that last several to a huge page where the
 * system has them. Must not know: whose bodies. Invariant: what was a run is never one again: the kernel may still be
 * sending its bytes (splice.h). */
#ifndef UTFEED_PROXY_BASE_PAGE_RUN_H
#define UTFEED_PROXY_BASE_PAGE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pages_region;

size_t page_run_whole(size_t len);        /* rounded up to whole pages: what a run takes */

/* A run of zeros for len bytes, and what it is part of: NULL, a mapping of its own. lasting: it is filled at once and
 * stays for long. Sharing costs memory: an eighth of what lies in huge pages, two that are not full yet, and of which
 * bytes are being sent as they should be split, those until their next run goes or the kernel needs memory.
 * NULL: no memory, or as many runs as a process should map. Any thread. */
uint8_t *page_run_new(size_t len, bool lasting, struct pages_region **);
void page_run_free(uint8_t *, size_t len, struct pages_region *);
/* Gives back what lies behind the first `len` bytes, at least one, of a run of `have`. */
void page_run_trim(uint8_t *, size_t have, size_t len, struct pages_region *);

size_t page_run_spare(void);              /* bytes mapped for runs to come */

#endif

