/* In a build of AddressSanitizer: the globals' pages are mapped at once as utfeed ends, in front of LeakSanitizer, which reads every one of them:
 * so too the runtime's own tables, 10 MiB that were mostly never touched, where each page is a fault. These are 2000 of the 3600 faults of a start
 * and an end, a fifth of its time, and the end-to-end tests have thousands. What is read and what is found stay as they are. */
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22           /* Linux 5.14; an older one refuses, and each page is a fault as ever */
#endif

static int map_globals(struct dl_phdr_info *object, size_t size, void *page)
{
	uintptr_t mask = *(uintptr_t *)page - 1;

	(void)size;
	for (unsigned i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];
		uintptr_t from = object->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD && header->p_flags & PF_W)
			(void)madvise((void *)(from & ~mask), ((from + header->p_memsz + mask) & ~mask) - (from & ~mask), MADV_POPULATE_READ);
	}
	return 0;
}

/* After main() and what it left to atexit(); LeakSanitizer's call goes last */
__attribute__((destructor)) static void map_all_globals(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	dl_iterate_phdr(map_globals, &page);
}
