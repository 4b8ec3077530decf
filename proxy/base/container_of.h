/* From a member to the struct it is embedded in: how callbacks of timers, tasks and readers find their owner. */
#ifndef UTFEED_PROXY_BASE_CONTAINER_OF_H
#define UTFEED_PROXY_BASE_CONTAINER_OF_H

#include <stddef.h>

#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

#endif
