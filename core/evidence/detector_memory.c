/* Memory for uchardet; see detector_memory.h. This file defines the operators new and delete, which a program may
 * replace (ISO C++17 section [new.delete]), under their names in the Itanium C++ ABI. On machines where size_t is not
 * unsigned long the library's own operators stay in use. */
#include "core/evidence/detector_memory.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum {
	ARENA_BYTES = 256 * 1024,      /* uchardet 0.0.7 takes 10 KiB; pages that are not touched cost nothing */
	ARENA_ALIGN = alignof(max_align_t)
};

static _Thread_local struct {
	char *at;                      /* NULL: no memory is set aside */
	size_t used;
} arena;

bool detector_memory_take(void)
{
	arena.used = 0;
	arena.at = malloc(ARENA_BYTES);
	return arena.at;
}

void detector_memory_give(void)
{
	free(arena.at);
	arena.at = NULL;
}

/* Only libraries call the operators, which link-time optimisation does not see: without these attributes it would drop
 * them. */
#define CXX_OPERATOR __attribute__((used, visibility("default")))

static void *cxx_new(size_t size)
{
	void *at;

	if (arena.at && size <= ARENA_BYTES - arena.used) {
		at = arena.at + arena.used;
		arena.used += (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
		return at;
	}
	if (!(at = malloc(size ? size : 1)))
		abort();
	return at;
}

static void cxx_delete(void *at)
{
	if (!arena.at || (uintptr_t)at - (uintptr_t)arena.at >= ARENA_BYTES)
		free(at);
}

CXX_OPERATOR void *_Znwm(size_t);
void *_Znwm(size_t size)
{
	return cxx_new(size);
}

CXX_OPERATOR void *_Znam(size_t);
void *_Znam(size_t size)
{
	return cxx_new(size);
}

CXX_OPERATOR void _ZdlPv(void *);
void _ZdlPv(void *at)
{
	cxx_delete(at);
}

CXX_OPERATOR void _ZdaPv(void *);
void _ZdaPv(void *at)
{
	cxx_delete(at);
}

CXX_OPERATOR void _ZdlPvm(void *, size_t);
void _ZdlPvm(void *at, size_t size)
{
	(void)size;
	cxx_delete(at);
}

CXX_OPERATOR void _ZdaPvm(void *, size_t);
void _ZdaPvm(void *at, size_t size)
{
	(void)size;
	cxx_delete(at);
}
