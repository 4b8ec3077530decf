/* Blocks handed on; see spares.h. */
#include "core/memory/spares.h"

#include <stdlib.h>
#include <string.h>

/* For AddressSanitizer what is kept counts as freed. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SPARES_POISON
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SPARES_POISON
#endif
#ifdef SPARES_POISON
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

void *spares_take(struct spares *s, size_t size)
{
	for (size_t i = 0; s && i < SPARES_MAX; i++)
		if (s->of[i].size == size) {
			s->of[i].size = 0;
			ASAN_UNPOISON_MEMORY_REGION(s->of[i].at, size);
			return memset(s->of[i].at, 0, size);
		}
	return calloc(1, size);
}

void spares_give(struct spares *s, void *block, size_t size)
{
	for (size_t i = 0; s && block && size <= SPARES_BYTES_MAX && i < SPARES_MAX; i++)
		if (s->of[i].size == 0) {
			s->of[i].at = block;
			s->of[i].size = size;
			ASAN_POISON_MEMORY_REGION(block, size);
			return;
		}
	free(block);
}

void spares_free(struct spares *s)
{
	for (size_t i = 0; i < SPARES_MAX; i++)
		if (s->of[i].size != 0) {
			ASAN_UNPOISON_MEMORY_REGION(s->of[i].at, s->of[i].size);
			free(s->of[i].at);
		}
	memset(s, 0, sizeof(*s));
}
