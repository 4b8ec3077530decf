/* Owns what tells AddressSanitizer that memory is nobody's now, so that a use of it is found; without that, nothing.
 * Must not know: whose memory it is. */
#ifndef UTFEED_PROXY_BASE_POISON_H
#define UTFEED_PROXY_BASE_POISON_H

#if defined(__SANITIZE_ADDRESS__)
#define HEAP_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEAP_CHECKED 1
#endif
#endif
#ifdef HEAP_CHECKED
#include <sanitizer/allocator_interface.h>
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#endif

#endif
