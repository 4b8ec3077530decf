/* The struct in which a member is embedded: callbacks of timers, tasks and readers find their owner by it. */
#ifndef UTFEED_PROXY_BASE_CONTAINER_OF_H
#define UTFEED_PROXY_BASE_CONTAINER_OF_H

#include <stddef.h>

#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

#endif
